//! Aids for whoever writes policies: what they say of every operation, what in them can never
//! apply, cases they are held to, and conditions in words.
//!
//! Owns no judgment: each asks what a run asks. INVARIANT: no call is decided here.

pub(super) mod cases;
pub(super) mod lint;
pub(super) mod shortage;
pub(super) mod survey;
mod unasked;
pub(super) mod words;
