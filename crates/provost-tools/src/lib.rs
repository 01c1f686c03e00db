//! The tools: databases, files, HTTP, commands, MCP servers, models, and a program's own code.
//!
//! One idea: a tool is what the operator wrote in `provost.toml` and no more. Reading a table gives
//! settings and catalog entries; opening the settings gives an adapter; a call of the adapter gives
//! one [`Reply`](provost_run::outcome::Reply) whose class and landing are true. The crate decides
//! nothing: it cannot make a call, and it knows neither planner nor plan.
//!
//! From the bottom up:
//!
//! 1. `limits`, `fault`, `deadline`: the numbers, a failed attempt, and work that blocks a thread.
//! 2. `protected_paths`: what no tool may reach.
//! 3. `adapter`: the two traits of a kind, its settings and the open tool.
//! 4. `config`: [`ToolConfig`], the fields that all kinds share, and the reader of operations.
//! 5. `kinds`: one module for each kind; its documentation has the table of outcomes.
//! 6. `toolbox`: [`Toolbox`], all tools of a workspace behind one door.
//!
//! 7. `rehearsal`: [`Rehearsal`], the tools of an eval, which change nothing real.
//!
//! [`openapi`] stands beside them: it proposes entries for `provost.toml` from a document.
//!
//! Start with [`Toolbox::perform`], then `adapter`, then the kind you want to know. Your own code
//! becomes a tool through [`Tool`].
//!
//! INVARIANT: no reply that leaves a toolbox holds a secret, and no `ok` holds an output that its
//! schema refuses.
#![deny(missing_docs)]

mod adapter;
mod config;
mod deadline;
mod fault;
mod kinds;
mod limits;
mod linked_path;
pub mod openapi;
mod protected_paths;
mod rehearsal;
mod toolbox;

pub use config::{ConfigScope, ToolConfig, description_of};
pub use fault::Request;
pub use kinds::custom::{ReplyFuture, Tool};
pub use kinds::mcp::{
    Definition, DefinitionChange, DefinitionError, FIELDS as DEFINITION_FIELDS, Listing, Listings,
};
pub use kinds::sql::{DescribedStatement, DescribedTable, SQLITE_EFFECTS};
pub use rehearsal::{Doubles, FaultLanding, MissedCall, PlannedFault, RecordedCall, Rehearsal};
pub use toolbox::{OpenError, Probe, Toolbox, ToolboxState, Trouble};

#[cfg(test)]
extern crate self as provost_tools;
#[cfg(test)]
#[path = "../tests/calls/mod.rs"]
mod tests;
