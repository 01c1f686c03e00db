//! `mcp`: a server through which somebody else's agent plans, and never acts.

use std::io::IsTerminal as _;
use std::net::SocketAddr;

use clap::Args;

use crate::failure::{Exit, Failure};
use crate::mcp::{self, HttpOptions, Transport};
use crate::workspace_path::WorkspacePath;

/// Arguments of `mcp`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Speaks MCP on stdin and stdout, or over HTTP with `--http`; the log goes to \
                  stderr. It drives the runs that its clients submitted, and ends when the client \
                  on stdin goes away: what is unfinished then waits for `provost work` or the next \
                  server. Over HTTP it ends when it is interrupted."
)]
pub struct McpArgs {
    /// serve over HTTP at this address; port 0 takes a free port
    #[arg(long, value_name = "ADDRESS", requires = "token",
          value_parser = super::address::listened)]
    http: Option<SocketAddr>,
    /// bearer token of clients: env:NAME or file:PATH
    #[arg(long, value_name = "env:NAME|file:PATH", requires = "http")]
    token: Option<String>,
    /// additional host name to accept
    #[arg(long, value_name = "NAME", requires = "http")]
    host: Vec<String>,
}

/// Does it.
pub fn run(verb: McpArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    if let (Some(address), Some(token)) = (verb.http, &verb.token) {
        let door = HttpOptions::read(address, token, verb.host)?;
        return mcp::serve(place, Transport::Http(Box::new(door)));
    }
    if std::io::stdin().is_terminal() {
        return Err(Failure::usage(
            "`provost mcp` speaks to a client on stdin, and this is a terminal",
        )
        .hint("give the command to an MCP client: docs/guides/agents.md shows how"));
    }
    mcp::serve(place, Transport::Stdio)
}
