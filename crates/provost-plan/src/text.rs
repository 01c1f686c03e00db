//! The floor of texts: what is read, where it stands, and what is said of it.
//!
//! Owns sources and spans, the strict readers of YAML, JSON and TOML, findings with their codes,
//! fixes and forms of print. Knows nothing of plans. INVARIANT: every finding names a code of one
//! table and the place it is about.

pub mod codes;
pub mod diagnostic;
pub mod fix;
pub mod json;
pub mod node;
pub mod render;
pub mod source;
