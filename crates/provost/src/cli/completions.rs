//! `completions`: what a shell needs to complete the command line. `man`: its pages.
//!
//! Owns nothing: both are made from the command line itself.

use std::path::PathBuf;

use clap::Args;
use clap_complete::{Shell, generate};

use super::help;
use crate::document::reason;
use crate::failure::{Exit, Failure};
use crate::output;

/// Arguments of `completions`.
#[derive(Clone, Copy, Debug, Args)]
pub struct CompletionsArgs {
    /// shell to complete for
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Arguments of `man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// directory to write the pages to
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

/// Prints them.
pub fn run(verb: CompletionsArgs) -> Exit {
    let mut text = Vec::new();
    generate(verb.shell, &mut help::command(), "provost", &mut text);
    output::data(&String::from_utf8_lossy(&text));
    Exit::Done
}

/// Writes a page for each command.
pub fn man(verb: &ManArgs) -> Result<Exit, Failure> {
    let failed = |error: std::io::Error| {
        let shown = verb.dir.display();
        Failure::usage(format!("`{shown}` cannot be written: {}", reason(&error)))
            .hint("name a directory that you may write to")
    };
    std::fs::create_dir_all(&verb.dir).map_err(failed)?;
    clap_mangen::generate_to(help::command(), &verb.dir).map_err(failed)?;
    Ok(Exit::Done)
}
