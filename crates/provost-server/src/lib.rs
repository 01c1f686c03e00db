//! The server: a workspace over HTTP, for the people of a team and for programs.
//!
//! The idea: one thread drives the runs, and beside it requests are answered. What is shown is read
//! from the journal by the functions that the terminal uses; what is said becomes a statement that
//! the run machine judges.
//!
//! Owns the listener, the doors (who is there), the routes and the event stream. Holds no rule of
//! its own about runs, never prints, and takes no run up but through the engine's work loop.
//! INVARIANT: a request from nowhere known is answered before its body is read, and no route
//! decides who may do what.
//!
//! # Floors
//!
//! From the top down; a floor uses those below it:
//!
//! - [`serve`]: the listener, the end of a process
//! - `routes`: the one table of routes; `page` and `api` answer them
//! - [`graph`], [`plot`], [`markup`]: what is drawn in a page, and text on its way into one
//! - `door`: host, cross-site, sessions, links, tokens: who a request is from
//! - `feed`: the event stream
//! - `files`: what is told of the files of the workspace, which are read anew while it is served
//! - [`mcp`]: planning for somebody else's agent, on stdin and behind the door
//! - `statements`, `drive`: the ways in: what people say, and what is begun
//! - `attempts`: which attempts were made at a step, and how each ended
//! - [`view`]: the one way out: runs, waits, cards, as pages and programs need them
//! - `may`: what policy lets somebody see, be shown, begin and govern
//! - [`problem`], `limits`: refusals and bounds

mod api;
mod app;
mod assets;
mod attempts;
mod door;
mod drive;
mod feed;
mod files;
pub mod graph;
mod limits;
pub mod markup;
mod may;
pub mod mcp;
mod page;
pub mod plot;
pub mod problem;
mod routes;
pub mod serve;
mod statements;
pub mod view;

pub use app::{FindingsJson, Lent};
pub use door::database::{Database, DatabaseError, SERVER_FILE, StoredSession, StoredToken};
pub use door::token::{GivenToken, WeakToken};
pub use drive::ClientRuns;
pub use routes::{ListedRoute, listed, routed};
pub use serve::{Offer, ServeError, ServeOptions, Server};
