//! The simulated world: what provost is tried against, and what tries it.
//!
//! Owns the HTTP service that stands in for real systems ([`world`]) and the seeded data of the
//! example workspaces ([`incident`], [`sla`]), and every history of small plans ([`enumerate`]).
//! Never ships with the product. INVARIANT: everything generated here is a function of its seed: no
//! clock, no thread, no order of a hash map.

pub mod enumerate;
pub mod incident;
pub mod rng;
pub mod sla;
pub mod sqlite;
pub mod world;
