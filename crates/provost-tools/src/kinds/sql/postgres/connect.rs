//! One connection for one call.
//!
//! Owns the password on its way, TLS, and the task that carries the connection. INVARIANT: the
//! task ends with the client, so no connection outlives its call.

use std::time::Duration;

use provost_run::outcome::Class;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::PostgresDatabase;
use super::meaning::not_connected;
use crate::fault::Fault;
use crate::linked_path::{LinkError, LinkedPath};

impl PostgresDatabase {
    pub(super) async fn connect(&self, time: Duration) -> Result<Client, Fault> {
        let mut config = self.server.config.clone();
        config.connect_timeout(time);
        if let Some(name) = &self.server.password {
            let secret = name
                .resolve(&self.base)
                .map_err(|error| Fault::missing_secret(name, &error))?;
            config.password(secret.expose());
        }
        if config.get_ssl_mode() == SslMode::Disable {
            let (client, connection) = config
                .connect(NoTls)
                .await
                .map_err(|error| not_connected(&self.tool, &error))?;
            // Why unobserved: what ends it, the next word to the client says too.
            tokio::spawn(connection);
            return Ok(client);
        }
        let (client, connection) = config
            .connect(self.tls()?)
            .await
            .map_err(|error| not_connected(&self.tool, &error))?;
        tokio::spawn(connection);
        Ok(client)
    }

    /// Certificates are held against those of `ca`, else against what this machine trusts, and
    /// against the name of the host.
    fn tls(&self) -> Result<MakeRustlsConnect, Fault> {
        let refused = |error: rustls::Error| {
            let message = format!("the certificates of this machine cannot be used: {error}");
            Fault::no_effect(Class::Unavailable, message)
        };
        let provider = rustls::crypto::ring::default_provider().into();
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(refused)?;
        let config = match &self.ca {
            Some(ca) => builder.with_root_certificates(self.roots(ca)?),
            None => builder.with_platform_verifier().map_err(refused)?,
        };
        Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
    }

    /// The certificates in the file `ca`, below the workspace.
    fn roots(&self, ca: &LinkedPath) -> Result<RootCertStore, Fault> {
        let shown = self.server.ca.as_deref().unwrap_or_default();
        let refused = |error: String| {
            let message = format!("the certificates in `{shown}` cannot be used: {error}");
            Fault::no_effect(Class::Unavailable, message)
        };
        let real = ca.locate().map_err(|error| match error {
            LinkError::Moved => ca.drift("file of certificates"),
            LinkError::Unreachable(error) => refused(error.to_string()),
        })?;
        let text = std::fs::read(real).map_err(|error| refused(error.to_string()))?;
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(&text) {
            let certificate = certificate.map_err(|error| refused(error.to_string()))?;
            roots
                .add(certificate)
                .map_err(|error| refused(error.to_string()))?;
        }
        match roots.is_empty() {
            true => Err(refused("there are none".to_owned())),
            false => Ok(roots),
        }
    }
}
