//! One connection for one call.
//!
//! Owns the password on its way, TLS, and the task that carries the connection. INVARIANT: the
//! task ends with the client, so no connection outlives its call.

use std::time::Duration;

use rustls::ClientConfig;
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::Database;
use super::meaning::not_connected;
use crate::fault::Fault;
use provost_run::outcome::Class;

impl Database {
    pub(super) async fn connect(&self, time: Duration) -> Result<Client, Fault> {
        let mut config = self.server.config.clone();
        config.connect_timeout(time);
        if let Some(name) = &self.server.password {
            let secret = name
                .resolve(&self.base)
                .map_err(|error| Fault::lacks(name, &error))?;
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
            .connect(tls()?)
            .await
            .map_err(|error| not_connected(&self.tool, &error))?;
        tokio::spawn(connection);
        Ok(client)
    }
}

/// Certificates are held against what this machine trusts, and against the name of the host.
fn tls() -> Result<MakeRustlsConnect, Fault> {
    let refused = |error: rustls::Error| {
        let message = format!("the certificates of this machine cannot be used: {error}");
        Fault::refused(Class::Unavailable, message)
    };
    let provider = rustls::crypto::ring::default_provider().into();
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(rustls::ConfigBuilder::with_platform_verifier)
        .map_err(refused)?
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}
