//! Addresses that people type, to listen at.
//!
//! Owns what they may leave out. Resolves no names. INVARIANT: what is left out is this machine,
//! which no other one reaches.

use std::net::{Ipv4Addr, SocketAddr};

/// An address with its port; of a port alone, and of `localhost`, that of this machine.
pub fn listened(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix("localhost:").or(text.strip_prefix(':'));
    let local = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let found = port.unwrap_or(text).parse().map(local);
    let found = found.or_else(|_| text.parse());
    found.map_err(|_| "write an address and a port, such as 127.0.0.1:4520".to_owned())
}

#[cfg(test)]
mod tests {
    use super::listened;

    #[test]
    fn a_port_alone_is_of_this_machine() {
        let read = |text: &str| listened(text).ok().map(|at| at.to_string());
        for text in ["4520", ":4520", "localhost:4520", "127.0.0.1:4520"] {
            assert_eq!(read(text).as_deref(), Some("127.0.0.1:4520"), "{text}");
        }
        for text in ["0.0.0.0:80", "[::1]:80"] {
            assert_eq!(read(text).as_deref(), Some(text));
        }
        for text in [
            "",
            "localhost",
            "127.0.0.1",
            "example.com:80",
            "70000",
            "::4520",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
