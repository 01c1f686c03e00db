//! The wire: whatever leaves this process or runs beside it, and what must not stand in a record.
//!
//! One idea: every way out of the process is one type that a caller gives all of its bounds, such
//! as a time, a size and one host, and that says how far it came. A caller can then tell a request
//! that was never sent from one that may have arrived. The crate knows no plan and no outcome.
//!
//! From the bottom up:
//!
//! 1. [`SecretName`] and [`Secret`]: secrets are named in settings and read at the moment of use;
//!    [`Redactor`] takes their values out of bytes, texts and JSON.
//! 2. [`http`]: one client for one host, with the guard over private addresses and the proxy.
//! 3. [`model`]: one question to a language model over that client, one answer, its tokens.
//! 4. [`process`]: child processes, programs, servers over pipes, and the sandbox (Landlock) that
//!    says which files they may reach.
//!
//! Start with [`http::Client::send`] and [`http::SendError`]; then [`process::Program::run`].
//!
//! INVARIANT: a secret's value has no `Debug`, no `Display` and no serialisation; it leaves its
//! type only through [`Secret::expose`].
#![deny(missing_docs)]

#[cfg(windows)]
compile_error!("provost does not run on Windows: use Linux, or Linux inside WSL 2");

pub mod http;
mod limits;
pub mod model;
#[cfg(not(windows))]
pub mod process;
mod redact;
mod secret;

pub use redact::Redactor;
pub use secret::{EnvValue, Secret, SecretError, SecretName, SecretNameError};
