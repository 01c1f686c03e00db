//! `case`: a run that happened becomes a case that replays it.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use provost_engine::eval::{CaseError, CaseExpects, CaseRequest, Outcome, case_check, case_from};
use provost_engine::run::read::words::counted;
use serde_json::json;

use super::target::Target;
use crate::drive::waited_for;
use crate::eval_report::markdown;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::{Page, TextStyle};
use crate::user;
use crate::workspace_path::{WorkspacePath, quoted};

/// Arguments of `case`.
#[derive(Debug, Args)]
pub struct CaseArgs {
    #[command(subcommand)]
    verb: CaseVerb,
}

#[derive(Debug, Subcommand)]
enum CaseVerb {
    /// make a case from a run; it is replayed before it is kept
    From {
        /// run id, or a unique prefix
        #[arg(value_name = "RUN")]
        run: Target,
        /// folder to make [default: cases/RUN]
        #[arg(short, long, value_name = "DIR")]
        output: Option<PathBuf>,
        /// what it is to expect
        #[arg(long, value_enum, default_value = "was")]
        expect: Expected,
        /// replace people, mail addresses, long numbers and free text
        #[arg(long)]
        anonymize: bool,
    },
    /// replay a case
    Check {
        /// folder of the case
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// print one JSON object
        #[arg(long)]
        json: bool,
    },
}

/// What a case is to expect.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Expected {
    // What happened.
    Was,
    // That the run succeeds; red until it does.
    Fixed,
}

/// Does it.
pub fn run(verb: &CaseArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    match &verb.verb {
        CaseVerb::From {
            run,
            output,
            expect,
            anonymize,
        } => from(run, output.clone(), *expect, *anonymize, place),
        CaseVerb::Check { dir, json } => check(dir, *json),
    }
}

fn from(
    run: &Target,
    dir: Option<PathBuf>,
    expect: Expected,
    anonymize: bool,
    place: &WorkspacePath,
) -> Result<Exit, Failure> {
    let store = place.journal()?;
    let run = store.find(&run.run)?;
    let workspace = place.workspace()?;
    let dir = dir.unwrap_or_else(|| PathBuf::from("cases").join(&run));
    let user = user::user();
    let request = CaseRequest {
        run: &run,
        dir: &dir,
        expects: match expect {
            Expected::Was => CaseExpects::AsItWas,
            Expected::Fixed => CaseExpects::Fixed,
        },
        anonymize,
        user: &user,
    };
    let made = waited_for(case_from(&workspace, &store, request))??;
    let mut page = Page::new();
    page.put(TextStyle::Good, "made ")
        .strong(&made.dir.to_string_lossy())
        .line(&format!(
            ": {}; the replay has the same {}",
            counted(made.calls, "call"),
            counted(made.events, "event")
        ));
    if let Some(replaced) = made.replaced {
        page.line(&format!(
            "replaced: {} people, {} mail addresses, {} long numbers, {} texts, {} secrets; \
             read it before you pass it on",
            replaced.people, replaced.mails, replaced.numbers, replaced.texts, replaced.secrets
        ));
    }
    let shown = quoted(&made.dir.to_string_lossy());
    page.faint("correct `expect` in its case.yaml, then: ")
        .line(&format!("provost case check {shown}"));
    output::data(&page.finish());
    Ok(Exit::Done)
}

fn check(dir: &std::path::Path, json: bool) -> Result<Exit, Failure> {
    let user = user::user();
    let report = waited_for(case_check(dir, &user))??;
    if json {
        output::json(&json!({ "schema": "provost/case-check/v1", "repeat": report }));
    } else {
        let mut page = Page::new();
        let style = match report.outcome {
            Outcome::Pass => TextStyle::Good,
            Outcome::Fail => TextStyle::Bad,
            Outcome::NotJudged => TextStyle::Warn,
        };
        page.put(style, markdown::word(report.outcome));
        for grader in report.graders.iter().filter(|grader| !grader.held) {
            let fault = grader.fault.as_deref().unwrap_or_default();
            page.end().line(&format!("  {}: {fault}", grader.name));
        }
        if let Some(reason) = &report.reason {
            page.end().line(&format!("  {reason}"));
        }
        page.end();
        output::data(&page.finish());
    }
    Ok(match report.outcome {
        Outcome::Pass => Exit::Done,
        Outcome::Fail => Exit::Failed,
        Outcome::NotJudged => Exit::NotJudged,
    })
}

impl From<CaseError> for Failure {
    fn from(error: CaseError) -> Self {
        let message = error.to_string();
        match error {
            CaseError::Journal(error) => error.into(),
            CaseError::Set(error) => error.into(),
            CaseError::Secret(_) => Self::failed(message)
                .hint("a tool repeated a secret, or a file holds one: nothing was kept"),
            CaseError::Differs(_) => Self::failed(message)
                .hint("what the journal does not hold had a say in it: nothing was kept"),
            CaseError::ReplacedDiffers(_) => Self::failed(message).hint(
                "the rules look at a value that was replaced, so nothing was kept: make the case \
                 without `--anonymize`, and replace values by hand",
            ),
            CaseError::Remains(_) => {
                Self::failed(message).hint("it stands there in another form: nothing was kept")
            }
            CaseError::NotReplayable(_) => Self::failed(message),
            CaseError::NotComparable(_) => {
                Self::usage(message).hint("write under `expect` which calls were to change what")
            }
            CaseError::NotWritable(_) => Self::usage(message),
        }
    }
}
