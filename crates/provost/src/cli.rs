//! What is typed: the verbs with their arguments.
//!
//! Owns parsing and the choice of the verb. INVARIANT: a verb that is listed works.

use std::path::PathBuf;

use clap::error::{ContextKind, ErrorKind};
use clap::{ArgAction, ArgMatches, Args, CommandFactory as _, FromArgMatches, Parser, Subcommand};

use crate::failure::{Exit, Failure};
use crate::log::{self, LogForm};
use crate::output;
use crate::version::{self, VERSION};
use crate::workspace_path::WorkspacePath;

mod address;
mod amend;
mod answer;
mod apply;
mod approve;
mod audit;
mod backup;
mod cancel;
mod case;
pub mod check;
mod completions;
mod diff;
mod doctor;
mod eval;
mod evidence;
mod explain;
mod export;
mod help;
mod inbox;
mod init;
mod invite;
mod key;
mod lsp;
mod mcp;
mod pause;
mod plan;
mod policy;
mod prune;
mod record;
mod reject;
mod restore;
mod resume;
mod run;
pub mod runs;
mod schedules;
pub mod schema;
pub mod serve;
mod settle;
mod show;
mod statement;
mod stats;
mod target;
mod token;
mod tools;
mod trace;
mod undo;
mod undriven;
mod validity;
mod why;
mod work;

/// Executes only plans that your policy admits and, where it says so, a person approved.
#[derive(Debug, Parser)]
#[command(name = "provost", version = VERSION, max_term_width = 100)]
#[command(
    disable_help_flag = true,
    disable_version_flag = true,
    disable_help_subcommand = true
)]
struct Cli {
    /// workspace; files count from it [default: $PROVOST_DIR or the nearest provost.toml]
    // Why an id that no field can have: an argument of a verb with the same id would be `-C`.
    #[arg(id = "-C", short = 'C', global = true, value_name = "DIR", help_heading = help::GLOBAL)]
    dir: Option<PathBuf>,
    /// form of messages and progress on stderr, text or json [default: text]
    #[arg(id = "--log", long = "log", global = true, value_name = "FORM",
          hide_possible_values = true, help_heading = help::GLOBAL)]
    log: Option<LogForm>,
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
    /// serve an editor: findings, hover and completion
    Lsp(lsp::LspArgs),
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
    /// serve a page for people and an API for programs
    Serve(serve::ServeArgs),
    /// make a one-time link for a person to sign in with
    Invite(invite::InviteArgs),
    /// manage tokens of programs
    Token(token::TokenArgs),
    /// serve an MCP client that plans but cannot act
    Mcp(mcp::McpArgs),
    /// show the events of a run: planning and execution
    Trace(trace::TraceArgs),
    /// explain why a run ended: plan, execution or neither
    Why(why::WhyArgs),
    /// count how good planning and execution were
    Stats(stats::StatsArgs),
    /// judge planners by the cases of a set, over doubles
    Eval(eval::EvalArgs),
    /// make a case from a run, and replay it
    Case(case::CaseArgs),
    /// print the stored bytes that an answer or a card cites
    Evidence(evidence::EvidenceArgs),
    /// write runs in the form of another tool
    Export(export::ExportArgs),
    /// manage and call tools
    Tools(tools::ToolsArgs),
    /// check and test policies
    Policy(policy::PolicyArgs),
    /// verify the journal, export a run, sign its head
    Audit(audit::AuditArgs),
    /// delete old evidence or texts, keeping their digests
    Prune(prune::PruneArgs),
    /// copy the journal while runs continue
    Backup(backup::BackupArgs),
    /// create a signing key
    Key(key::KeyArgs),
    /// explain a finding code
    Explain(explain::ExplainArgs),
    /// check the workspace setup
    Doctor(doctor::DoctorArgs),
    /// put a copy of the journal in its place
    Restore(restore::RestoreArgs),
    /// print the JSON Schema of a plan, or of what `--json` prints
    Schema(schema::SchemaArgs),
    /// print completions for a shell
    Completions(completions::CompletionsArgs),
    /// write manual pages
    #[command(hide = true)]
    Man(completions::ManArgs),
    /// show the help of a command
    Help(help::HelpArgs),
}

impl Verb {
    /// Whether its own `--json` is about the log.
    fn logs_json(&self) -> bool {
        match self {
            Self::Work(verb) => verb.logs_json(),
            Self::Serve(verb) => verb.json,
            _ => false,
        }
    }
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

/// Parses the command line and does what it says. Where `--json` was typed, a failure is one
/// object on stdout too.
pub fn main() -> Exit {
    if typed_log_json() {
        log::use_json();
    }
    // Why twice: its help takes longer to make than the rest of the command line, and is shown only
    // to who asks for it or mistypes something.
    let parsed = Cli::command().try_get_matches();
    let matches = match parsed.or_else(|_| help::command().try_get_matches()) {
        Ok(matches) => matches,
        Err(error) => return misread(&error),
    };
    let is_json = asks_for_json(&matches);
    let done = match Cli::from_arg_matches(&matches) {
        Ok(cli) => run(cli, &verb_of(&matches)),
        Err(error) => return misread(&error),
    };
    done.unwrap_or_else(|failure| {
        failure.show();
        if is_json {
            output::json(&failure.to_json());
        }
        failure.exit()
    })
}

fn run(cli: Cli, verb: &str) -> Result<Exit, Failure> {
    let place = WorkspacePath::new(cli.dir);
    if cli.log == Some(LogForm::Json) || cli.verb.logs_json() {
        log::use_json();
    }
    place.enter()?;
    log::begin(verb, &place);
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
        Verb::Export(verb) => export::run(&verb, &place),
        Verb::Work(verb) => work::run(verb, &place),
        Verb::Serve(verb) => serve::run(verb, &place),
        Verb::Invite(verb) => invite::run(&verb, &place),
        Verb::Token(verb) => token::run(&verb, &place),
        Verb::Mcp(verb) => mcp::run(verb, &place),
        Verb::Lsp(verb) => lsp::run(&verb, &place),
        Verb::Stats(verb) => stats::run(verb, &place),
        Verb::Eval(verb) => eval::run(&verb, &place),
        Verb::Case(verb) => case::run(&verb, &place),
        Verb::Tools(verb) => tools::run(verb, &place),
        Verb::Policy(verb) => policy::run(&verb, &place),
        Verb::Audit(verb) => audit::run(verb, &place),
        Verb::Prune(verb) => prune::run(verb, &place),
        Verb::Backup(verb) => backup::run(&verb, &place),
        Verb::Key(verb) => key::run(verb, &place),
        Verb::Explain(verb) => explain::run(&verb),
        Verb::Doctor(verb) => doctor::run(&verb, &place),
        Verb::Restore(verb) => restore::run(&verb, &place),
        Verb::Schema(verb) => schema::run(&verb),
        Verb::Completions(verb) => Ok(completions::run(verb)),
        Verb::Man(verb) => completions::man(&verb),
        Verb::Help(verb) => help::run(&verb),
    };
    done.map_err(|failure| failure.at(&place))
}

/// Whether the output is to be JSON, of whichever command.
fn asks_for_json(matches: &ArgMatches) -> bool {
    let flag = matches.try_get_one::<bool>("json").ok().flatten();
    let format = matches.try_get_raw("format").ok().flatten();
    flag == Some(&true)
        || format.is_some_and(|mut typed| typed.any(|typed| typed == "json"))
        || matches
            .subcommand()
            .is_some_and(|(_, below)| asks_for_json(below))
}

/// The same of a command line that could not be parsed, or was not parsed yet.
pub fn typed_json() -> bool {
    let typed = typed_options();
    let is_format = |pair: &[String]| *pair == ["--format", "json"];
    let is_json = |word: &String| word == "--json" || word == "--format=json";
    typed.iter().any(is_json) || typed.windows(2).any(is_format)
}

/// Whether a log of JSON is asked for, of a command line that was not parsed yet.
fn typed_log_json() -> bool {
    let typed = typed_options();
    let is_log = |pair: &[String]| *pair == ["--log", "json"];
    typed.iter().any(|word| word == "--log=json") || typed.windows(2).any(is_log)
}

/// The words of the command line before `--`.
fn typed_options() -> Vec<String> {
    let typed = std::env::args_os().skip(1);
    let typed = typed.map(|word| word.to_string_lossy().into_owned());
    typed.take_while(|word| word != "--").collect()
}

/// The words of the command, such as `tools list`.
fn verb_of(matches: &ArgMatches) -> String {
    let mut words = Vec::new();
    let mut at = matches;
    while let Some((name, below)) = at.subcommand() {
        words.push(name);
        at = below;
    }
    words.join(" ")
}

/// Help and versions are data; what cannot be parsed is a message.
fn misread(error: &clap::Error) -> Exit {
    let text = error.render().ansi().to_string();
    match error.kind() {
        ErrorKind::DisplayVersion if typed_json() => {
            output::json(&version::to_json());
            Exit::Done
        }
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            output::data(&text);
            Exit::Done
        }
        _ => {
            let failure = unparsed(&error.render().to_string());
            let quoted = unquoted(error).and_then(|goal| in_quotes(&goal));
            let failure = match &quoted {
                Some(hint) => {
                    let failure = failure.hint(hint);
                    failure.show();
                    failure
                }
                None if log::is_json() => {
                    failure.show();
                    failure
                }
                None => {
                    output::note(&text);
                    failure
                }
            };
            if typed_json() {
                output::json(&failure.to_json());
            }
            Exit::Usage
        }
    }
}

/// The word after a goal that stands in no quotes.
fn unquoted(error: &clap::Error) -> Option<String> {
    let found = error.get(ContextKind::InvalidArg)?.to_string();
    let is_word = error.kind() == ErrorKind::UnknownArgument && !found.starts_with('-');
    is_word.then_some(found)
}

/// The command with its goal in quotes, if one was typed without.
fn in_quotes(word: &str) -> Option<String> {
    let typed: Vec<String> = std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let verb = typed
        .iter()
        .position(|word| word == "run" || word == "plan")?;
    let words = typed.get(verb + 1..)?;
    let is_word = |word: &&String| !word.starts_with('-');
    let goal: Vec<&str> = words
        .iter()
        .take_while(is_word)
        .map(String::as_str)
        .collect();
    let is_meant = goal.len() > 1 && goal.contains(&word);
    let verb = typed.get(verb)?;
    is_meant.then(|| {
        let goal = goal.join(" ");
        format!("a goal is one argument; put it in quotes: provost {verb} \"{goal}\"")
    })
}

/// The failure of a command line, from its message: a paragraph, then a tip and the usage.
fn unparsed(text: &str) -> Failure {
    let mut paragraphs = text.split("\n\n").map(|paragraph| {
        let words: Vec<&str> = paragraph.split_whitespace().collect();
        words.join(" ")
    });
    let message = paragraphs.next().unwrap_or_default();
    let message = message.strip_prefix("error: ").unwrap_or(&message);
    let rest: Vec<String> = paragraphs.collect();
    let of = |start: &str| {
        rest.iter()
            .find_map(|one| Some(one.strip_prefix(start)?.to_owned()))
    };
    let hint = of("tip: ").or_else(|| Some(format!("usage: {}", of("Usage: ")?)));
    Failure::usage(message).maybe_hint(hint.as_deref())
}
