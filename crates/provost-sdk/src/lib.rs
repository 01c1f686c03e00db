//! Embed provost in a program: plans that are checked and approved before a tool is called.
//!
//! The idea: a program opens a [`Workspace`], gives it tools of its own, begins a [`Run`] and asks
//! it what comes [`next`](Run::next): a card for a person, a question, a doubt, or the end.
//!
//! Owns the names that another program may rely on. Holds no rule of its own: all of them are the
//! engine's. INVARIANT: nothing of the run machine is named here, so that it may change.
//!
#![doc = include_str!("../README.md")]

mod error;
mod outcome;
mod run;
mod speaker;
mod tool;
mod wait;
mod workspace;

pub use error::{Error, Result};
pub use outcome::{Answer, Claim, Outcome, Status};
pub use provost_plan::catalog::Effect;
pub use run::{Next, Run, Say};
pub use speaker::{Signer, Speaker};
pub use tool::{Call, OwnTool, ToolError, tool};
pub use wait::{Card, Doubt, Question, Why};
pub use workspace::{Builder, Runs, Workspace};
