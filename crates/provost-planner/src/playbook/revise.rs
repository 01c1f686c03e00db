//! Revise rules: what a playbook changes after an observation.
//!
//! Owns the choice of the rule and the edit of the document. INVARIANT: a step that has settled
//! stays as it is, and a rule whose steps are in the plan does not fire again.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::expr::{Root, Scope, Segment, Template};
use provost_plan::label::{Integrity, Label};
use provost_plan::plan::request::{ObservationView, PlanReply, PlanRequest, Why};
use serde_json::{Map, Value, json};

use super::{Playbook, document, withheld};

/// One revise rule.
#[derive(Clone, Debug)]
pub(super) struct ReviseRule {
    /// The steps whose observation it looks at.
    pub(super) after: Vec<String>,
    /// Whether it fires; always, if there is none.
    pub(super) when: Option<Template>,
    /// Why, for people.
    pub(super) because: String,
    /// Steps that are added, or replace the one with their id.
    pub(super) steps: Vec<(String, Value)>,
    /// Steps that are taken out.
    pub(super) drop: Vec<String>,
    /// Claims that are added to the answer.
    pub(super) answer: Vec<Value>,
    /// Proofs, each in place of the one of its criterion.
    pub(super) success: Vec<(String, Value)>,
}

type Observations = BTreeMap<String, ObservationView>;

impl ReviseRule {
    /// Whether it looks at how `step` failed, so that it is meant for a failure.
    fn minds_failure(&self, step: &str) -> bool {
        let fields = ["status", "error"].map(|field| Segment::Field(field.to_owned()));
        self.when
            .iter()
            .flat_map(Template::references)
            .any(|reference| {
                reference.root == Root::Step(step.to_owned())
                    && reference
                        .path
                        .first()
                        .is_some_and(|first| fields.contains(first))
            })
    }

    /// The steps whose observation decides whether it fires.
    fn reads(&self) -> BTreeSet<String> {
        let read = self.when.iter().flat_map(Template::references);
        read.filter_map(|reference| match &reference.root {
            Root::Step(step) => Some(step.clone()),
            _ => None,
        })
        .chain(self.after.iter().cloned())
        .collect()
    }

    /// Whether it fires.
    fn holds(&self, observations: &Observations, params: &Value) -> Result<bool, String> {
        let Some(when) = &self.when else {
            return Ok(true);
        };
        let views: Vec<(&String, Value)> = observations
            .iter()
            .map(|(step, view)| (step, json!(view)))
            .collect();
        withheld::refuse(when, &views)?;
        let scope = views.iter().fold(
            Scope::new().with("params", params),
            |scope, (step, view)| scope.with_step(step, view),
        );
        when.eval_bool(&scope).map_err(|error| error.to_string())
    }

    /// The plan with this rule applied; `None` if that changes nothing.
    pub(super) fn applied(
        &self,
        plan: &Value,
        has_settled: &dyn Fn(&String) -> bool,
    ) -> Result<Option<Value>, String> {
        let mut map: Map<String, Value> = plan.as_object().cloned().unwrap_or_default();
        let mut steps = list(map.get("steps"));
        for (id, step) in &self.steps {
            match steps.iter_mut().find(|old| names(old, "id", id)) {
                Some(old) if old == step => {}
                Some(_) if has_settled(id) => {
                    return Err(format!(
                        "it would change the step `{id}`, which already ran"
                    ));
                }
                Some(old) => *old = step.clone(),
                None => steps.push(step.clone()),
            }
        }
        let is_dropped = |id: &String, step: &Value| names(step, "id", id) && !has_settled(id);
        steps.retain(|step| !self.drop.iter().any(|id| is_dropped(id, step)));
        map.insert("steps".to_owned(), Value::Array(steps));
        if !self.answer.is_empty() {
            let mut answer = list(map.get("answer"));
            let new = self
                .answer
                .iter()
                .filter(|claim| !list(map.get("answer")).contains(claim));
            answer.extend(new.cloned());
            map.insert("answer".to_owned(), Value::Array(answer));
        }
        if !self.success.is_empty() {
            let mut success = list(map.get("success"));
            for (criterion, proof) in &self.success {
                match success.iter_mut().find(|old| names(old, "for", criterion)) {
                    Some(old) => *old = proof.clone(),
                    None => success.push(proof.clone()),
                }
            }
            map.insert("success".to_owned(), Value::Array(success));
        }
        let revised = Value::Object(map);
        Ok((revised != *plan).then_some(revised))
    }

    /// Whether the plan already is as this rule would make it, or was when the rule fired. A step
    /// that only rules bring counts by its id, one of `first`, the playbook's own plan, by its
    /// form.
    fn is_applied(&self, plan: &Value, first: &Value, settled: &Observations) -> bool {
        if self.steps.is_empty() {
            let has_settled = |id: &String| settled.contains_key(id);
            return matches!(self.applied(plan, &has_settled), Ok(None));
        }
        let (steps, own) = (list(plan.get("steps")), list(first.get("steps")));
        self.steps.iter().all(|(id, step)| {
            if own.iter().any(|one| names(one, "id", id)) {
                steps.contains(step)
            } else {
                steps.iter().any(|one| names(one, "id", id))
            }
        })
    }
}

/// The items of a list; a text or a map alone is an answer of one claim.
pub(super) fn list(value: Option<&Value>) -> Vec<Value> {
    match value {
        Some(Value::Array(items)) => items.clone(),
        Some(Value::String(text)) => vec![json!({ "text": text })],
        Some(one @ Value::Object(_)) => vec![one.clone()],
        _ => Vec::new(),
    }
}

/// Whether the map `value` holds `name` under `key`.
fn names(value: &Value, key: &str, name: &str) -> bool {
    value.get(key).and_then(Value::as_str) == Some(name)
}

impl Playbook {
    /// The steps whose observation a rule still waits for.
    pub(crate) fn consult(&self, plan: &Value, settled: &Observations) -> Vec<String> {
        let open: BTreeSet<&String> = self
            .rules
            .iter()
            .filter(|rule| !rule.is_applied(plan, &self.plan, settled))
            .flat_map(|rule| &rule.after)
            .filter(|step| !settled.contains_key(*step))
            .collect();
        let steps = plan.get("steps").and_then(Value::as_array);
        steps
            .into_iter()
            .flatten()
            .filter_map(|step| step.get("id")?.as_str())
            .filter(|id| open.iter().any(|step| step == id))
            .map(str::to_owned)
            .collect()
    }

    /// Its own plan, beside what ran for an earlier goal; the reason if they are at odds.
    pub(super) fn beside(&self, request: &PlanRequest) -> Result<PlanReply, String> {
        let facts = &request.observations;
        let before = request.plan.as_deref().and_then(|plan| plan.get("steps"));
        let is_fact = |step: &Value| {
            let id = step.get("id").and_then(Value::as_str);
            id.is_some_and(|id| facts.contains_key(id))
        };
        let mut steps = list(before);
        steps.retain(is_fact);
        for own in list(self.plan.get("steps")) {
            let id = own.get("id").and_then(Value::as_str).unwrap_or_default();
            match steps.iter().find(|step| names(step, "id", id)) {
                None => steps.push(own),
                Some(ran) if *ran == own => {}
                Some(_) => {
                    let author = self.author();
                    return Err(format!(
                        "the step `{id}` of {author} ran already, otherwise"
                    ));
                }
            }
        }
        let mut plan: Map<String, Value> = self.plan.as_object().cloned().unwrap_or_default();
        plan.insert("steps".to_owned(), Value::Array(steps));
        let plan = Value::Object(plan);
        Ok(PlanReply::Plan {
            text: document::print(&plan),
            name: format!("<{}>", self.author()),
            author: self.author(),
            literals: Label::trusted(),
            control: Label::trusted(),
            consult: self.consult(&plan, facts),
            because: Some("the goal was amended".to_owned()),
        })
    }

    /// The plan after the first rule that fires; the reason if none does.
    pub(super) fn revision(&self, request: &PlanRequest) -> Result<PlanReply, String> {
        let (step, failed) = self.occasion(request)?;
        let plan = request
            .plan
            .as_ref()
            .ok_or("a revision was asked for without a plan")?;
        let settled = &request.observations;
        let params = Value::Object(request.goal.params.clone());
        let mut read: BTreeSet<String> = BTreeSet::new();
        for rule in &self.rules {
            let ready = rule.after.iter().any(|after| after == step)
                && rule.after.iter().all(|after| settled.contains_key(after))
                && (!failed || rule.minds_failure(step));
            if !ready || rule.is_applied(plan, &self.plan, settled) {
                continue;
            }
            // Why every rule that was looked at: that an earlier one did not hold is part of what
            // led to this choice.
            read.extend(rule.reads());
            let undecided = |reason| {
                let after = rule.after.join(", ");
                format!("the rule after `{after}` of {} {reason}", self.author())
            };
            let holds = rule
                .holds(settled, &params)
                .map_err(|reason| undecided(format!("cannot be decided: {reason}")))?;
            if !holds {
                continue;
            }
            let revised = rule
                .applied(plan, &|id| settled.contains_key(id))
                .map_err(|reason| undecided(format!("cannot be applied: {reason}")))?;
            if let Some(revised) = revised {
                return Ok(self.reply(rule, &revised, settled, read));
            }
        }
        let author = self.author();
        // Why in other words where nothing failed: nothing went wrong, and most runs end so.
        Err(match failed {
            true => format!("{author} has no rule for this outcome of `{step}`"),
            false => format!("no rule of {author} applies to it, so the plan stays as it is"),
        })
    }

    /// The step that the request is about, and whether it failed.
    fn occasion<'r>(&self, request: &'r PlanRequest) -> Result<(&'r String, bool), String> {
        let what = match &request.why {
            Some(Why::Observed { step }) => return Ok((step, false)),
            Some(Why::StepFailed { step, .. }) => return Ok((step, true)),
            Some(Why::Rejected { .. }) => "for a plan that a person rejected",
            Some(Why::Expired { .. }) => "for a question that nobody answered in time",
            Some(Why::Unmet { .. }) => "for criteria that do not hold though everything ended",
            Some(Why::Refine { .. }) => "for a subgoal",
            Some(Why::Amended { .. }) | None => "for a revision without a reason",
        };
        Err(format!("{} has no rule {what}", self.author()))
    }

    fn reply(
        &self,
        rule: &ReviseRule,
        revised: &Value,
        settled: &Observations,
        read: BTreeSet<String>,
    ) -> PlanReply {
        PlanReply::Plan {
            text: document::print(revised),
            name: format!("<{}, after {}>", self.author(), rule.after.join(", ")),
            author: self.author(),
            literals: Label::trusted(),
            // Why data and no less: what a rule can see of an untrusted output is closed values
            // only, and what it sees decides what runs.
            control: Label {
                integrity: Integrity::Data,
                sources: read,
                secret: false,
            },
            consult: self.consult(revised, settled),
            because: Some(rule.because.clone()),
        }
    }
}
