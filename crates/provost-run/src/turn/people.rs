//! People: what they are asked, what their statements open, and what they amend.
//!
//! Owns cards with their previews and values, quorum, questions, escalation, amendments.
//! Never verifies a signature: who speaks is known before.
//! INVARIANT: an approval opens only what was shown.

pub(crate) mod amend;
pub(crate) mod control;
pub(crate) mod gate;
pub(crate) mod preview;
pub(crate) mod rights;
