//! One repeat of a case: a scratch copy, a double, a run driven to where it stops, the graders.
//!
//! Owns their order, and what is not judged. INVARIANT: a repeat shares nothing with another: its
//! workspace, its journal and the state of its double are its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use provost_plan::expr::{Scope, Template};
use provost_run::event::Event;
use provost_tools::{Doubles, Rehearsal};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::case::calls;
use super::double::{Double, free_port};
use super::kept::LEDGER_FILE;
use super::people::{Said, speak};
use super::report::{GraderResult, JudgedBy, Outcome, RepeatReport, WhyReport};
use super::scope::Facts;
use super::scratch::{self, Settings};
use super::set::{Case, PlannerEntry, World};
use crate::engine::Engine;
use crate::history::History;
use crate::proposal::{planner_first, route};
use crate::session::{DriveEnd, Session, Unwatched};
use crate::workspace::{LockUse, Opening, Workspace, WorkspaceError};

/// What a repeat is of.
pub(super) struct Repeat<'a> {
    pub(super) case: &'a Case,
    pub(super) planner: Option<&'a PlannerEntry>,
    /// The folder of the set.
    pub(super) set_dir: &'a Path,
    /// The folder of this repeat.
    pub(super) dir: PathBuf,
    pub(super) n: u64,
    pub(super) user: &'a str,
}

/// Why a repeat has no facts.
pub(super) enum Unjudged {
    /// Nobody can say whether it would have passed.
    NotJudged(String),
    /// It took too long.
    Late(String),
}

impl From<String> for Unjudged {
    fn from(reason: String) -> Self {
        Self::NotJudged(reason)
    }
}

/// What ran.
struct Ran {
    engine: Engine,
    run: String,
    ledger: Option<Value>,
}

impl Repeat<'_> {
    /// Runs and grades it. `shown` is its folder as the report names it.
    pub(super) async fn judge(&self, shown: String) -> RepeatReport {
        let mut report = RepeatReport::of(self.n, shown);
        let graded = self.run(&mut report).await;
        conclude(self.case, graded, &mut report);
        report
    }

    async fn run(&self, report: &mut RepeatReport) -> Result<Vec<GraderResult>, Unjudged> {
        let ran = self.drive(report).await?;
        let history = History::read(ran.engine.store(), &ran.run)
            .map_err(|error| Unjudged::NotJudged(error.to_string()))?;
        grade(self.case, &history, ran.ledger, report)
    }

    async fn drive(&self, report: &mut RepeatReport) -> Result<Ran, Unjudged> {
        let io = |error: std::io::Error| format!("{}: {error}", self.dir.display());
        let state_dir = self.dir.join("state");
        std::fs::create_dir_all(&state_dir).map_err(io)?;
        // Why a folder of its own: what the double keeps is no file of the workspace.
        let root = self.dir.join("workspace");
        std::fs::create_dir_all(&root).map_err(io)?;
        scratch::copy(&self.case.workspace, &root)?;
        let port = free_port().await.map_err(io)?;
        let places = json!({
            "port": port,
            "set": self.set_dir.to_string_lossy(),
            "state": state_dir.to_string_lossy(),
        });
        let fill = |template: &Template| fill(template, &places);
        let world = &self.case.world;
        let argv = world.double.iter().map(fill);
        let argv: Vec<String> = argv.collect::<Result<_, _>>()?;
        let urls = world.tools.iter();
        let urls = urls.map(|(tool, url)| Ok((tool.clone(), fill(url)?)));
        let urls: Vec<(String, String)> = urls.collect::<Result<_, String>>()?;
        let settings = Settings {
            doubles: &urls,
            live: world.live,
            planner: self.planner,
            command: self.command(&places)?,
        };
        let secrets = scratch::configure(&root, &settings)?;
        let double = match argv.as_slice() {
            [] => None,
            argv => Some(Double::start(argv, self.set_dir, port).await?),
        };
        let doubles = urls.into_iter().map(|(tool, _)| (tool, port)).collect();
        let ran = self.drive_over(&root, &doubles, double, report).await;
        // Why: the copy stays beside the report, which somebody may pass on.
        for secret in secrets {
            scratch::take_out(&secret)?;
        }
        ran
    }

    /// The words of the planner's command, with the places of this repeat filled in.
    fn command(&self, places: &Value) -> Result<Option<Vec<String>>, String> {
        let command = self.planner.and_then(|one| one.settings.get("command"));
        let Some(Value::Array(words)) = command else {
            return Ok(None);
        };
        let words = words.iter().filter_map(Value::as_str).map(|word| {
            let template = Template::parse(word, Default::default(), word);
            fill(
                &template.map_err(|finding| finding.message.clone())?,
                places,
            )
        });
        words.collect::<Result<_, String>>().map(Some)
    }

    async fn drive_over(
        &self,
        root: &Path,
        doubles: &Doubles,
        double: Option<Double>,
        report: &mut RepeatReport,
    ) -> Result<Ran, Unjudged> {
        let opening = Opening {
            user: self.user,
            lock: LockUse::Hold,
        };
        let workspace = Workspace::open(root, &opening).map_err(|error| in_words(&error))?;
        self.case.refuse_unknown(workspace.catalog())?;
        let faults = self.case.faults.clone();
        let tools = workspace.tools().to_vec();
        let world = &self.case.world;
        let rehearsal = match &world.recorded {
            Some(calls) => Ok(Rehearsal::replay(calls::read(calls)?, faults)),
            None if world.live => Rehearsal::read_only(root, tools, faults),
            None => Rehearsal::open(root, tools, doubles, faults),
        };
        let rehearsal = Arc::new(rehearsal.map_err(|error| error.to_string())?);
        let (goal, mode) = (&self.case.goal, self.case.mode);
        let first = self.planner.is_some_and(|planner| planner.first);
        let routed = match first {
            true => planner_first(&workspace, goal, mode),
            false => route(&workspace, goal, mode),
        };
        let new = routed
            .map_err(|error| error.to_string())?
            .into_run(workspace.ask(), true);
        let engine = Engine::open_rehearsal(workspace, Arc::clone(&rehearsal));
        let engine = engine.map_err(|error| error.to_string())?;
        let begun = engine.begin(new, &mut Unwatched).await;
        let mut session = begun.map_err(|error| error.to_string())?;
        let run = session.state().head.run.clone();
        report.run = Some(run.clone());
        let driven = self.to_its_end(&engine, &mut session);
        let driven = tokio::time::timeout(self.case.timeout, driven).await;
        let released = session.release().await;
        released.map_err(|error| error.to_string())?;
        let stored = engine.store().load(&run);
        let stored = stored.map_err(|error| error.to_string())?;
        report.head = stored.last().map(|event| event.link);
        if let Some(reason) = missed(&rehearsal, world) {
            return Err(Unjudged::NotJudged(reason));
        }
        match driven {
            Ok(driven) => driven?,
            Err(_) => {
                let most = provost_plan::duration::print(self.case.timeout);
                return Err(Unjudged::Late(format!("it did not end within {most}")));
            }
        }
        let ledger = match (&double, &self.case.world.ledger) {
            (Some(double), Some(path)) => Some(double.ledger(path).await?),
            _ => None,
        };
        if let Some(ledger) = &ledger {
            // Why without secrets: it stays beside the report, as the journal does.
            let shown = engine.workspace().redactor().redact_value(ledger.clone());
            let kept = std::fs::write(self.dir.join(LEDGER_FILE), shown.to_string());
            kept.map_err(|error| format!("{}: {error}", self.dir.display()))?;
        }
        Ok(Ran {
            engine,
            run,
            ledger,
        })
    }

    /// Drives the run, with its people, until it ends or nobody says anything more.
    async fn to_its_end(&self, engine: &Engine, session: &mut Session) -> Result<(), String> {
        let (_halt, mut halted) = watch::channel(false);
        loop {
            let end = session.drive(&mut Unwatched, &mut halted).await;
            match end.map_err(|error| error.to_string())? {
                DriveEnd::Waiting | DriveEnd::InDoubt => {
                    let said = speak(&self.case.people, engine, session).await?;
                    if said == Said::Nothing {
                        return Ok(());
                    }
                }
                DriveEnd::Ended(_)
                | DriveEnd::Paused
                | DriveEnd::Until(_)
                | DriveEnd::Halted
                | DriveEnd::Superseded => {
                    return Ok(());
                }
            }
        }
    }
}

/// Grades a run by its journal and what the ledger of its double says.
pub(super) fn grade(
    case: &Case,
    history: &History,
    ledger: Option<Value>,
    report: &mut RepeatReport,
) -> Result<Vec<GraderResult>, Unjudged> {
    let facts = Facts::of(&history.events, &history.state, ledger);
    report.why = Some(WhyReport {
        guilty: facts.why.guilty.word().to_owned(),
        sentence: facts.why.sentence.clone(),
    });
    report.metrics = Some(facts.metrics.clone());
    match planner_absent(&history.events) {
        Some(reason) => Err(Unjudged::NotJudged(reason)),
        None => Ok(case.expect.grade(&facts)),
    }
}

/// Puts into the report of a repeat what came of it.
pub(super) fn conclude(
    case: &Case,
    graded: Result<Vec<GraderResult>, Unjudged>,
    report: &mut RepeatReport,
) {
    // Of a case that is known to fail, a fail is what is expected.
    let outcome = |held: bool| match held != case.red {
        true => Outcome::Pass,
        false => Outcome::Fail,
    };
    match graded {
        Ok(graders) => {
            let held = graders.iter().all(|grader| grader.held);
            report.graders = graders;
            report.outcome = outcome(held);
            if held && case.red {
                let reason = "it is marked `red`, and passes: take the mark away";
                report.reason = Some(reason.to_owned());
            }
        }
        Err(Unjudged::NotJudged(reason)) => report.reason = Some(reason),
        Err(Unjudged::Late(reason)) => {
            report.outcome = outcome(false);
            (report.by, report.reason) = (JudgedBy::Time, Some(reason));
        }
    }
}

/// The first call that nothing answered, in words; none if all were.
fn missed(rehearsal: &Rehearsal, world: &World) -> Option<String> {
    let missed = rehearsal.missed();
    let first = missed.first()?;
    let what_to_do = match world.recorded {
        Some(_) => "; a case that is to judge other calls needs a `workspace` and a double",
        None => "",
    };
    let (operation, why) = (&first.operation, &first.reason);
    Some(format!("a miss: `{operation}`, {why}{what_to_do}"))
}

/// A text of the set with the places of a repeat filled in.
fn fill(template: &Template, places: &Value) -> Result<String, String> {
    let mut scope = Scope::new();
    for name in ["port", "set", "state"] {
        scope = scope.with(name, places.get(name).unwrap_or(&Value::Null));
    }
    match template.eval(&scope).map_err(|error| error.to_string())? {
        Value::String(text) => Ok(text),
        other => Ok(other.to_string()),
    }
}

/// Why nobody could be asked for a plan, if that is how the run went: then its planner is not
/// judged.
fn planner_absent(events: &[(Event, i64)]) -> Option<String> {
    let proposed = events.iter().any(|(event, _)| {
        matches!(
            event,
            Event::PlanProposed { .. } | Event::PlanChecked { .. }
        )
    });
    if proposed {
        return None;
    }
    events.iter().find_map(|(event, _)| match event {
        Event::PlanGivenUp { reason, .. } => Some(format!("no plan was proposed: {reason}")),
        _ => None,
    })
}

fn in_words(error: &WorkspaceError) -> String {
    let findings = error.findings().iter().flat_map(|one| &one.diagnostics);
    let first = findings.map(|finding| finding.message.as_str()).next();
    match first {
        Some(first) => format!("{error}: {first}"),
        None => error.to_string(),
    }
}
