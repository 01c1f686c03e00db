//! People: what they are asked, what their statements open, and what they amend.
//!
//! Owns cards with their previews and values, quorum, questions, escalation, amendments.
//! Never verifies a signature: who speaks is known before.
//! INVARIANT: an approval opens only what was shown.

pub(in crate::turn) mod amend;
pub(in crate::turn) mod gate;
pub(in crate::turn) mod origin;
pub(in crate::turn) mod preview;
