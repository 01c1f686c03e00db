//! What is typed: the verbs with their arguments.
//!
//! Owns parsing and the choice of the verb. INVARIANT: a verb that is listed works.

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{ArgAction, Args, Parser, Subcommand};

use crate::failure::{Exit, Failure};
use crate::output;
use crate::place::Place;

mod amend;
mod answer;
mod apply;
mod approve;
mod audit;
mod backup;
mod cancel;
pub mod check;
mod diff;
mod doctor;
mod explain;
mod inbox;
mod init;
mod key;
mod mcp;
mod pause;
mod plan;
mod policy;
mod prune;
mod record;
mod reject;
mod resume;
mod run;
pub mod runs;
mod say;
mod settle;
mod show;
mod target;
mod tools;
mod trace;
mod why;
mod work;

const AFTER: &str = "exit codes: 0 succeeded or done · 1 failed, rejected, expired, refused or \
                     cancelled · 2 usage or configuration · 3 waits for a person, or paused · 4 in \
                     doubt";

/// planner decides intent, executor enforces reality: plans are proposed, checked, approved and
/// executed, with evidence
#[derive(Debug, Parser)]
#[command(name = "provost", version, after_help = AFTER, max_term_width = 100)]
#[command(
    disable_help_flag = true,
    disable_version_flag = true,
    disable_help_subcommand = true
)]
struct Cli {
    /// the workspace; otherwise the nearest parent with a provost.toml
    #[arg(short = 'C', global = true, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// print this help
    #[arg(short, long, global = true, action = ArgAction::Help)]
    help: Option<bool>,
    /// print the version
    #[arg(short = 'V', long, action = ArgAction::Version)]
    version: Option<bool>,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// make a workspace
    Init(init::Init),
    /// plan, check, ask, execute and answer
    Run(run::Run),
    /// propose and check only: nothing is called
    Plan(plan::Plan),
    /// check a plan, a saved plan or a playbook
    Check(check::Check),
    /// show a plan, or a run and what it came to
    Show(show::Show),
    /// show what grew between two revisions of a run's plan, or two plan files
    Diff(diff::Diff),
    /// run a plan file or a saved plan, exactly
    Apply(apply::Apply),
    /// say yes to what waits, and go on
    Approve(approve::Approve),
    /// say no to what waits
    Reject(reject::Reject),
    /// answer a question, and go on
    Answer(answer::Answer),
    /// say what became of a write that is in doubt, and go on
    Settle(settle::Settle),
    /// put another plan, other arguments or another goal in the place of a run's
    Amend(amend::Amend),
    /// take in what somebody signed elsewhere
    Record(record::Record),
    /// list the runs
    Runs(runs::Runs),
    /// list what waits for a person, with the commands to type
    Inbox(inbox::Inbox),
    /// end a run
    Cancel(cancel::Cancel),
    /// stop a run, all runs, a tool, a playbook or a principal
    Pause(pause::Pause),
    /// go on with a run that was halted, paused or whose process ended; lift a stop
    Resume(resume::Resume),
    /// drive every run that can go on, without a person at a terminal
    Work(work::Work),
    /// serve a client that plans over MCP, and never acts
    Mcp(mcp::Mcp),
    /// show how a run was planned and what was done, apart
    Trace(trace::Trace),
    /// say who is guilty of how a run ended, with the events that prove it
    Why(why::Why),
    /// list, show, add, pin, compare or call tools
    Tools(tools::Tools),
    /// look at what the policies say, and hold them to cases
    Policy(policy::Policy),
    /// check the journal, offline, and sign heads of it
    Audit(audit::Audit),
    /// drop the bytes of old evidence, and keep their digests
    Prune(prune::Prune),
    /// copy the journal while others write
    Backup(backup::Backup),
    /// make the key that your words are signed with
    Key(key::Key),
    /// explain the code of a finding
    Explain(explain::Explain),
    /// look whether the workspace is fit to work in
    Doctor(doctor::Doctor),
}

/// How the progress and the result of a run are given.
#[derive(Clone, Copy, Debug, Args)]
pub struct Watching {
    /// print the result as one JSON object
    #[arg(long, conflicts_with = "events")]
    pub json: bool,
    /// print the events of the journal as JSON, one a line, as they are kept
    #[arg(long)]
    pub events: bool,
}

/// Parses the command line and does what it says.
pub fn main() -> Result<Exit, Failure> {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return Ok(misread(&error)),
    };
    let place = Place::new(cli.dir);
    let done = match cli.verb {
        Verb::Init(verb) => init::run(verb, &place),
        Verb::Run(verb) => run::run(&verb, &place),
        Verb::Plan(verb) => plan::run(&verb, &place),
        Verb::Check(verb) => check::run(&verb, &place),
        Verb::Show(verb) => show::run(&verb, &place),
        Verb::Diff(verb) => diff::run(&verb, &place),
        Verb::Apply(verb) => apply::run(&verb, &place),
        Verb::Approve(verb) => approve::run(verb, &place),
        Verb::Reject(verb) => reject::run(verb, &place),
        Verb::Answer(verb) => answer::run(&verb, &place),
        Verb::Settle(verb) => settle::run(&verb, &place),
        Verb::Pause(verb) => pause::run(&verb, &place),
        Verb::Amend(verb) => amend::run(verb, &place),
        Verb::Record(verb) => record::run(&verb, &place),
        Verb::Runs(verb) => runs::run(verb, &place),
        Verb::Inbox(verb) => inbox::run(&verb, &place),
        Verb::Cancel(verb) => cancel::run(verb, &place),
        Verb::Resume(verb) => resume::run(&verb, &place),
        Verb::Trace(verb) => trace::run(&verb, &place),
        Verb::Why(verb) => why::run(&verb, &place),
        Verb::Work(verb) => work::run(verb, &place),
        Verb::Mcp(verb) => mcp::run(verb, &place),
        Verb::Tools(verb) => tools::run(verb, &place),
        Verb::Policy(verb) => policy::run(&verb, &place),
        Verb::Audit(verb) => audit::run(verb, &place),
        Verb::Prune(verb) => prune::run(verb, &place),
        Verb::Backup(verb) => backup::run(&verb, &place),
        Verb::Key(verb) => key::run(verb, &place),
        Verb::Explain(verb) => explain::run(&verb),
        Verb::Doctor(verb) => doctor::run(&verb, &place),
    };
    done.map_err(|failure| failure.at(&place))
}

/// Help and versions are data; what cannot be parsed is a message.
fn misread(error: &clap::Error) -> Exit {
    let text = error.render().ansi().to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            output::data(&text);
            Exit::Done
        }
        _ => {
            output::note(&text);
            Exit::Usage
        }
    }
}
