//! `mcp`: a server through which somebody else's agent plans, and never acts.

use std::io::IsTerminal as _;

use clap::Args;

use crate::failure::{Exit, Failure};
use crate::mcp;
use crate::place::Place;

/// Arguments of `mcp`.
#[derive(Clone, Copy, Debug, Args)]
#[command(
    after_help = "Speaks MCP on stdin and stdout; the log goes to stderr. It drives the \
                        runs that its clients submitted, and ends when the client goes away: \
                        what is unfinished then waits for `provost work` or the next server."
)]
pub struct Mcp {}

/// Does it.
pub fn run(Mcp {}: Mcp, place: &Place) -> Result<Exit, Failure> {
    if std::io::stdin().is_terminal() {
        return Err(Failure::usage(
            "`provost mcp` speaks to a client on stdin, and this is a terminal",
        )
        .hint("give the command to an MCP client: docs/guides/agents.md shows how"));
    }
    mcp::serve(place)
}
