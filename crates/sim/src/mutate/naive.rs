//! A naive executor: does what a plan says, with simulated tools, and asks no check.
//!
//! Owns the comparison of two plans by what they do. Never calls `check` or policy, and knows no
//! retry, approval or revision. INVARIANT: a tool called with equal arguments under one seed
//! returns the same, whichever plan calls it.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::catalog::{Catalog, Operation};
use provost_plan::digest::canonical;
use provost_plan::expr::{Reference, Root, Scope};
use provost_plan::plan::{Goal, OnFailure, Plan, Step, StepKind};
use serde_json::{Map, Value, json};

use super::sample::sample;
use crate::rng::Rng;

/// How often a tool tries to return what the step accepts.
const TRIES_MAX: u64 = 24;

/// What one run of a plan did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Calls that are no reads, with how often.
    pub effects: BTreeMap<String, u32>,
    /// Steps that failed, or were never reached.
    pub failed: BTreeSet<String>,
    /// Criteria that did not hold, and claims that had no value.
    pub unmet: BTreeSet<String>,
}

impl Outcome {
    /// Whether a plan that does this breaks what one that does `original` keeps: it fails where the
    /// other does not, leaves a criterion unmet, or changes the world in another way.
    #[must_use]
    pub fn breaks(&self, original: &Self) -> bool {
        let fails = !self.failed.is_empty() && original.failed.is_empty();
        let unmet = !self.unmet.is_empty() && original.unmet.is_empty();
        fails || unmet || self.effects != original.effects
    }
}

/// The world of one seed.
pub struct World<'a> {
    /// The operations.
    pub catalog: &'a Catalog,
    /// The goal.
    pub goal: &'a Goal,
    /// What decides about everything that tools return.
    pub seed: u64,
}

enum End {
    Succeeded(Value),
    Skipped,
    Failed,
}

impl World<'_> {
    /// Runs a plan.
    #[must_use]
    pub fn run(&self, plan: &Plan) -> Outcome {
        let mut outcome = Outcome::default();
        let mut views: BTreeMap<String, Value> = BTreeMap::new();
        let mut open: Vec<&Step> = plan.steps.iter().collect();
        while let Some(at) = open.iter().position(|step| {
            let after = dependencies(step);
            after.iter().all(|id| views.contains_key(id))
        }) {
            let step = open.remove(at);
            let end = if lets_run(plan, step, &views) {
                self.step(step, &views, &mut outcome)
            } else {
                End::Failed
            };
            if matches!(end, End::Failed) && step.on_failure != OnFailure::Continue {
                outcome.failed.insert(step.id.value.clone());
            }
            let view = match end {
                End::Succeeded(output) => json!({ "status": "succeeded", "output": output }),
                End::Skipped => json!({ "status": "skipped" }),
                End::Failed => json!({ "status": "failed", "error": {
                    "class": "unavailable", "message": "it failed",
                } }),
            };
            views.insert(step.id.value.clone(), view);
        }
        // Why: what waits for itself, or for a step that is not there, is never reached.
        outcome
            .failed
            .extend(open.iter().map(|s| s.id.value.clone()));
        self.judge(plan, &views, &mut outcome);
        outcome
    }

    fn judge(&self, plan: &Plan, views: &BTreeMap<String, Value>, outcome: &mut Outcome) {
        let roots = Roots::new(self.goal);
        let scope = || roots.scope(views);
        let mut proven: BTreeSet<&str> = BTreeSet::new();
        for proof in &plan.success {
            proven.insert(&proof.criterion.value);
            if !proof.check.eval_bool(&scope()).unwrap_or(false) {
                outcome.unmet.insert(proof.criterion.value.clone());
            }
        }
        for criterion in &self.goal.success {
            if !proven.contains(criterion.id.as_str()) {
                outcome.unmet.insert(criterion.id.clone());
            }
        }
        for (index, claim) in plan.answer.iter().enumerate() {
            let said = match &claim.when {
                Some(when) => when.eval_bool(&scope()),
                None => Ok(true),
            };
            let cites = |id: &str| views.contains_key(id);
            let cited = claim.cites.iter().all(|id| cites(&id.value));
            let text = match said {
                Ok(true) => claim.text.eval(&scope()).map(|_| ()),
                Ok(false) => Ok(()),
                Err(error) => Err(error),
            };
            if text.is_err() || !cited {
                outcome.unmet.insert(format!("claim {index}"));
            }
        }
    }

    fn step(&self, step: &Step, views: &BTreeMap<String, Value>, outcome: &mut Outcome) -> End {
        let roots = Roots::new(self.goal);
        if let Some(when) = &step.when {
            match when.eval_bool(&roots.scope(views)) {
                Ok(true) => {}
                Ok(false) => return End::Skipped,
                Err(_) => return End::Failed,
            }
        }
        let Some(each) = &step.for_each else {
            return match self.call(step, views, &roots, outcome) {
                Some(output) => End::Succeeded(output),
                None => End::Failed,
            };
        };
        let Ok(Value::Array(items)) = each.list.eval(&roots.scope(views)) else {
            return End::Failed;
        };
        if items.len() as u64 > each.max_items.value {
            return End::Failed;
        }
        let mut outputs = Vec::new();
        for (index, item) in items.into_iter().enumerate() {
            let roots = Roots::new(self.goal).with_item(item, index);
            match self.call(step, views, &roots, outcome) {
                Some(output) => outputs.push(output),
                None => return End::Failed,
            }
        }
        End::Succeeded(outputs.into())
    }

    /// What somebody answers, or what is taken for it where nobody does.
    fn answer(&self, step: &Step, answer: &Value, asked: &Value) -> Option<Value> {
        let stream = format!("question {}", canonical(asked));
        let mut rng = Rng::new(self.seed, &stream);
        let default = step.default_answer();
        if default.is_some() && rng.permille(300) {
            return default.map(|default| default.value.clone());
        }
        Some(sample(answer, &mut rng))
    }

    /// What a call, an assertion or a person returns.
    fn call(
        &self,
        step: &Step,
        views: &BTreeMap<String, Value>,
        roots: &Roots,
        outcome: &mut Outcome,
    ) -> Option<Value> {
        let (tool, args) = match &step.kind {
            StepKind::Tool { tool, args } => (tool, args),
            StepKind::Question { text, answer, .. } => {
                let asked = text.eval(&roots.scope(views)).ok()?;
                return self.answer(step, answer.value(), &asked);
            }
            StepKind::Assertion(asserted) => {
                let holds = asserted.condition.eval_bool(&roots.scope(views)).ok()?;
                return holds.then_some(Value::Bool(true));
            }
            StepKind::Subgoal(_) => return None,
        };
        let operation = self.catalog.get(&tool.value)?;
        let args = args.eval(&roots.scope(views)).ok()?;
        if !operation.input.admits(&args) {
            return None;
        }
        let name = format!("{} {}", operation.name, canonical(&args));
        if !operation.effect.is_read() {
            *outcome.effects.entry(name.clone()).or_default() += 1;
        }
        let fails = !self.seed.is_multiple_of(3)
            && Rng::new(self.seed, &format!("fault {name}")).permille(120);
        if fails {
            return None;
        }
        self.reply(step, views, operation, &name)
    }

    /// The first of a few outputs that the step accepts: tools of the simulation mostly work.
    fn reply(
        &self,
        step: &Step,
        views: &BTreeMap<String, Value>,
        operation: &Operation,
        name: &str,
    ) -> Option<Value> {
        let anything = Value::Bool(true);
        let declared = operation.output.as_ref().or(step.expect.as_ref());
        let schema = declared.map_or(&anything, |schema| schema.value());
        (0..TRIES_MAX).find_map(|count| {
            let mut rng = Rng::new(self.seed, &format!("{name} {count}"));
            let output = sample(schema, &mut rng);
            if declared.is_some_and(|schema| !schema.admits(&output)) {
                return None;
            }
            let roots = Roots::new(self.goal).with_output(output.clone());
            let accepted = step
                .conditions()
                .all(|accept| accept.eval_bool(&roots.scope(views)).unwrap_or(false));
            accepted.then_some(output)
        })
    }
}

/// Whether what a step waits for lets it run.
fn lets_run(plan: &Plan, step: &Step, views: &BTreeMap<String, Value>) -> bool {
    dependencies(step).iter().all(|id| {
        let failed = views
            .get(id)
            .is_some_and(|v| v.get("status") == Some(&json!("failed")));
        let goes_on = |step: &Step| step.on_failure == OnFailure::Continue;
        !failed || plan.step(id).is_some_and(goes_on)
    })
}

/// The steps that a step reads or needs.
fn dependencies(step: &Step) -> BTreeSet<String> {
    let read = |reference: &Reference| match &reference.root {
        Root::Step(id) => Some(id.clone()),
        _ => None,
    };
    let named = step.needs.iter().map(|id| id.value.clone());
    let templates = step.templates();
    let reads = templates
        .iter()
        .flat_map(|(_, template)| template.references());
    reads.filter_map(read).chain(named).collect()
}

/// What expressions see beside the steps.
struct Roots {
    run: Value,
    params: Value,
    item: Option<(Value, Value)>,
    output: Option<Value>,
}

impl Roots {
    fn new(goal: &Goal) -> Self {
        Self {
            run: json!({ "id": "simulated", "started_at": "2026-02-01T08:00:00Z" }),
            params: Value::Object(Map::clone(&goal.params)),
            item: None,
            output: None,
        }
    }

    fn with_item(mut self, item: Value, index: usize) -> Self {
        self.item = Some((item, json!(index)));
        self
    }

    fn with_output(mut self, output: Value) -> Self {
        self.output = Some(output);
        self
    }

    fn scope<'a>(&'a self, views: &'a BTreeMap<String, Value>) -> Scope<'a> {
        let mut scope = Scope::new().with("run", &self.run);
        scope = scope.with("params", &self.params);
        for (id, view) in views {
            scope = scope.with_step(id, view);
        }
        if let Some((item, index)) = &self.item {
            scope = scope.with("item", item).with("index", index);
        }
        match &self.output {
            Some(output) => scope.with("output", output),
            None => scope,
        }
    }
}
