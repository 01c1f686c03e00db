//! `mcp`: the scripted MCP server in its own process, over stdin and stdout.
//!
//! Owns the command line of [`sim::mcp`]. Exits 2 where the state file cannot be used.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use sim::mcp::{Script, Server};

/// A scripted MCP server for provost to be tried against.
#[derive(Parser)]
struct Args {
    /// The file that stands for the world: one line an effect.
    #[arg(long, value_name = "FILE")]
    state: PathBuf,
    /// Speaks 2026-07-28 in place of 2025-11-25.
    #[arg(long)]
    stateless: bool,
    /// What is wrong from the start: exit, mute, circle, twice, huge, without, changed, more.
    #[arg(long, value_name = "FAULT")]
    start: Option<String>,
    /// How many tools stand on a page.
    #[arg(long, value_name = "COUNT", default_value_t = 7)]
    page: usize,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let script = Script {
        state: args.state,
        stateless: args.stateless,
        start: args.start,
        page: args.page,
    };
    match Server::new(script, io::stdin().lock(), io::stdout()).serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
