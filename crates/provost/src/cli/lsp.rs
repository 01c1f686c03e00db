//! `lsp`: what the check says of plans and playbooks, in an editor.

use std::io::IsTerminal as _;

use clap::Args;

use crate::failure::{Exit, Failure};
use crate::lsp;
use crate::workspace_path::WorkspacePath;

/// Arguments of `lsp`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Speaks the Language Server Protocol on stdin and stdout: findings as you type, \
                  pages of codes and tools, completion, places of steps, safe fixes."
)]
pub struct LspArgs {
    /// stdin and stdout, as some editors insist; there is no other way
    #[arg(long)]
    stdio: bool,
}

/// Does it.
pub fn run(_: &LspArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    if std::io::stdin().is_terminal() {
        return Err(Failure::usage(
            "`provost lsp` speaks to an editor on stdin, and this is a terminal",
        )
        .hint("give the command to an editor: docs/guides/editor.md shows how"));
    }
    lsp::serve(place)
}
