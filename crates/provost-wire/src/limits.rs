//! Every fixed limit of the wire, in one place, with the unit last in the name.
//!
//! Owns numbers only.

use std::time::Duration;

/// How long a connection may take to stand.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Most bytes kept of the body of an answer that is an error.
pub(crate) const ERROR_BODY_BYTES_MAX: u64 = 64 * 1024;
/// The longest wait that a server may ask for.
pub(crate) const RETRY_AFTER_MAX: Duration = Duration::from_secs(60 * 60);
/// Most headers that one answer may have.
pub(crate) const HEADERS_MAX: usize = 100;
/// Most bytes kept of what a child process says on stderr.
pub(crate) const CHILD_STDERR_BYTES_MAX: usize = 4 * 1024;
/// How long the last words of a child that ended are waited for.
pub(crate) const CHILD_STDERR_WAIT: Duration = Duration::from_millis(50);
/// Shortest secret: a shorter one cannot be taken out of records without ruining them.
pub(crate) const SECRET_BYTES_MIN: usize = 8;
/// Longest secret that is read.
pub(crate) const SECRET_BYTES_MAX: u64 = 64 * 1024;
/// Most bytes of the text of a model's answer.
pub(crate) const MODEL_TEXT_BYTES_MAX: usize = 1024 * 1024;
/// Most bytes of what a model's server says that it did not do.
pub(crate) const MODEL_ERROR_BYTES_MAX: usize = 400;
/// How often the processes of a tree are looked for, since each may start another meanwhile.
pub(crate) const TREE_ROUNDS_MAX: usize = 20;
/// How often a control group is tried to be taken away.
pub(crate) const GROUP_REMOVALS_MAX: usize = 100;
/// How long the next time is waited for.
pub(crate) const GROUP_REMOVAL_WAIT: Duration = Duration::from_millis(20);
