//! The simulated world: what provost is tried against, and what tries it.
//!
//! Owns the HTTP service that stands in for real systems ([`world`]), a scripted MCP server
//! ([`mcp`]), a scripted model server ([`model`]), the seeded data of the examples ([`incident`],
//! [`sla`]), every history of small plans ([`enumerate`]), a planner that obeys whoever speaks
//! ([`injection`]), equal calls of other runs ([`repeats`]), secrets that must be found nowhere
//! ([`canary`]), mutants of good plans ([`mutate`]), what a fix may do to a plan ([`fixes`]), what
//! must hold of any bytes ([`fuzz`]), runs whose truth `why` has to find ([`verdicts`]), and a
//! second reading of the rules of the check ([`reference`](mod@reference)). Never ships with the
//! product. INVARIANT: everything made here is a function of its seed: no clock, no thread, no
//! order of a hash map.

pub mod canary;
pub mod enumerate;
pub mod fixes;
pub mod fuzz;
pub mod incident;
pub mod injection;
pub mod mcp;
pub mod model;
pub mod mutate;
pub mod polls;
pub mod reference;
pub mod repeats;
pub mod rng;
pub mod sla;
pub mod sqlite;
pub mod table;
pub mod verdicts;
pub mod world;
pub mod worlds;
