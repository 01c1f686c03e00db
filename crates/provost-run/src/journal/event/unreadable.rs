//! A stored event that this version cannot read: which one, and why.

/// A stored event that this version cannot read.
#[derive(Debug, thiserror::Error)]
#[error("event `{kind}` version {version} cannot be read: {reason}")]
pub struct EventError {
    pub(super) kind: String,
    pub(super) version: u32,
    pub(super) reason: String,
}
