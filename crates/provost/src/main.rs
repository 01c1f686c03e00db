//! The command line: what is typed, what is shown, how it ends.
//!
//! The idea: a front end lays out what the engine knows. One file for each verb in `cli/`; `drive/`
//! carries a run to its next rest, `screen/` lays out plans, cards, answers and events, `mcp/`
//! serves clients that plan but cannot act, and `workspace_path` spells commands for the workspace
//! at hand.
//! Start at `cli.rs`, the list of verbs, then at `cli/run.rs` and `drive.rs`.
//!
//! Owns words and exit codes, and no rule: every judgment is the engine's. INVARIANT: data goes
//! to stdout, everything else to stderr, and nothing from outside reaches either one raw.
//!
//! | code | verbs that drive a run (`run apply resume approve answer`) | other verbs |
//! |---|---|---|
//! | 0 | it succeeded | done, recorded or shown |
//! | 1 | it failed or was rejected, expired, refused or cancelled | `check` found errors |
//! | 2 | usage or configuration: nothing began | usage or configuration |
//! | 3 | it waits for a person, or was halted | |
//! | 4 | it is in doubt whether a write took place | |
//! | 130 | the second Ctrl-C | |

mod advice;
mod bug;
mod cli;
mod document;
mod drive;
mod eval_report;
mod failure;
mod keyring;
mod listener;
mod log;
mod lsp;
mod mcp;
mod metrics;
mod output;
mod screen;
mod user;
mod version;
mod workspace_path;

use std::process::ExitCode;

/// A fourth less work in the check than with the allocator of the system.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Keeps from other processes of the same user what they could read of this one: its variables and
/// its memory hold secrets, and what it starts is told only what it needs.
fn hide() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // Why ignored: a kernel that cannot has nothing else to offer.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}

fn main() -> ExitCode {
    hide();
    bug::report_panics();
    let exit = std::panic::catch_unwind(cli::main).unwrap_or_else(|_| {
        // Why no message: the hook has said what there is to say.
        if cli::typed_json() {
            output::json(&failure::Failure::failed("a defect of provost").to_json());
        }
        failure::Exit::Failed
    });
    log::end(exit.code());
    ExitCode::from(exit.code())
}
