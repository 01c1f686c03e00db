//! The tools: SQL, files under a root, HTTP operations, commands, MCP servers, models, a program's
//! own.
//!
//! Owns reading a tool from `provost.toml`, guarding what it can reach, and turning one call into
//! one [`Reply`](provost_run::outcome::Reply) whose class and landing are true. Never makes a call
//! of its own, and never knows a planner or a plan. INVARIANT: no reply that leaves a toolbox
//! holds a secret, and no `ok` holds an output that its schema refuses.
#![deny(missing_docs)]

mod adapter;
mod command;
mod config;
mod deadline;
mod fault;
mod files;
mod guard;
mod http;
mod limits;
mod mcp;
mod model;
pub mod openapi;
mod own;
mod sql;
mod toolbox;

pub use config::{Surroundings, ToolConfig};
pub use fault::Request;
pub use mcp::{Definition, DefinitionError, FIELDS as DEFINITION_FIELDS, Listing, Listings};
pub use own::{Replying, Tool};
pub use toolbox::{OpenError, Toolbox, Trouble};

#[cfg(test)]
mod tests;
