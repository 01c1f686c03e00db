//! The way out through a proxy, where the operator says that there is one.
//!
//! Owns which hosts are reached through it, and the look at a name before it is handed over. Reads
//! no variable of the environment: a proxy that nobody named is none. INVARIANT: what is to go
//! through a proxy goes through it or not at all, and a name that stands here for an address that
//! it may not stand for is not handed over.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll};

use tower::{BoxError, Layer, Service};

use super::resolver::{AddressKind, address_kind, is_localhost};
use super::{BaseUrl, BaseUrlError, ClientError};
use crate::secret::SecretName;

/// A proxy, and what does not go through it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proxy {
    base: BaseUrl,
    auth: Option<(String, SecretName)>,
    direct: Vec<String>,
    /// Where a file with the password lies.
    root: PathBuf,
}

impl Proxy {
    /// The proxy at an address such as `http://proxy.example.com:3128`.
    ///
    /// # Errors
    /// [`BaseUrlError`] if it is no `http` URL of a host and a port alone.
    pub fn parse(text: &str, root: &Path) -> Result<Self, BaseUrlError> {
        let base = BaseUrl::parse(text)?;
        if base.url.scheme() != "http" {
            return Err(base.unfit("a proxy is reached over `http`"));
        }
        if base.url.path() != "/" {
            return Err(base.unfit("a proxy has no path"));
        }
        Ok(Self {
            base,
            auth: None,
            direct: Vec::new(),
            root: root.to_owned(),
        })
    }

    /// The same for who says that they are `user`.
    #[must_use]
    pub fn with_auth(self, user: String, password: SecretName) -> Self {
        let auth = Some((user, password));
        Self { auth, ..self }
    }

    /// The same, and these hosts are reached without it: a name, or `.example.com` for all names
    /// below one.
    #[must_use]
    pub fn without(self, hosts: impl IntoIterator<Item = String>) -> Self {
        let hosts = hosts.into_iter();
        let direct = hosts.map(|host| host.to_ascii_lowercase()).collect();
        Self { direct, ..self }
    }

    /// The name of the password that the proxy takes, if it takes one.
    #[must_use]
    pub fn secret(&self) -> Option<&SecretName> {
        self.auth.as_ref().map(|(_, password)| password)
    }

    /// Whether what is at `base` is reached through it: not this machine, no address or name of a
    /// private network that the operator names, and none of the hosts that are reached without.
    pub(super) fn applies_to(&self, base: &BaseUrl) -> bool {
        let host = base.host().to_ascii_lowercase();
        let host = host.trim_end_matches('.');
        let named = self
            .direct
            .iter()
            .any(|direct| match direct.strip_prefix('.') {
                Some(_) => host.ends_with(direct.as_str()),
                None => host == direct,
            });
        let own = match literal_address(host) {
            Some(address) => address_kind(address) != AddressKind::Public,
            None => base.private || is_localhost(host),
        };
        !named && !own
    }

    /// What requests of a client are told to take.
    pub(super) fn reqwest_proxy(&self) -> Result<reqwest::Proxy, ClientError> {
        let failed = |reason: String| ClientError { reason };
        let rule = reqwest::Proxy::all(self.base.url.clone());
        let rule = rule.map_err(|error| failed(super::innermost(&error)))?;
        let Some((user, password)) = &self.auth else {
            return Ok(rule);
        };
        let password = password.resolve(&self.root);
        let password = password.map_err(|error| failed(error.to_string()))?;
        Ok(rule.basic_auth(user, password.expose()))
    }

    /// Its host, which is looked up in place of every other.
    pub(super) fn host(&self) -> &str {
        self.base.host()
    }
}

/// As an operator knows it; the password is not in it.
impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.base.to_string().trim_end_matches('/'))?;
        if let Some((user, _)) = &self.auth {
            write!(f, " as {user}")?;
        }
        if !self.direct.is_empty() {
            write!(f, ", but not to {}", self.direct.join(", "))?;
        }
        Ok(())
    }
}

/// The address that a host is written as.
fn literal_address(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[')
        .trim_end_matches(']')
        .parse()
        .ok()
}

/// Looks at a name before any connection to the proxy is made for it.
#[derive(Clone, Debug)]
pub(super) struct AddressCheckLayer {
    host: String,
}

impl AddressCheckLayer {
    pub(super) fn at(base: &BaseUrl) -> Self {
        let host = base.host().to_owned();
        Self { host }
    }

    /// Whether the name may be handed over. One that is not known here is the proxy's to judge.
    async fn check(&self) -> Result<(), BoxError> {
        if literal_address(&self.host).is_some() {
            return Ok(());
        }
        let host = self.host.as_str();
        let Ok(found) = tokio::net::lookup_host((host, 0)).await else {
            return Ok(());
        };
        let open = |address: SocketAddr| address_kind(address.ip()) == AddressKind::Public;
        if found.into_iter().all(open) {
            return Ok(());
        }
        let reason = format!(
            "`{host}` stands for an address that the proxy is not asked to reach; write `private = \
             true` beside it if you mean that, and it is reached without the proxy"
        );
        Err(reason.into())
    }
}

impl<S> Layer<S> for AddressCheckLayer {
    type Service = AddressCheck<S>;

    fn layer(&self, inner: S) -> AddressCheck<S> {
        let layer = self.clone();
        AddressCheck { layer, inner }
    }
}

#[derive(Clone, Debug)]
pub(super) struct AddressCheck<S> {
    layer: AddressCheckLayer,
    inner: S,
}

impl<S, R> Service<R> for AddressCheck<S>
where
    S: Service<R, Error = BoxError>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, target: R) -> Self::Future {
        let layer = self.layer.clone();
        // Why before it is polled: a connection that is not begun sends nothing.
        let connecting = self.inner.call(target);
        Box::pin(async move {
            layer.check().await?;
            connecting.await
        })
    }
}
