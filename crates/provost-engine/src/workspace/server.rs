//! `[server]`: where the workspace is served, under which name, and how people sign in.
//!
//! Owns reading the table. Listens at nothing and asks no provider. INVARIANT: a login provider is
//! reached by https, or is on this machine itself.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use provost_plan::diagnostic::Diagnostic;
use provost_plan::node::{Fields, Node};
use provost_plan::source::Spanned;
use provost_wire::SecretName;
use provost_wire::http::{BaseUrl, Proxy};

use super::config::bad;
use super::notify::{is_in_clear, split};
use crate::audit::{AuditError, sealed_key};
use crate::keys::PrivateKey;
use crate::limits::{SESSION_MAX, SESSION_MIN};

/// What `[server]` says; what it leaves out is for the server to choose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerSettings {
    /// Where is listened.
    pub listen: Option<SocketAddr>,
    /// The one address that people use.
    pub url: Option<String>,
    /// The proxies whose word on the address of a client is taken.
    pub proxies: Vec<IpAddr>,
    /// How long a session lasts.
    pub session_lasts: Option<Duration>,
    /// How long a session lasts without a request.
    pub session_idle: Option<Duration>,
    /// The provider with whom people sign in.
    pub login: Option<OidcSettings>,
    /// The certificate that it speaks TLS with, where no server in front does.
    pub tls: Option<TlsSettings>,
    /// The key with which the server vouches for logins.
    pub voucher: Option<VoucherSettings>,
}

impl ServerSettings {
    /// Files that no tool may reach.
    #[must_use]
    pub fn private_files(&self) -> Vec<PathBuf> {
        let of_tls = self.tls.iter().map(|tls| tls.key.clone());
        let of_voucher = self.voucher.iter().flat_map(VoucherSettings::files);
        of_tls.chain(of_voucher).collect()
    }
}

/// A certificate with its key, in PEM. Paths are as written, below the workspace unless they are
/// absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsSettings {
    /// The file of the certificate, with those that lead to its authority.
    pub cert: PathBuf,
    /// The file of the key.
    pub key: PathBuf,
}

/// The key of a server. Its path is as written, below the workspace unless it is absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VoucherSettings {
    /// The file of the key.
    pub key: PathBuf,
    /// Its passphrase.
    pub passphrase: SecretName,
}

impl VoucherSettings {
    /// Files that no tool may reach.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        let secret = self.passphrase.file().map(Path::to_owned);
        [self.key.clone()].into_iter().chain(secret).collect()
    }

    /// The key, opened.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn open(&self, root: &Path) -> Result<PrivateKey, AuditError> {
        sealed_key(root, &self.key, &self.passphrase)
    }
}

/// An OpenID provider, and who the workspace is to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OidcSettings {
    /// The issuer, as its tokens name it.
    pub issuer: String,
    /// The client that the workspace is registered as.
    pub client: String,
    /// The secret of the client.
    pub secret: SecretName,
    /// The claim that is a person's name in `entities.json`.
    pub name: String,
    private: bool,
    proxy: Option<Arc<Proxy>>,
}

impl OidcSettings {
    /// How an address of the provider is reached: its host, and the path there.
    ///
    /// # Errors
    /// Why it is not to be asked.
    pub fn way_to(&self, url: &str) -> Result<(BaseUrl, String), String> {
        let (host, path) = split(url);
        let base = BaseUrl::parse(host).map_err(|error| error.to_string())?;
        if path.contains(['?', '#']) {
            return Err(format!("`{url}` contains a query or a fragment"));
        }
        if is_in_clear(&base, url) {
            return Err(format!("`{url}` is not `https`"));
        }
        let base = base.with_private(self.private).through(self.proxy.clone());
        Ok((base, path.to_owned()))
    }
}

/// Reads the table.
pub(super) fn read(
    node: Option<&Node>,
    proxy: Option<&Arc<Proxy>>,
    diagnostics: &mut Vec<Diagnostic>,
) -> ServerSettings {
    let fields = node.and_then(|node| Fields::new("`[server]`", node, diagnostics));
    let Some(mut fields) = fields else {
        return ServerSettings::default();
    };
    let listen = fields.text("listen");
    let url = fields.text("url");
    let proxies = fields.texts("proxies");
    let session = fields.node("session");
    let login = fields.node("login");
    let voucher = fields.node("voucher");
    let tls = fields.node("tls");
    fields.finish();
    let what = "`listen` is an address with a port, such as `127.0.0.1:4520`";
    let listen = listen.and_then(|text| parsed(&text, what, diagnostics));
    let what = "`proxies` lists addresses such as `127.0.0.1`";
    let proxies = proxies
        .iter()
        .filter_map(|text| parsed(text, what, diagnostics))
        .collect();
    let (session_lasts, session_idle) =
        session.map_or((None, None), |node| read_session(node, diagnostics));
    ServerSettings {
        listen,
        url: url.map(|url| url.value),
        proxies,
        session_lasts,
        session_idle,
        login: login.and_then(|node| read_login(node, proxy, diagnostics)),
        tls: tls.and_then(|node| read_tls(node, diagnostics)),
        voucher: voucher.and_then(|node| read_voucher(node, diagnostics)),
    }
}

fn parsed<T: FromStr>(
    text: &Spanned<String>,
    what: &str,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<T> {
    let read = text.value.parse().ok();
    if read.is_none() {
        bad(diagnostics, text.span, what);
    }
    read
}

fn read_session(
    node: &Node,
    diagnostics: &mut Vec<Diagnostic>,
) -> (Option<Duration>, Option<Duration>) {
    let Some(mut fields) = Fields::new("`session`", node, diagnostics) else {
        return (None, None);
    };
    let lasts = fields.duration("lasts");
    let idle = fields.duration("idle");
    for (name, length) in [("lasts", &lasts), ("idle", &idle)] {
        if let Some(length) = length
            && !(SESSION_MIN..=SESSION_MAX).contains(&length.value)
        {
            let message = format!("`{name}` is from one minute to 30 days");
            bad(fields.diagnostics(), length.span, message);
        }
    }
    fields.finish();
    (lasts.map(|one| one.value), idle.map(|one| one.value))
}

fn read_tls(node: &Node, diagnostics: &mut Vec<Diagnostic>) -> Option<TlsSettings> {
    let mut fields = Fields::new("`tls`", node, diagnostics)?;
    let cert = fields.required_text("cert");
    let key = fields.required_text("key");
    fields.finish();
    let (cert, key) = (cert?, key?);
    let Some(path) = key.value.strip_prefix("file:") else {
        // Why no variable: a key has several lines.
        bad(
            diagnostics,
            key.span,
            "`key` is named by `file:PATH`, never written out",
        );
        return None;
    };
    Some(TlsSettings {
        cert: cert.value.into(),
        key: path.into(),
    })
}

fn read_voucher(node: &Node, diagnostics: &mut Vec<Diagnostic>) -> Option<VoucherSettings> {
    let mut fields = Fields::new("`[server.voucher]`", node, diagnostics)?;
    let key = fields.required_text("key");
    let passphrase = fields.required_text("passphrase");
    fields.finish();
    let (key, passphrase) = (key?, passphrase?);
    let name = SecretName::parse(&passphrase.value)
        .map_err(|error| bad(diagnostics, passphrase.span, error.to_string()));
    Some(VoucherSettings {
        key: key.value.into(),
        passphrase: name.ok()?,
    })
}

fn read_login(
    node: &Node,
    proxy: Option<&Arc<Proxy>>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<OidcSettings> {
    let mut fields = Fields::new("`[server.login]`", node, diagnostics)?;
    let kind = fields.required_text("kind");
    let issuer = fields.required_text("issuer");
    let client = fields.required_text("client");
    let secret = fields.required_text("secret");
    let name = fields.required_text("name");
    let private = fields.boolean("private").unwrap_or(false);
    fields.finish();
    if let Some(kind) = kind.filter(|kind| kind.value != "oidc") {
        bad(diagnostics, kind.span, "`kind` of a login is `oidc`");
    }
    let (issuer, client, secret, name) = (issuer?, client?, secret?, name?);
    for text in [&client, &name] {
        if text.value.trim().is_empty() {
            bad(diagnostics, text.span, "`client` and `name` are not empty");
        }
    }
    let secret = SecretName::parse(&secret.value)
        .map_err(|error| bad(diagnostics, secret.span, error.to_string()));
    let settings = OidcSettings {
        issuer: issuer.value,
        client: client.value,
        secret: secret.ok()?,
        name: name.value,
        private,
        proxy: proxy.cloned(),
    };
    if let Err(why) = settings.way_to(&settings.issuer) {
        bad(diagnostics, issuer.span, format!("`issuer`: {why}"));
    }
    Some(settings)
}
