//! `diff`: what changed from one revision of a run's plan to another, or between two files.
//!
//! Owns the choice of the two plans and the look of the difference; what grew is judged in
//! `provost-plan`. INVARIANT: what reaches further stands first.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use provost_engine::run::event::Event;
use provost_engine::run::state::State;
use provost_engine::workspace::Workspace;
use provost_plan::approve::Delta;
use provost_plan::check::budget::WorstCase;
use provost_plan::check::{
    CheckedPlan, Draft, Origin, PlanRecord, RevisionBase, Terms, check as check_plan,
};
use provost_plan::label::Label;
use provost_plan::plan::read::plan_from_value;
use provost_plan::plan::{Goal, Plan};
use provost_plan::reach::{CheckedUnder, Reach, ReachDiff, approvals};
use serde_json::{Map, Value, json};

use super::check::{judge, refused};
use super::target::Target;
use crate::document::Document;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::delta::{self, CountDelta};
use crate::screen::page::Page;
use crate::workspace_path::WorkspacePath;

/// Arguments of `diff`.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// run id, or a plan file
    #[arg(value_name = "RUN|FILE")]
    first: String,
    /// two revisions [default: the last two], or the other plan file
    #[arg(value_name = "REV|FILE", num_args = 0..=2)]
    rest: Vec<String>,
    /// print one JSON object
    #[arg(long)]
    json: bool,
}

/// One of the two plans.
struct DiffSide {
    /// What it is called.
    name: String,
    plan: CheckedPlan,
    goal: Goal,
    worst: WorstCase,
}

impl DiffSide {
    fn checkup<'a>(&'a self, workspace: &'a Workspace) -> CheckedUnder<'a> {
        CheckedUnder {
            plan: &self.plan,
            catalog: workspace.catalog(),
            goal: &self.goal,
            worst: &self.worst,
        }
    }
}

/// Two plans, and what changed from one to the other.
struct PlanDiff {
    before: DiffSide,
    after: DiffSide,
    delta: Delta,
    /// The run whose revisions they are.
    run: Option<String>,
    /// Why it was revised.
    because: Option<String>,
}

/// Does it.
pub fn run(verb: &DiffArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    let file = |word: &String| {
        let path = PathBuf::from(word);
        path.exists().then_some(path)
    };
    if let ([other], Some(first)) = (verb.rest.as_slice(), file(&verb.first))
        && let Some(other) = file(other)
    {
        let workspace = place.workspace()?;
        let before = of_file(&workspace, &first)?;
        let after = of_file(&workspace, &other)?;
        return Ok(show(
            verb,
            &workspace,
            &PlanDiff {
                delta: approvals(&before.plan, &after.plan),
                before,
                after,
                run: None,
                because: None,
            },
        ));
    }
    let revisions = numbers(verb)?;
    let engine = place.to_read()?;
    let target: Target = verb.first.parse().unwrap_or_else(|never| match never {});
    let record = target.read(&engine)?;
    let run = RevisedRun {
        state: record.run.state(),
        events: &record.events,
    };
    let plans = revisions_of(run);
    let (from, to) = chosen(&revisions, &plans, run)?;
    let workspace = engine.workspace();
    let diff = between(workspace, run, &plans, (from, to))?;
    Ok(show(verb, workspace, &diff))
}

/// A run as it was read, whose revisions are compared.
#[derive(Clone, Copy)]
pub struct RevisedRun<'r> {
    /// Its state.
    pub state: &'r State,
    /// Its events, with the moments they were recorded at.
    pub events: &'r [(Event, i64)],
}

/// What changed from one revision of a run's plan to another, as JSON.
pub fn of_revisions(
    workspace: &Workspace,
    run: RevisedRun<'_>,
    [from, to]: [u32; 2],
) -> Result<Value, Failure> {
    let diff = between(workspace, run, &revisions_of(run), (from, to))?;
    Ok(PlanGrowth::of(workspace, &diff).to_json(&diff))
}

fn between(
    workspace: &Workspace,
    run: RevisedRun<'_>,
    plans: &Revisions,
    (from, to): (u32, u32),
) -> Result<PlanDiff, Failure> {
    Ok(PlanDiff {
        before: of_run(workspace, run, plans, from)?,
        after: of_run(workspace, run, plans, to)?,
        delta: revised(run, from, to),
        run: Some(run.state.head.run.clone()),
        because: because(run, to),
    })
}

/// The revisions that were typed.
fn numbers(verb: &DiffArgs) -> Result<Vec<u32>, Failure> {
    let number = |word: &String| {
        word.parse().map_err(|_| {
            Failure::usage(format!("`{word}` is neither a revision nor a file"))
                .hint("type `provost diff RUN 1 2` or `provost diff FILE FILE`")
        })
    };
    verb.rest.iter().map(number).collect()
}

fn of_file(workspace: &Workspace, path: &Path) -> Result<DiffSide, Failure> {
    let judged = judge(workspace, Document::read(path)?);
    let failure = refused(&judged);
    match (judged.plan, judged.worst) {
        (Some(plan), Some(worst)) => Ok(DiffSide {
            name: path.display().to_string(),
            plan,
            goal: judged.goal,
            worst,
        }),
        _ => Err(failure),
    }
}

type Revisions = BTreeMap<u32, (Arc<Value>, Arc<PlanRecord>)>;

/// The documents of all revisions, with what was recorded of their check.
fn revisions_of(run: RevisedRun<'_>) -> Revisions {
    let checked = run.events.iter().filter_map(|(event, _)| match event {
        Event::PlanChecked {
            document, record, ..
        } => Some((record.revision, (document.clone(), record.clone()))),
        _ => None,
    });
    checked.collect()
}

fn of_run(
    workspace: &Workspace,
    run: RevisedRun<'_>,
    plans: &Revisions,
    revision: u32,
) -> Result<DiffSide, Failure> {
    let state = run.state;
    let (document, kept) = plans.get(&revision).ok_or_else(|| {
        let known: Vec<String> = plans.keys().map(u32::to_string).collect();
        Failure::usage(format!(
            "run `{}` has no revision {revision}",
            state.head.run
        ))
        .hint(format!("its revisions are {}", known.join(", ")))
    })?;
    let unreadable = || {
        Failure::failed(format!("revision {revision} is not what was recorded"))
            .hint("check the journal: it was changed, or written by another version")
    };
    let name = format!("revision {revision}");
    let plan = plan_from_value(document, &name).map_err(|_| unreadable())?;
    // Why: the worst case is not in the journal; everything else is as it was recorded.
    let worst = worst_case(workspace, state, plan.clone());
    let plan = CheckedPlan::from_journal(plan, kept.clone()).map_err(|_| unreadable())?;
    Ok(DiffSide {
        name,
        plan,
        goal: state.goals.goal.clone(),
        worst,
    })
}

/// The most that a plan of a run can take, under the terms of the run.
pub fn worst_case(workspace: &Workspace, state: &State, plan: Plan) -> WorstCase {
    let terms = Terms {
        catalog: workspace.catalog().clone(),
        policy: workspace.policy().clone(),
        principal: state.head.principal.clone(),
        limits: state.head.limits.clone(),
        goal: state.goals.goal.clone(),
    };
    let origin = Origin {
        author: state.head.run.to_string(),
        literals: Label::trusted(),
        control: Label::trusted(),
    };
    let draft = Draft {
        plan: plan.into(),
        origin,
    };
    check_plan(draft, &terms, &RevisionBase::default()).worst
}

/// How much further the later of two plans reaches.
struct PlanGrowth {
    lines: (String, String),
    growth: ReachDiff,
    change: CountDelta,
}

impl PlanGrowth {
    fn of(workspace: &Workspace, diff: &PlanDiff) -> Self {
        let (before, after) = (&diff.before, &diff.after);
        let from = Reach::of(&before.checkup(workspace));
        let to = Reach::of(&after.checkup(workspace));
        Self {
            lines: (from.line(), to.line()),
            growth: ReachDiff::between(&from, &to),
            change: CountDelta::between(&before.plan.plan().value, &after.plan.plan().value),
        }
    }

    fn to_json(&self, diff: &PlanDiff) -> Value {
        let PlanDiff {
            before,
            after,
            delta,
            run,
            ..
        } = diff;
        let mut map = Map::new();
        let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
        put("schema", json!("provost/diff/v1"));
        if let Some(run) = run {
            put("run", json!(run));
        }
        put("from", json!(before.plan.record().revision));
        put("to", json!(after.plan.record().revision));
        put("names", json!([before.name, after.name]));
        put("line", json!({ "from": self.lines.0, "to": self.lines.1 }));
        put("reach", json!(self.growth));
        put(
            "approvals",
            json!({ "retained": delta.retain, "replaced": delta.replace,
                    "cleared": delta.clear }),
        );
        map.extend(self.change.to_json());
        Value::Object(map)
    }
}

fn show(verb: &DiffArgs, workspace: &Workspace, diff: &PlanDiff) -> Exit {
    let grown = PlanGrowth::of(workspace, diff);
    if verb.json {
        output::json(&grown.to_json(diff));
        return Exit::Done;
    }
    let mut page = Page::new();
    page.strong(&format!("{} to {}", diff.before.name, diff.after.name));
    if let Some(because) = &diff.because {
        page.text(&format!(": {because}"));
    }
    page.end();
    if !grown.growth.is_empty() {
        delta::reaches(&mut page, &grown.lines.0, &grown.lines.1, output::width());
    }
    delta::growth(&mut page, &grown.growth);
    delta::approvals(&mut page, &diff.delta);
    delta::change(&mut page, &grown.change);
    output::data(&page.finish());
    Exit::Done
}

/// What became of approvals on the way from one revision to another, as recorded.
fn revised(run: RevisedRun<'_>, from: u32, to: u32) -> Delta {
    let mut revision = 1;
    let mut sum = Delta::default();
    for (event, _) in run.events {
        match event {
            Event::PlanRevised { revision: next, .. } => revision = *next,
            Event::ApprovalsRevised {
                retain,
                replace,
                clear,
            } if revision > from && revision <= to => {
                sum.retain.retain(|id| retain.contains(id));
                for (all, more) in [
                    (&mut sum.retain, retain),
                    (&mut sum.replace, replace),
                    (&mut sum.clear, clear),
                ] {
                    all.extend(
                        more.iter()
                            .filter(|id| !all.contains(id))
                            .cloned()
                            .collect::<Vec<_>>(),
                    );
                }
            }
            _ => {}
        }
    }
    sum
}

fn chosen(
    revisions: &[u32],
    plans: &Revisions,
    run: RevisedRun<'_>,
) -> Result<(u32, u32), Failure> {
    let last = plans.keys().next_back().copied().unwrap_or(0);
    match revisions {
        [from, to] => Ok((*from, *to)),
        [from] => Ok((*from, last)),
        _ if last > 1 => Ok((last - 1, last)),
        _ => {
            let run = &run.state.head.run;
            let message = match last {
                0 => format!("run `{run}` has no plan"),
                _ => format!("the plan of run `{run}` was not revised"),
            };
            Err(Failure::usage(message).hint(format!("`provost show {run}` shows it")))
        }
    }
}

fn because(run: RevisedRun<'_>, to: u32) -> Option<String> {
    run.events.iter().find_map(|(event, _)| match event {
        Event::PlanRevised {
            revision, because, ..
        } if *revision == to => because.clone(),
        _ => None,
    })
}
