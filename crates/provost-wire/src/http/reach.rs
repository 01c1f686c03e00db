//! Whether a host answers at all: a connection that is made and closed.
//!
//! Owns nothing but that. Sends no byte, and goes where a call may go: the rules for the addresses
//! of a name are those of [`super::resolver`].

use std::net::SocketAddr;
use std::time::Duration;

use reqwest::dns::{Name, Resolve as _};
use tokio::net::TcpStream;

use super::BaseUrl;
use super::resolver::Resolver;

impl BaseUrl {
    /// Connects to the host and lets go again; false if a proxy stands between, which is not asked.
    ///
    /// # Errors
    /// Why no connection came about, in words.
    pub async fn reach(&self, time: Duration) -> Result<bool, String> {
        if self.proxy().is_some() {
            return Ok(false);
        }
        let connecting = tokio::time::timeout(time, self.connect());
        match connecting.await {
            Ok(connected) => connected.map(|_| true),
            Err(_) => Err(format!("{} does not answer", self.host())),
        }
    }

    async fn connect(&self) -> Result<TcpStream, String> {
        let port = self.url.port_or_known_default().unwrap_or_default();
        let host = self.host();
        let literal = host.trim_start_matches('[').trim_end_matches(']').parse();
        let addresses: Vec<SocketAddr> = match literal {
            Ok(address) => vec![SocketAddr::new(address, port)],
            Err(_) => {
                let name: Name = host.parse().map_err(|_| format!("`{host}` is no name"))?;
                let found = Resolver::for_host(host, self.is_private())
                    .resolve(name)
                    .await;
                let found = found.map_err(|error| error.to_string())?;
                let with_port = |address: SocketAddr| SocketAddr::new(address.ip(), port);
                found.map(with_port).collect()
            }
        };
        let mut said = format!("`{host}` has no address");
        for address in addresses {
            match TcpStream::connect(address).await {
                Ok(stream) => return Ok(stream),
                Err(error) => said = format!("{host}:{port} cannot be reached: {error}"),
            }
        }
        Err(said)
    }
}
