//! Processes: commands that provost starts, each within its bounds and with all that it starts.
//!
//! Owns three ways to run a command: [`ChildCommand`] reads a few bytes and answers with its exit
//! code, [`Program`] is run for what it prints, [`ServerProcess`] stays and is spoken to over its
//! pipes; and the [`Sandbox`] that says which files the last two may reach. No shell reads an
//! argument, and no variable of this process is passed on but `PATH`. INVARIANT: nothing that is
//! started here outlives the value or the call that started it, also if this process is killed.

mod child;
mod lacking;
mod program;
mod sandbox;
mod server;
mod tree;
mod watchdog;

pub use child::{ChildCommand, ChildError};
pub use lacking::{RUNS_NO_FILE, command_lacks, is_interpreter, lacking};
pub use program::{Program, ProgramError, ProgramOutput, locate};
pub use sandbox::{Sandbox, SandboxError, SandboxLevel};
pub use server::{ServerCommand, ServerPipes, ServerProcess};
