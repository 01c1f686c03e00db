//! Playbooks: plans written beforehand, for goals of a known form.
//!
//! Owns the match, the parameters and the revise rules. Thinks nothing up: what it proposes, a
//! person wrote and reviewed, so its literals are trusted. INVARIANT: parameters stay expressions
//! in what is proposed; their values stand in the goal.

use std::collections::{BTreeMap, BTreeSet};

use futures::FutureExt as _;
use futures::future::{BoxFuture, ready};
use provost_plan::diagnostic::Diagnostic;
use provost_plan::label::Label;
use provost_plan::plan::request::{PlanReply, PlanRequest, Planned, RequestKind, Why};
use provost_plan::plan::{Criterion, Goal, Params};
use provost_plan::source::Source;
use serde_json::Value;

use crate::pattern::{Near, ParamKind, ParamType, Pattern};
use crate::{Planner, decline_findings};

mod document;
mod read;
mod revise;
mod withheld;

use revise::ReviseRule;

/// The version marker of a playbook.
pub const PLAYBOOK_SCHEMA: &str = "provost/playbook/v1";

/// A plan with a match rule.
#[derive(Clone, Debug)]
pub struct Playbook {
    name: String,
    source: Source,
    patterns: Vec<Pattern>,
    params: BTreeMap<String, ParamType>,
    success: Vec<Criterion>,
    plan: Value,
    /// The plan as the reply carries it.
    text: String,
    rules: Vec<ReviseRule>,
}

impl Playbook {
    /// Reads a playbook. Its name is that of its file.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn read(source: &Source) -> Result<Self, Vec<Diagnostic>> {
        read::read(source)
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The tools that its plan and its rules call.
    #[must_use]
    pub fn tools(&self) -> BTreeSet<String> {
        let of = |step: &Value| {
            let named =
                ["/tool", "/confirm/tool", "/undo/tool"].map(|field| step.pointer(field).cloned());
            let names = named.into_iter().flatten();
            names.filter_map(|name| name.as_str().map(str::to_owned))
        };
        let plan = self.plan.get("steps").and_then(Value::as_array);
        let added = self.rules.iter().flat_map(|rule| &rule.steps);
        let first = plan.into_iter().flatten().flat_map(of);
        first.chain(added.flat_map(|(_, step)| of(step))).collect()
    }

    /// The text it was read from.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The sentences it matches.
    pub fn sentences(&self) -> impl Iterator<Item = &str> {
        self.patterns.iter().map(Pattern::text)
    }

    /// The parameters found in the text of a goal, if it matches.
    #[must_use]
    pub fn matches(&self, goal: &str) -> Option<Params> {
        self.patterns
            .iter()
            .find_map(|pattern| pattern.matches(goal, &self.params))
    }

    /// What a goal that does not match says all the same, if it has the words of a sentence.
    #[must_use]
    pub fn near(&self, goal: &str) -> Option<Near> {
        self.patterns
            .iter()
            .find_map(|pattern| pattern.near(goal, &self.params))
    }

    /// The type of a parameter.
    #[must_use]
    pub fn param(&self, name: &str) -> Option<&ParamType> {
        self.params.get(name)
    }

    /// A value of each parameter's type, to check the plan with before there is a goal. It fits
    /// the parameter's pattern if a text of a common form does.
    #[must_use]
    pub fn samples(&self) -> Params {
        let sample = |param: &ParamType| match (param.words.first(), param.kind) {
            (Some(word), _) => Value::from(word.as_str()),
            (None, ParamKind::Text) => Value::from(sample_text(param)),
            (None, ParamKind::Integer | ParamKind::Number) => Value::from(1),
            (None, ParamKind::Boolean) => Value::from(true),
        };
        self.params
            .iter()
            .map(|(name, param)| (name.clone(), sample(param)))
            .collect()
    }

    /// The goal of this text: with the playbook's criteria, else with the one that is the text.
    #[must_use]
    pub fn goal(&self, text: &str, params: &Params) -> Goal {
        let mut goal = Goal::of_text(text);
        if !self.success.is_empty() {
            goal.success.clone_from(&self.success);
        }
        goal.params = params.clone().into_iter().collect();
        goal
    }

    /// Who it is, in words.
    #[must_use]
    pub fn author(&self) -> String {
        format!("playbook {}", self.name)
    }
}

impl Playbook {
    /// A first plan for the goal.
    #[must_use]
    pub fn propose(&self, request: &PlanRequest) -> PlanReply {
        decline_findings(&self.author(), request).unwrap_or_else(|| PlanReply::Plan {
            text: self.text.clone(),
            name: format!("<{}>", self.author()),
            author: self.author(),
            literals: Label::trusted(),
            control: Label::trusted(),
            consult: self.consult(&self.plan, &BTreeMap::new()),
            because: None,
        })
    }

    /// A new revision, from what was observed.
    #[must_use]
    pub fn revise(&self, request: &PlanRequest) -> PlanReply {
        decline_findings(&self.author(), request).unwrap_or_else(|| {
            let revised = match &request.why {
                Some(Why::Amended { .. }) => self.beside(request),
                _ => self.revision(request),
            };
            revised.unwrap_or_else(PlanReply::Decline)
        })
    }
}

impl Planner for Playbook {
    fn reply<'a>(&'a self, request: &'a PlanRequest) -> BoxFuture<'a, Planned> {
        let reply = match request.kind {
            RequestKind::Propose => self.propose(request),
            RequestKind::Revise | RequestKind::Refine => self.revise(request),
        };
        ready(reply.into()).boxed()
    }
}

/// Texts of common forms.
const SAMPLES: [&str; 10] = [
    "sample",
    "SAMPLE",
    "Sample",
    "S1",
    "S-1",
    "1",
    "2026-01-01",
    "2026-01-01T00:00:00Z",
    "sample@example.org",
    "https://example.org/",
];

/// A text of a common form that the parameter's pattern takes; the first of them if none is.
fn sample_text(param: &ParamType) -> &'static str {
    let fits = |text: &&&str| {
        let pattern = param.pattern.as_ref();
        pattern.is_none_or(|pattern| pattern.is_match(text))
    };
    SAMPLES.iter().find(fits).copied().unwrap_or("sample")
}
