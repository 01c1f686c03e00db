//! Whether the conditions of a plan are at least as strong as those of another.
//!
//! Owns the comparison by evaluation: over generated outputs, whatever the conditions of the later
//! plan let pass, those of the earlier one do. Never compares texts, and asks no check.
//! INVARIANT: a condition that has no value lets nothing pass.

use std::collections::BTreeMap;

use provost_plan::catalog::Catalog;
use provost_plan::expr::{Scope, Template};
use provost_plan::plan::{Plan, Step, StepKind};
use provost_plan::schema::Schema;
use serde_json::{Value, json};

use crate::mutate::sample::sample;
use crate::rng::Rng;

/// All that has to hold, by what it decides about.
type Conditions<'p> = BTreeMap<String, Vec<&'p Template>>;

/// What `after` lets pass that `before` does not, in some of so many generated outputs.
#[must_use]
pub fn weaker(before: &Plan, after: &Plan, catalog: &Catalog, seeds: u64) -> Vec<String> {
    let mut weaker = Vec::new();
    for (what, step, was) in unlike(before, after) {
        let is = conditions(after);
        let none = Vec::new();
        let is = is.get(&what).unwrap_or(&none);
        let passes = (0..seeds).any(|seed| {
            let world = Outputs::of(after, step.as_deref(), catalog, seed);
            let holds = |of: &[&Template]| {
                let mut all = of.iter();
                all.all(|one| one.eval_bool(&world.scope()).unwrap_or(false))
            };
            holds(is) && !holds(&was)
        });
        if passes {
            weaker.push(format!("{what} lets pass what it did not"));
        }
    }
    for (one, other) in before
        .steps
        .iter()
        .filter_map(|s| Some((s, after.step(&s.id.value)?)))
    {
        let polls = |step: &Step| step.until.as_ref().map(|u| (u.every, u.at_most));
        if polls(one) != polls(other) {
            weaker.push(format!("`{}` polls otherwise", one.id.value));
        }
    }
    weaker
}

/// The conditions that are not written alike in both, with the step that they belong to.
fn unlike<'p>(before: &'p Plan, after: &Plan) -> Vec<(String, Option<String>, Vec<&'p Template>)> {
    let (was, is) = (conditions(before), conditions(after));
    let texts =
        |of: &[&Template]| -> Vec<String> { of.iter().map(|one| one.text().to_owned()).collect() };
    let differ = was
        .into_iter()
        .filter(|(what, was)| is.get(what).map(|is| texts(is)) != Some(texts(was)));
    let with_step = differ.map(|(what, was)| {
        let step = what
            .strip_prefix("step ")
            .and_then(|rest| rest.split_once(' '));
        let step = step.map(|(id, _)| id.to_owned());
        (what, step, was)
    });
    with_step.collect()
}

fn conditions<'p>(plan: &'p Plan) -> Conditions<'p> {
    let mut all: Conditions<'p> = BTreeMap::new();
    for step in &plan.steps {
        let id = &step.id.value;
        let mut put = |what: &str, of: Vec<&'p Template>| {
            if !of.is_empty() {
                all.insert(format!("step {id} {what}"), of);
            }
        };
        put("when", step.when.iter().collect());
        put("accept", step.accept.iter().collect());
        put("until", step.until.iter().map(|u| &u.condition).collect());
        let confirm = step.confirm.iter().flat_map(|confirm| &confirm.accept);
        put("confirm", confirm.collect());
    }
    for proof in &plan.success {
        let what = format!("proof {}", proof.criterion.value);
        all.entry(what).or_default().push(&proof.check);
    }
    for (at, claim) in plan.answer.iter().enumerate() {
        if let Some(when) = &claim.when {
            all.insert(format!("claim {at}"), vec![when]);
        }
    }
    all
}

/// Generated outputs of every step, and the other roots as one of them sees them.
struct Outputs {
    steps: BTreeMap<String, Value>,
    roots: BTreeMap<&'static str, Value>,
}

impl Outputs {
    fn of(plan: &Plan, step: Option<&str>, catalog: &Catalog, seed: u64) -> Self {
        let mut steps = BTreeMap::new();
        for step in &plan.steps {
            let id = &step.id.value;
            let mut rng = Rng::new(seed, id);
            let view = match rng.between(0, 9) {
                0 => json!({ "status": "skipped" }),
                1 => json!({ "status": "failed", "error": { "class": "timeout", "message": "x" } }),
                _ => json!({ "status": "succeeded", "output": output(step, catalog, &mut rng) }),
            };
            steps.insert(id.clone(), view);
        }
        let mut rng = Rng::new(seed, "roots");
        let own = step.and_then(|id| plan.step(id));
        let read = own.and_then(|own| own.confirm.as_ref());
        let read = read.map(|read| typed(&read.tool.value, None, catalog, &mut rng));
        let goal = plan.goal.as_ref().map(|goal| goal.value.params.clone());
        let mut roots = BTreeMap::from([
            (
                "run",
                json!({ "id": "simulated", "started_at": "2026-02-01T08:00:00Z" }),
            ),
            ("params", Value::Object(goal.unwrap_or_default())),
            ("item", json!({})),
            ("index", json!(0)),
        ]);
        if let Some(own) = own {
            roots.insert("output", output(own, catalog, &mut rng));
        }
        roots.extend(read.map(|read| ("read", read)));
        Self { steps, roots }
    }

    fn scope(&self) -> Scope<'_> {
        let mut scope = Scope::new();
        for (id, view) in &self.steps {
            scope = scope.with_step(id, view);
        }
        for (root, value) in &self.roots {
            scope = scope.with(root, value);
        }
        scope
    }
}

/// An output of a step, or of each of two items.
fn output(step: &Step, catalog: &Catalog, rng: &mut Rng) -> Value {
    let one = |rng: &mut Rng| match &step.kind {
        StepKind::Tool { tool, .. } => typed(&tool.value, step.expect.as_ref(), catalog, rng),
        StepKind::Question { answer, .. } => sample(answer.value(), rng),
        StepKind::Subgoal(subgoal) => sample(subgoal.output.value(), rng),
        StepKind::Assertion(assertion) => sample(assertion.output.value(), rng),
    };
    match step.for_each {
        Some(_) => json!([one(rng), one(rng)]),
        None => one(rng),
    }
}

fn typed(tool: &str, expect: Option<&Schema>, catalog: &Catalog, rng: &mut Rng) -> Value {
    let declared = catalog
        .get(tool)
        .and_then(|operation| operation.output.as_ref());
    declared
        .or(expect)
        .map_or(json!({}), |schema| sample(schema.value(), rng))
}
