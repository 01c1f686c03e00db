//! The wire: one guarded HTTP client, the model client, secrets by name, and redaction.
//!
//! Owns what leaves the process over the network and what must not stand in any record. Knows no
//! plan and no outcome: it says what was sent and what came back. INVARIANT: a secret's value has
//! no `Debug`, no `Display` and no serialisation; it leaves its type only through
//! [`Secret::expose`].
#![deny(missing_docs)]

mod child;
mod family;
pub mod http;
mod limits;
pub mod model;
pub mod program;
mod redact;
mod sandbox;
mod secret;
mod server;

pub use child::{Child, ChildError};
pub use redact::Redactor;
pub use sandbox::{Held, Sandbox, SandboxError};
pub use secret::{Secret, SecretError, SecretName, SecretNameError, Variable};
pub use server::{Server, ServerCommand, ServerPipes};
