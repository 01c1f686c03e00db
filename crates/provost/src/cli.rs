//! What is typed: the verbs with their arguments.
//!
//! Owns parsing and the choice of the verb. INVARIANT: a verb that is listed works.

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{ArgAction, Args, FromArgMatches, Parser, Subcommand};

use crate::failure::{Exit, Failure};
use crate::output;
use crate::workspace_path::WorkspacePath;

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
mod evidence;
mod explain;
mod help;
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
mod schedules;
mod settle;
mod show;
mod statement;
mod target;
mod tools;
mod trace;
mod undo;
mod validity;
mod why;
mod work;

/// Executes only plans that your policy admits and, where it says so, a person approved.
#[derive(Debug, Parser)]
#[command(name = "provost", version, max_term_width = 100)]
#[command(
    disable_help_flag = true,
    disable_version_flag = true,
    disable_help_subcommand = true
)]
struct Cli {
    /// workspace directory [default: the nearest parent with a provost.toml]
    #[arg(short = 'C', global = true, value_name = "DIR", help_heading = help::GLOBAL)]
    dir: Option<PathBuf>,
    /// print help
    #[arg(short, long, global = true, action = ArgAction::Help, help_heading = help::GLOBAL)]
    help: Option<bool>,
    /// print the version
    #[arg(short = 'V', long, action = ArgAction::Version, help_heading = help::GLOBAL)]
    version: Option<bool>,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// create a workspace
    Init(init::InitArgs),
    /// plan, check and execute a goal
    Run(run::RunArgs),
    /// propose and check a plan without calling a tool
    Plan(plan::PlanArgs),
    /// check a plan, a saved plan or a playbook
    Check(check::CheckArgs),
    /// show a plan or a run
    Show(show::ShowArgs),
    /// compare two revisions of a run's plan, or two plan files
    Diff(diff::DiffArgs),
    /// execute a plan file or a saved plan
    Apply(apply::ApplyArgs),
    /// approve a waiting step or plan
    Approve(approve::ApproveArgs),
    /// reject a waiting step or plan
    Reject(reject::RejectArgs),
    /// answer a question of a run
    Answer(answer::AnswerArgs),
    /// record whether an in-doubt write happened
    Settle(settle::SettleArgs),
    /// change a run's plan, arguments or goal
    Amend(amend::AmendArgs),
    /// import a signed statement
    Record(record::RecordArgs),
    /// list runs
    Runs(runs::RunsArgs),
    /// list what the clock begins: when next, and when last
    Schedules(schedules::SchedulesArgs),
    /// list what waits for a person
    Inbox(inbox::InboxArgs),
    /// cancel a run, and undo it on request
    Cancel(cancel::CancelArgs),
    /// undo what a run did that has ended
    Undo(undo::UndoArgs),
    /// pause a run, a tool, a playbook, a principal or everything
    Pause(pause::PauseArgs),
    /// resume a run, or lift a pause
    Resume(resume::ResumeArgs),
    /// execute all runs as a service
    Work(work::WorkArgs),
    /// serve an MCP client that plans but cannot act
    Mcp(mcp::McpArgs),
    /// show the events of a run: planning and execution
    Trace(trace::TraceArgs),
    /// explain why a run ended: plan, execution or neither
    Why(why::WhyArgs),
    /// print the stored bytes that an answer or a card cites
    Evidence(evidence::EvidenceArgs),
    /// manage and call tools
    Tools(tools::ToolsArgs),
    /// check and test policies
    Policy(policy::PolicyArgs),
    /// verify the journal, and sign its head
    Audit(audit::AuditArgs),
    /// delete old evidence, keeping its digests
    Prune(prune::PruneArgs),
    /// copy the journal while runs continue
    Backup(backup::BackupArgs),
    /// create a signing key
    Key(key::KeyArgs),
    /// explain a finding code
    Explain(explain::ExplainArgs),
    /// check the workspace setup
    Doctor(doctor::DoctorArgs),
}

/// How the progress and the result of a run are given.
#[derive(Clone, Copy, Debug, Args)]
pub struct Watching {
    /// print the result as one JSON object
    #[arg(long, conflicts_with = "events")]
    pub json: bool,
    /// print journal events as JSON lines
    #[arg(long)]
    pub events: bool,
}

/// Parses the command line and does what it says.
pub fn main() -> Result<Exit, Failure> {
    let parsed = help::command().try_get_matches();
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => return Ok(misread(&error)),
    };
    let place = WorkspacePath::new(cli.dir);
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
        Verb::Runs(verb) => runs::run(&verb, &place),
        Verb::Schedules(verb) => schedules::run(verb, &place),
        Verb::Inbox(verb) => inbox::run(&verb, &place),
        Verb::Cancel(verb) => cancel::run(verb, &place),
        Verb::Undo(verb) => undo::run(verb, &place),
        Verb::Resume(verb) => resume::run(&verb, &place),
        Verb::Trace(verb) => trace::run(&verb, &place),
        Verb::Why(verb) => why::run(&verb, &place),
        Verb::Evidence(verb) => evidence::run(&verb, &place),
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
