//! The listeners of the doors that this program opens itself.
//!
//! Owns how one is opened and what is said where it cannot be. Which addresses a door may have is
//! the door's own question. INVARIANT: a listener is ready for the runtime that takes it over.

use std::net::{SocketAddr, TcpListener};

use crate::document::reason;
use crate::failure::Failure;

/// Listens at `address`; nobody is answered before the runtime takes it over.
pub fn at(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address)
        .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
        .map_err(|error| {
            let reason = reason(&error);
            Failure::usage(format!("cannot listen at `{address}`: {reason}"))
        })
}
