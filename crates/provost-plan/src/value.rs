//! The floor of values: what plans, policies and journals are counted, named and bounded in.
//!
//! Owns digests with their one canonical text, money, amounts, durations, labels, limits and the
//! work that may be spent. Knows nothing of plans. INVARIANT: every bound of the compiler stands
//! in [`limits`].

pub mod amount;
pub mod digest;
pub mod duration;
pub mod label;
pub mod limits;
pub mod money;
pub mod pattern;
pub mod work;
