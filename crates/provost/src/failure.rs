//! How a verb ends: the exit codes, and what is said when it does not do what was asked.
//!
//! Owns the shape `error: …`, an empty line, `hint: …`. INVARIANT: a message is escaped where it
//! is shown, so a failure may quote whatever it likes.

use provost_engine::audit::AuditError;
use provost_engine::engine::EngineError;
use provost_engine::people::{InvalidEvent, StatementError};
use provost_engine::proposal::{ProposeError, Refused, RouteError};
use provost_engine::run::event::RunStatus;
use provost_engine::run::machine::StepError;
use provost_engine::session::DriveError;
use provost_engine::store::{FindError, StoreError};
use provost_engine::workspace::{Findings, LOCK_FILE, PlannerError, WorkspaceError};
use provost_plan::codes::Code;
use provost_plan::diagnostic::Diagnostic;
use provost_plan::plan::request::PlanningMode;
use provost_plan::policy::ActionDenied;
use provost_plan::render::{self, Style};
use provost_plan::source::Source;
use serde_json::{Value, json};

use crate::advice::{self, Advice as _};
use crate::log::{self, LogLevel, LogLine};
use crate::output;
use crate::screen::page::Page;
use crate::screen::words::run_is;

/// The exit code of a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The run succeeded, or the verb did what was asked.
    Done,
    /// The run did not succeed, or a checked file has errors.
    Failed,
    /// The command or the workspace is wrong.
    Usage,
    /// The run waits for a person or was halted.
    Waiting,
    /// The run is in doubt.
    InDoubt,
    /// Nothing failed, and something of an eval was not judged.
    NotJudged,
}

impl Exit {
    /// The number.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Waiting | Self::NotJudged => 3,
            Self::InDoubt => 4,
        }
    }

    /// The exit of a verb that drove a run to this status.
    pub fn of(status: RunStatus) -> Self {
        match status {
            RunStatus::Succeeded | RunStatus::Undone => Self::Done,
            RunStatus::Failed
            | RunStatus::Rejected
            | RunStatus::Expired
            | RunStatus::Refused
            | RunStatus::Cancelled
            | RunStatus::PartlyUndone
            | RunStatus::UndoFailed => Self::Failed,
            RunStatus::Planning
            | RunStatus::Running
            | RunStatus::Paused
            | RunStatus::WaitingApproval
            | RunStatus::WaitingAnswer => Self::Waiting,
            RunStatus::InDoubt => Self::InDoubt,
        }
    }
}

/// Why a verb did not do what was asked.
#[derive(Debug)]
pub struct Failure {
    exit: Exit,
    findings: String,
    /// The same findings, as JSON.
    found: Vec<Value>,
    message: String,
    hint: Option<String>,
}

impl Failure {
    /// The command or the workspace is wrong: exit 2.
    pub fn usage(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Usage,
            findings: String::new(),
            found: Vec::new(),
            message: message.into(),
            hint: None,
        }
    }

    /// What was asked for failed: exit 1.
    pub fn failed(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Failed,
            ..Self::usage(message)
        }
    }

    /// The same, with another exit code.
    #[must_use]
    pub fn with_exit(self, exit: Exit) -> Self {
        Self { exit, ..self }
    }

    /// Says what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says what to do, if there is something.
    #[must_use]
    pub fn maybe_hint(mut self, hint: Option<&str>) -> Self {
        self.hint = hint.map(str::to_owned);
        self
    }

    /// Shows findings in a text before the message.
    #[must_use]
    pub fn findings(mut self, source: &Source, diagnostics: &[Diagnostic]) -> Self {
        self.findings
            .push_str(&render::render(source, diagnostics, Style { color: true }));
        if let Value::Array(found) = render::to_json(source, diagnostics) {
            self.found.extend(found);
        }
        self
    }

    /// The exit code.
    pub fn exit(&self) -> Exit {
        self.exit
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do, if there is something.
    pub fn hint_text(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The one object of a command that did not do what was asked.
    pub fn to_json(&self) -> Value {
        let mut value = json!({
            "schema": "provost/error/v1",
            "error": self.message,
            "hint": self.hint,
            "exit": self.exit.code(),
        });
        if let (Some(map), Some(first)) = (value.as_object_mut(), self.found.first()) {
            if let Some(code) = first.get("code") {
                map.insert("code".to_owned(), code.clone());
            }
            map.insert("findings".to_owned(), json!(self.found));
        }
        value
    }

    /// Writes it to stderr.
    pub fn show(&self) {
        self.show_as("error");
    }

    /// Writes it to stderr under another word, where the verb goes on all the same.
    pub fn show_as(&self, word: &str) {
        if log::is_json() {
            let level = match word {
                "error" => LogLevel::Error,
                _ => LogLevel::Warn,
            };
            let mut line = LogLine::new(level, word, &self.message);
            if let Some(hint) = &self.hint {
                line = line.with("hint", hint.as_str());
            }
            if !self.found.is_empty() {
                line = line.with("findings", json!(self.found));
            }
            line.write();
            return;
        }
        let mut page = Page::new();
        page.drawn(&self.findings);
        page.bad(&format!("{word}: "));
        page.lines(&self.message, 0);
        if let Some(hint) = &self.hint {
            page.end();
            page.strong("hint: ");
            page.lines(hint, 0);
        }
        output::note(&page.finish());
    }
}

impl From<WorkspaceError> for Failure {
    fn from(error: WorkspaceError) -> Self {
        let mut failure = Self::usage(error.to_string()).maybe_hint(error.advice());
        let mut codes: Vec<&str> = Vec::new();
        for one in error.findings() {
            failure = failure.findings(&one.source, &one.diagnostics);
            codes.extend(one.diagnostics.iter().map(|finding| finding.code.as_str()));
        }
        let Some(code) = codes.first() else {
            return failure;
        };
        let more = format!("`provost explain {code}` tells more");
        let locks = |one: &Findings| &*one.source.name == LOCK_FILE;
        if codes.contains(&Code::Drift.as_str()) || error.findings().iter().any(locks) {
            return failure.hint(format!(
                "`provost tools diff` shows the change, `provost tools lock` accepts it; {more}"
            ));
        }
        failure.hint(more)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::usage(error.to_string()).maybe_hint(error.advice())
    }
}

impl From<FindError> for Failure {
    fn from(error: FindError) -> Self {
        Self::usage(error.to_string()).maybe_hint(error.advice())
    }
}

impl From<AuditError> for Failure {
    fn from(error: AuditError) -> Self {
        Self::usage(error.to_string()).maybe_hint(error.advice())
    }
}

/// Said where nobody knows what waits; where the card was open a moment before, what made it stale.
pub const NOTHING_OPEN: &str = "`provost inbox` lists what waits, with commands";

/// Said where nobody knows the card; where it is known, its approvers are named.
pub const OTHERS_MUST_ANSWER: &str = "another person must answer: `policies/` says who may";

impl From<StepError> for Failure {
    fn from(error: StepError) -> Self {
        let hint = match &error {
            StepError::Over { .. } => Some("`provost show RUN` tells how it ended"),
            StepError::Lapsed { .. } => {
                Some("`provost show RUN` says what followed without an answer")
            }
            StepError::NotOpen { .. } => Some(NOTHING_OPEN),
            StepError::NotAllowed { .. } => Some(OTHERS_MUST_ANSWER),
            StepError::Denied(ActionDenied::Stranger { .. }) => {
                Some("people are listed in policies/entities.json")
            }
            StepError::Denied(_) => Some(
                "another person must do it: `provost policy check` names the policies about it",
            ),
            StepError::NotOnCard { .. } => {
                Some("`provost inbox` shows the steps on the card; an item of a step is `STEP[0]`")
            }
            StepError::BadAnswer { .. } => Some("`provost inbox` shows what is asked for"),
            StepError::BadOutput { .. } => {
                Some("`provost tools show NAME` prints what its operation returns")
            }
            StepError::NotInDoubt { .. } => Some("`provost show RUN` lists what may have happened"),
            StepError::OtherAttempt { .. } => {
                Some("`provost inbox` shows what is in doubt now, with commands")
            }
            StepError::TooEarly { .. } => {
                Some("the tool is read then; `--happened` is accepted now")
            }
            StepError::NotPaused => Some("`provost show RUN` tells what it waits for"),
            StepError::NotEnded => Some("`provost cancel RUN --undo` ends and undoes it"),
            StepError::NothingToUndo { .. } => {
                Some("`provost show RUN` lists what happened, and what may have")
            }
            StepError::Replayed { .. } => Some("`provost show RUN` shows the result"),
            StepError::Amendment { .. }
            | StepError::NoRequest { .. }
            | StepError::NoAttempt { .. }
            | StepError::Laborious
            | StepError::Fold(_) => None,
        };
        let message = match &error {
            StepError::Over { status } => format!("the run is over: it {}", run_is(status)),
            StepError::Amendment { reason, findings } => {
                let lines = findings.iter().map(|found| {
                    let hint = found.hint.as_ref().map(|hint| format!(" ({hint})"));
                    let (code, hint) = (&found.code, hint.unwrap_or_default());
                    format!("\n  {code}: {}{hint}", found.message)
                });
                let lines: String = lines.collect();
                format!("the run cannot be amended: {reason}{lines}")
            }
            other => other.to_string(),
        };
        Self::usage(message).maybe_hint(hint)
    }
}

impl From<StatementError> for Failure {
    fn from(error: StatementError) -> Self {
        let hint = match &error {
            StatementError::Unvouched { .. } | StatementError::ForgedVoucher { .. } => {
                Some("say it on the page of `provost serve`, or sign it: `--key FILE`")
            }
            StatementError::Unsigned { .. } => Some("sign it: `--key FILE` names your key file"),
            StatementError::NoKey { .. } => {
                Some("`provost key new` makes one, and prints the line for policies/entities.json")
            }
            StatementError::OtherKey { .. } => Some("`--key FILE` names the key file to sign with"),
            StatementError::OtherStore | StatementError::OtherRun { .. } => {
                Some("`-C DIR` names the workspace that a statement is for")
            }
            StatementError::OtherRevision { .. } | StatementError::Lapsed { .. } => {
                Some("`provost inbox` shows what waits now")
            }
            StatementError::HoldsSecret => {
                Some("leave it out: a tool gets it by its entry in provost.toml")
            }
            StatementError::Malformed(_)
            | StatementError::Early { .. }
            | StatementError::TooLong { .. }
            | StatementError::Forged { .. } => None,
        };
        Self::usage(error.to_string()).maybe_hint(hint)
    }
}

impl From<DriveError> for Failure {
    fn from(error: DriveError) -> Self {
        match error {
            DriveError::Store(error) => Self {
                exit: Exit::Failed,
                ..Self::from(error)
            },
            DriveError::Step(error) => Self::from(error),
            DriveError::Seal(error) => Self::failed(error.to_string()),
            DriveError::Fold(error) => Self::failed(error.to_string()),
            DriveError::Statement(error) => Self::from(error),
        }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        let message = error.to_string();
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::Find(error) => error.into(),
            EngineError::Drive(error) => error.into(),
            EngineError::Audit(error) => error.into(),
            EngineError::Drifted { .. } => {
                let hint = "`provost tools diff` shows the change; `provost tools lock` accepts it";
                Self::usage(message).hint(hint)
            }
            EngineError::Unprepared { tool } => {
                Self::usage(message).hint(format!("`provost tools prepare {tool}` makes it"))
            }
            EngineError::Tools(_) | EngineError::Trouble { .. } => {
                Self::usage(message).hint("`provost doctor` looks at every tool")
            }
            EngineError::Journal { .. } => Self::usage(message)
                .hint("the journal was written by another version, or was changed from outside"),
            EngineError::InvalidEvent(_) => Self::usage(message).hint(InvalidEvent::HINT),
            EngineError::Held { .. } => {
                Self::usage(message).hint("wait until it ends, or end that process")
            }
            EngineError::SameGoal { run, status } => Self::usage(format!(
                "run `{run}` has the same goal and is not finished: it {}",
                run_is(&status)
            ))
            .hint(format!(
                "`provost show {run}` shows what it waits for, `provost resume {run}` \
                 continues it; `--again` starts another run"
            )),
            EngineError::Planner(error) => error.into(),
            EngineError::Random(_) => Self::usage(message),
        }
    }
}

impl From<RouteError> for Failure {
    fn from(error: RouteError) -> Self {
        let failure = Self::usage(error.to_string());
        match error {
            RouteError::Empty => failure.hint("say what you want, in quotes"),
            RouteError::NoPlanner(mode) => {
                let option = match mode {
                    Some(PlanningMode::Iterative) => "--mode iterative",
                    Some(PlanningMode::Single) | None => "--planner-first",
                };
                failure.hint(format!("name one there, or leave `{option}` out"))
            }
            RouteError::NoMatch(none) => failure.hint(advice::no_match(&none)),
        }
    }
}

impl From<ProposeError> for Failure {
    fn from(error: ProposeError) -> Self {
        match error {
            ProposeError::Engine(error) => error.into(),
            ProposeError::Refused(refused) => {
                let hint = match refused {
                    Refused::Unreadable(_) => {
                        Some("`provost doctor --model NAME` shows whether a model keeps the form")
                    }
                    Refused::Asks(_) => Some("say it in the goal, or let `provost run` ask"),
                    Refused::Declined(_) | Refused::Ended(_) => None,
                };
                Self::failed(refused.to_string()).maybe_hint(hint)
            }
        }
    }
}

impl From<PlannerError> for Failure {
    fn from(error: PlannerError) -> Self {
        let failure = Self::usage(error.to_string());
        match error {
            PlannerError::NoPlaybook { .. } => failure.hint("restore the playbook in `playbooks/`"),
            PlannerError::NoModel { .. } => {
                failure.hint("restore its table in provost.toml: `[models.NAME]`")
            }
            PlannerError::NoProgram { .. } => {
                failure.hint("restore it in provost.toml: `[planner]`, `kind = \"process\"`")
            }
            PlannerError::Client(_) => failure.hint("`provost doctor --model NAME` looks at it"),
        }
    }
}

impl Failure {
    /// Spells the commands in the hint for the workspace as it was typed.
    #[must_use]
    pub fn at(mut self, place: &crate::workspace_path::WorkspacePath) -> Self {
        self.hint = self.hint.map(|hint| {
            let parts: Vec<&str> = hint.split("`provost ").collect();
            match place.command("provost ") {
                command if parts.len() > 1 => parts.join(&format!("`{command}")),
                _ => hint,
            }
        });
        self
    }
}
