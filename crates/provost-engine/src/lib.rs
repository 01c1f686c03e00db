//! The engine: the store, the owner lock and the workspace, driven by one loop.
//!
//! The idea: this is the driver of the machines in `provost-run`. It commits their events to
//! SQLite, and only then carries out their commands with tools and planners. Whoever embeds
//! provost, the command line too, opens a workspace and drives runs through this crate.
//!
//! Owns everything that outlives a run: journal, evidence, claims. Holds no rule of its own: it
//! obeys the machines of `provost-run`. INVARIANT: what leaves the process was journaled before.
//!
//! # Floors
//!
//! From the top down; a floor uses those below it:
//!
//! - [`reload`], [`work`]: all runs of a workspace, as a service; its files read anew meanwhile
//! - [`eval`]: cases of a file, each driven over doubles and graded
//! - [`session`]: the loop of one run: step, commit, carry out, repeat
//! - [`engine`], [`proposal`], [`bundle`]: what begins a run, and what is proposed without one
//! - [`people`], [`notify`], [`summary`], [`history`], [`stats`], [`stops`]: people, notices,
//!   listings, counts, what a stop would bind
//! - [`store`], [`audit`], [`owner`], [`keys`]: journal, proof, ownership of runs, signatures
//! - [`workspace`]: `provost.toml`, policies, playbooks and the lock as one immutable value
//!
//! # Where to start
//!
//! Read [`workspace::Workspace`], then [`engine::Engine`], then [`session`], which is the loop.
//! [`store`] has the format of the journal.

pub mod audit;
pub mod bundle;
pub mod clock;
pub mod engine;
pub mod eval;
pub mod history;
pub mod keys;
pub mod limits;
pub mod notify;
/// Requests of a front end to servers elsewhere: the guarded client, and no other.
pub mod outside {
    pub use provost_wire::http::{BaseUrl, Client, Method, Request, Response, SendError};
}
pub mod owner;
pub mod people;
/// Who proposes plans: what a front end needs to name of it.
pub mod planners {
    pub use provost_planner::{ClientPlanner, NoMatch, Planner, Playbook, Route, Router};
    pub use provost_planner::{model, process};
    /// The model client, for whoever looks whether a model answers.
    pub use provost_wire::model as wire;
}
pub mod proposal;
pub mod recheck;
pub mod reload;
pub mod retention;
pub mod schedule;
/// The run machine, for whoever drives or reads runs through this library.
pub use provost_run as run;
/// Secrets, as they are named.
pub mod secrets {
    pub use provost_wire::SecretName;
}
pub mod session;
pub mod stats;
pub mod stops;
pub mod store;
pub mod summary;
pub mod telemetry;
/// Tools that the program around the engine carries out itself.
pub mod tools {
    pub use provost_tools::ToolConfig;
    pub use provost_tools::openapi;
    pub use provost_tools::{
        ConfigScope, Definition, DescribedStatement, DescribedTable, Listing, Listings, Probe,
        ReplyFuture, Request, Tool, Toolbox, description_of,
    };
}
pub mod work;
pub mod workspace;
