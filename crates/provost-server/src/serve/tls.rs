//! TLS: the certificate that the server shows, where no server in front does.
//!
//! Owns reading certificate and key, also anew when their files change. Names no other files: which
//! they are counts from the start. INVARIANT: what cannot be shown to a client is found before it
//! is shown: at the start nobody is listened to, and later the certificate of before is shown on.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use provost_engine::clock::now_ms;
use provost_engine::reload::{FilesNews, LiveWorkspace, SettledFiles};
use provost_engine::workspace::TlsSettings;
use ring::digest::{Context, SHA256};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, crypto};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use super::ServeError;

/// HTTP/2, as a handshake names it.
pub(super) const HTTP2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";

/// What stands in both files. Why their digest: the key is a secret, and is kept where it is used.
type FilesDigest = Vec<u8>;

/// A certificate with its key, as its files have it.
pub(crate) struct Certificate {
    cert: PathBuf,
    key: PathBuf,
    shown: RwLock<Shown>,
}

/// What is shown, and what was found later and is not.
struct Shown {
    acceptor: TlsAcceptor,
    digest: FilesDigest,
    state: CertificateState,
    refused: Option<FilesDigest>,
}

/// How the certificate stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct CertificateState {
    /// When the one that is shown was read, in milliseconds since 1970.
    pub(crate) read_ms: i64,
    /// When files were found that cannot be shown, and why not.
    pub(crate) refused: Option<(i64, String)>,
}

/// Both files as they are, or why they cannot be shown.
struct FilesRead {
    digest: FilesDigest,
    acceptor: Result<TlsAcceptor, ServeError>,
}

impl PartialEq for FilesRead {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl Certificate {
    /// The one of these settings.
    ///
    /// # Errors
    /// [`ServeError::Tls`] if it cannot be shown.
    pub(super) fn open(root: &Path, settings: &TlsSettings) -> Result<Self, ServeError> {
        let (cert, key) = (root.join(&settings.cert), root.join(&settings.key));
        let FilesRead { digest, acceptor } = read(&cert, &key);
        let shown = Shown::of(acceptor?, digest);
        Ok(Self {
            cert,
            key,
            shown: RwLock::new(shown),
        })
    }

    /// What takes the next connection.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        let shown = self.shown.read().unwrap_or_else(PoisonError::into_inner);
        shown.acceptor.clone()
    }

    /// How it stands.
    pub(crate) fn state(&self) -> CertificateState {
        let shown = self.shown.read().unwrap_or_else(PoisonError::into_inner);
        shown.state.clone()
    }

    /// Looks at the files until the process is told to end, and reads them anew once they changed:
    /// connections that are there go on under the certificate that they were shown.
    pub(super) async fn watch(
        self: Arc<Self>,
        live: Arc<LiveWorkspace>,
        mut halt: watch::Receiver<bool>,
    ) {
        let mut changes = SettledFiles::default();
        let certificate = Arc::clone(&self);
        let look = move || certificate.unknown_files();
        while let Some(now) = changes.next(&mut halt, &look).await {
            live.tell(self.replace(now));
        }
    }

    /// The files as they are now, if nothing was done about them: they are not what is shown, and
    /// were not refused.
    fn unknown_files(&self) -> Option<FilesRead> {
        let now = read(&self.cert, &self.key);
        let mut shown = self.shown.write().unwrap_or_else(PoisonError::into_inner);
        if shown.digest == now.digest {
            (shown.refused, shown.state.refused) = (None, None);
            return None;
        }
        (shown.refused.as_ref() != Some(&now.digest)).then_some(now)
    }

    /// Shows what stands in the files from now on, if it can be shown; in words.
    fn replace(&self, now: FilesRead) -> FilesNews {
        let mut shown = self.shown.write().unwrap_or_else(PoisonError::into_inner);
        match now.acceptor {
            Ok(acceptor) => {
                *shown = Shown::of(acceptor, now.digest);
                FilesNews::in_force("the changed certificate is in force".to_owned())
            }
            Err(why) => {
                shown.refused = Some(now.digest);
                shown.state.refused = Some((now_ms(), why.to_string()));
                FilesNews::refused(format!(
                    "the changed certificate is refused, the one of before stays in force: {why}"
                ))
            }
        }
    }
}

impl Shown {
    fn of(acceptor: TlsAcceptor, digest: FilesDigest) -> Self {
        let state = CertificateState {
            read_ms: now_ms(),
            refused: None,
        };
        Self {
            acceptor,
            digest,
            state,
            refused: None,
        }
    }
}

fn read(cert: &Path, key: &Path) -> FilesRead {
    let texts = (std::fs::read(cert), std::fs::read(key));
    let mut digest = Context::new(&SHA256);
    for text in [&texts.0, &texts.1] {
        match text {
            Ok(text) => {
                digest.update(&text.len().to_le_bytes());
                digest.update(text);
            }
            Err(error) => digest.update(error.to_string().as_bytes()),
        }
    }
    let unread = |path: &Path, error: std::io::Error| about(path, &error);
    let acceptor = match texts {
        (Ok(chain), Ok(secret)) => acceptor((cert, &chain), (key, &secret)),
        (Err(error), _) => Err(unread(cert, error)),
        (_, Err(error)) => Err(unread(key, error)),
    };
    FilesRead {
        digest: digest.finish().as_ref().to_vec(),
        acceptor,
    }
}

fn about(path: &Path, why: &dyn std::fmt::Display) -> ServeError {
    ServeError::Tls(format!("{}: {why}", path.display()))
}

/// What takes connections with this certificate.
fn acceptor(
    (cert, chain): (&Path, &[u8]),
    (key, secret): (&Path, &[u8]),
) -> Result<TlsAcceptor, ServeError> {
    let chain = CertificateDer::pem_slice_iter(chain).collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(|error| about(cert, &error))?;
    if chain.is_empty() {
        return Err(about(cert, &"there is no certificate in it"));
    }
    let secret = PrivateKeyDer::from_pem_slice(secret).map_err(|error| about(key, &error))?;
    let builder = ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()));
    let config = builder
        .with_safe_default_protocol_versions()
        .map(|builder| builder.with_no_client_auth())
        .and_then(|builder| builder.with_single_cert(chain, secret));
    let mut config = config.map_err(|error| about(key, &error))?;
    config.alpn_protocols = vec![HTTP2.to_vec(), HTTP1.to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
