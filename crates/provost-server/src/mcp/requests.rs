//! What a client asks for, as data in and data out.
//!
//! Owns the five requests. Speaks no protocol. INVARIANT: what is shown of a run is what every
//! planner is shown; no digest that an approval needs is among it.

use std::sync::Arc;

use provost_engine::engine::{Engine, EngineError, NewRun, OnBehalf};
use provost_engine::history;
use provost_engine::proposal::{CheckedFile, of_client};
use provost_engine::run::event::PlannerChoice;
use provost_engine::run::state::{Waiting, waiting};
use provost_engine::store::{RunFilter, RunPage, RunRow};
use provost_plan::catalog::Operation;
use provost_plan::plan::ranking;
use provost_plan::plan::request::{RoleView, ToolSignature};
use provost_plan::policy::{Principal, RunAction};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use crate::app::FindingsJson;
use crate::door::Viewer;
use crate::drive::Beginner;
use crate::may::{self, RequesterScope, Verdicts};
use crate::problem::Problem;

/// Arguments of `list_tools`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListTools {
    #[serde(default)]
    query: String,
    #[serde(default)]
    after: String,
    #[serde(default = "tools_shown")]
    limit: usize,
}

/// Arguments of `check_plan`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    plan: Value,
}

/// Arguments of `submit_plan`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Submit {
    plan: Value,
    #[serde(default)]
    again: bool,
    /// How long the answer may take.
    #[serde(default)]
    pub wait_seconds: u64,
}

/// Arguments of `run_status`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Status {
    /// The run's id, or its first characters.
    pub run: String,
    /// How long the answer may take.
    #[serde(default)]
    pub wait_seconds: u64,
}

/// Arguments of `list_runs`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListRuns {
    #[serde(default)]
    unfinished: bool,
    #[serde(default = "runs_shown")]
    limit: u32,
}

fn tools_shown() -> usize {
    50
}

fn runs_shown() -> u32 {
    20
}

/// Why a request is not answered.
pub struct RequestRefusal(Value);

impl RequestRefusal {
    /// In words.
    pub fn new(message: &str) -> Self {
        Self(json!({ "schema": "provost/error/v1", "error": message }))
    }

    /// What to do.
    #[must_use]
    pub fn hint(mut self, hint: &str) -> Self {
        if let Value::Object(map) = &mut self.0 {
            map.insert("hint".to_owned(), json!(hint));
        }
        self
    }

    /// As data.
    pub fn into_json(self) -> Value {
        self.0
    }
}

impl From<Problem> for RequestRefusal {
    fn from(problem: Problem) -> Self {
        let refusal = Self::new(&problem.detail);
        match problem.hint_text() {
            Some(hint) => refusal.hint(hint),
            None => refusal,
        }
    }
}

impl From<EngineError> for RequestRefusal {
    fn from(error: EngineError) -> Self {
        Problem::from(error).into()
    }
}

/// For whom a client asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The agent that its runs act for.
    pub principal: Principal,
    /// Whether it sees every run of the workspace: it was started by who has its files.
    pub sees_all: bool,
}

impl Caller {
    /// Who was let in at the door. Whoever plans here does so as an agent, a person's token too.
    pub(super) fn of(viewer: &Viewer) -> Self {
        Self {
            principal: viewer.principal.agent(),
            sees_all: false,
        }
    }
}

/// Where a run stands.
pub struct RunMoment {
    /// Its last event.
    pub seq: u64,
    /// Its status word.
    pub status: String,
}

impl RunMoment {
    /// Whether it ended, or only a person moves it.
    pub fn is_at_rest(&self) -> bool {
        !matches!(self.status.as_str(), "planning" | "running")
    }

    /// Whether it ended.
    pub fn is_over(&self) -> bool {
        !RunFilter::unfinished().statuses.contains(&self.status)
    }
}

/// What answers.
pub struct Requests {
    engines: watch::Receiver<Arc<Engine>>,
    beginner: Beginner,
    findings: Arc<FindingsJson>,
    /// What policy said; none where it is not asked: who started the process has the files.
    verdicts: Option<Arc<Verdicts>>,
}

impl Requests {
    /// Requests to the engine that stands then; what is submitted goes to whoever drives.
    pub fn new(
        engines: watch::Receiver<Arc<Engine>>,
        beginner: Beginner,
        findings: Arc<FindingsJson>,
        verdicts: Option<Arc<Verdicts>>,
    ) -> Self {
        Self {
            engines,
            beginner,
            findings,
            verdicts,
        }
    }

    fn engine(&self) -> Arc<Engine> {
        Arc::clone(&self.engines.borrow())
    }

    /// Whether the caller may begin runs, and have plans checked for them.
    fn begins(&self, caller: &Caller) -> Result<(), RequestRefusal> {
        if self.verdicts.is_some() {
            may::ask_of(
                self.engine().workspace().policy(),
                RunAction::Begin,
                &caller.principal,
            )?;
        }
        Ok(())
    }

    /// The runs that the caller sees.
    fn scope(&self, caller: &Caller) -> Result<RequesterScope, EngineError> {
        let engine = self.engine();
        let (policy, store) = (engine.workspace().policy(), engine.store());
        Ok(match &self.verdicts {
            Some(verdicts) => {
                let requesters = store.requesters()?;
                verdicts.scope(policy, &requesters, RunAction::See, &caller.principal)
            }
            None if caller.sees_all => RequesterScope::All,
            None => RequesterScope::Only(vec![caller.principal.clone()]),
        })
    }

    /// The operations that a plan may name.
    pub fn list_tools(&self, asked: &ListTools) -> Result<Value, RequestRefusal> {
        let engine = self.engine();
        let catalog = engine.workspace().catalog();
        let all = catalog.iter().map(Arc::as_ref);
        let found: Vec<&Operation> = if asked.query.trim().is_empty() {
            all.collect()
        } else {
            let ranked = ranking::rank(all, &asked.query).into_iter();
            ranked.map(|hit| hit.operation).collect()
        };
        let total = found.len();
        // Why by place: in a ranking, what was shown last stands anywhere.
        let after = found.iter().position(|one| one.name == asked.after);
        let after = after.map_or(0, |place| place + 1);
        let rest = found.iter().skip(after);
        let mut page: Vec<_> = rest.take(asked.limit.saturating_add(1)).collect();
        let is_more = page.len() > asked.limit;
        page.truncate(asked.limit);
        let last = page.last().map(|operation| operation.name.clone());
        let tools: Vec<_> = page.into_iter().map(|one| ToolSignature::of(one)).collect();
        let roles = catalog.roles().map(|role| RoleView::of(role));
        Ok(json!({
            "schema": "provost/client-tools/v1",
            "tools": tools,
            "roles": roles.collect::<Vec<_>>(),
            "total": total,
            "after": last.filter(|_| is_more),
        }))
    }

    /// The compiler's word on a plan.
    pub fn check(
        &self,
        asked: Check,
        client: &str,
        caller: &Caller,
    ) -> Result<Value, RequestRefusal> {
        self.begins(caller)?;
        let judged = self.judge(asked.plan, client)?;
        Ok((self.findings)(&judged))
    }

    /// Begins a run of a plan, if it is admissible.
    pub async fn submit(
        &self,
        asked: Submit,
        client: &str,
        caller: &Caller,
    ) -> Result<String, RequestRefusal> {
        self.begins(caller)?;
        let judged = self.judge(asked.plan, client)?;
        if judged.plan.is_none() {
            return Err(RequestRefusal((self.findings)(&judged)));
        }
        let new = NewRun {
            goal: judged.goal,
            interpreted_by: format!("client {client}"),
            planner: PlannerChoice::Client {
                client: client.to_owned(),
                text: judged.source.text.to_string(),
            },
            fallback: None,
            mode: None,
            ask: self.engine().workspace().ask(),
            again: asked.again,
            traceparent: None,
        };
        let whom = OnBehalf {
            principal: caller.principal.clone(),
            run: None,
        };
        Ok(self.beginner.begin(new, whom).await?)
    }

    /// The run that `prefix` begins, if it is for the caller to see.
    pub fn find(&self, prefix: &str, caller: &Caller) -> Result<String, RequestRefusal> {
        let run = self.engine().find(prefix)?;
        let requester = self.engine().store().requester_of(&run);
        let requester = requester.map_err(EngineError::from)?;
        match self.scope(caller)?.has(requester.as_ref()) {
            true => Ok(run),
            false => Err(Problem::not_found("run").into()),
        }
    }

    /// Where a run stands.
    pub fn moment(&self, run: &str) -> Result<RunMoment, RequestRefusal> {
        let row = self.engine().store().run(run).map_err(EngineError::from)?;
        Ok(RunMoment {
            seq: row.head_seq,
            status: row.status,
        })
    }

    /// How many of a run's steps are settled, of how many.
    pub fn progress(&self, run: &str) -> Result<(f64, f64), RequestRefusal> {
        let record = self.engine().read(run)?;
        let steps = &record.run.state().steps;
        let settled = steps.values().filter(|step| step.status.is_final()).count();
        let count = |n: usize| u32::try_from(n).map_or(f64::MAX, f64::from);
        Ok((count(settled), count(steps.len())))
    }

    /// A run, as a planner may see it.
    pub fn run(&self, run: &str) -> Result<Value, RequestRefusal> {
        let record = self.engine().read(run)?;
        let state = record.run.state();
        let steps: Map<String, Value> = state
            .steps
            .iter()
            .map(|(id, step)| {
                let class = step.class.map(provost_engine::run::outcome::Class::word);
                let status = step.status.word();
                (id.clone(), json!({ "status": status, "class": class }))
            })
            .collect();
        let mut value = json!({
            "schema": "provost/client-run/v1",
            "run": state.head.run,
            "goal": state.goals.goal.text,
            "status": state.status().word(),
            "revision": state.in_force.revision,
            "steps": steps,
            "observations": record.run.observations(),
            "waits_for": waits_for(&waiting(state)),
        });
        if let (Value::Object(map), Some(ended)) = (&mut value, &state.ending.ended) {
            let ended = json!({
                "class": ended.class,
                "step": ended.step,
                "criteria": ended.criteria,
                "proven_by": ended.proven_by,
                "answer": ended.answer,
            });
            map.insert("ended".to_owned(), ended);
        }
        Ok(value)
    }

    /// The runs of the workspace that are for the caller to see.
    pub fn list_runs(&self, asked: &ListRuns, caller: &Caller) -> Result<Value, RequestRefusal> {
        let among = if asked.unfinished {
            RunFilter::unfinished()
        } else {
            RunFilter::default()
        };
        let engine = self.engine();
        let store = engine.store();
        let rows = match self.scope(caller)?.principals() {
            None => {
                let limit = Some(asked.limit);
                store.runs(&RunFilter { limit, ..among })
            }
            principals => {
                let page = RunPage {
                    statuses: among.statuses,
                    principals,
                    limit: asked.limit,
                    ..RunPage::default()
                };
                let rows = store.runs_page(&page);
                rows.map(|rows| rows.into_iter().map(|(_, row)| row).collect())
            }
        };
        let rows: Vec<RunRow> = rows.map_err(EngineError::from)?;
        let waits = history::waits_of(store, rows.iter().map(|row| row.id.as_str()))?;
        let runs: Vec<_> = rows
            .iter()
            .map(|row| {
                json!({
                    "run": row.id,
                    "goal": row.goal,
                    "status": row.status,
                    "waits_for": waits_for(waits.get(&row.id).map_or(&[], Vec::as_slice)),
                })
            })
            .collect();
        Ok(json!({ "schema": "provost/client-runs/v1", "runs": runs }))
    }

    fn judge(&self, plan: Value, client: &str) -> Result<CheckedFile, RequestRefusal> {
        let text = match plan {
            Value::String(text) => text,
            Value::Object(_) => serde_json::to_string_pretty(&plan).unwrap_or_default(),
            _ => {
                return Err(RequestRefusal::new("`plan` is neither text nor an object")
                    .hint("send the plan as YAML or JSON text, or as an object"));
            }
        };
        let judged = of_client(self.engine().workspace(), client, text);
        let names_goal = judged.plan.as_ref().map(|plan| plan.plan().goal.is_some());
        if names_goal == Some(false) {
            return Err(RequestRefusal::new("the plan names no goal")
                .hint("add one: `goal: { text: what the plan is for }`"));
        }
        Ok(judged)
    }
}

/// What a run waits for. Why no command: whoever may type it finds it in their inbox.
fn waits_for(waits: &[Waiting]) -> Value {
    waits.first().map_or(Value::Null, |waiting| {
        json!({
            "kind": waiting.kind.word(),
            "step": waiting.slot.as_ref().map(|slot| &slot.step),
            "of": "a person, who finds it in their inbox",
        })
    })
}
