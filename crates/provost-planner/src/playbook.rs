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
use provost_plan::plan::read::WrittenPlan;
use provost_plan::plan::request::{PlanReply, PlanRequest, Planned, RequestKind, Why};
use provost_plan::plan::{Criterion, Goal, Params};
use provost_plan::schema::Schema;
use provost_plan::source::Source;
use serde_json::Value;

use crate::pattern::{Near, ParamType, Pattern, Similar, words_of};
use crate::{Planner, decline_findings};

mod cases;
mod document;
mod read;
mod revise;
mod withheld;

pub use cases::{NextCase, PlaybookCase};
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
    /// Where the parts of each rule stand.
    places: Vec<cases::RulePlaces>,
    /// The plan and the rules as they stand in the file, with names written out.
    written: WrittenPlan,
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

    /// The sentence that a goal may mean, with the values that it says.
    #[must_use]
    pub fn similar(&self, goal: &str) -> Option<Similar> {
        let known = words_of(self.sentences());
        let all = self.patterns.iter();
        let all = all.filter_map(|pattern| pattern.similar(goal, &self.params, &known));
        // Why the first of equals: an author writes the usual sentence first.
        all.rev().max_by_key(|one| (one.is_complete, one.common))
    }

    /// The type of a parameter.
    #[must_use]
    pub fn param(&self, name: &str) -> Option<&ParamType> {
        self.params.get(name)
    }

    /// The type of each parameter, as a schema of its values.
    #[must_use]
    pub fn param_schemas(&self) -> BTreeMap<String, Schema> {
        let compiled = |(name, param): (&String, &ParamType)| {
            let schema = Schema::compile(param.value_schema()).ok()?;
            Some((name.clone(), schema))
        };
        self.params.iter().filter_map(compiled).collect()
    }

    /// Values of the parameters, at the edges of their types: each value with the first of all
    /// others, and all last ones together; at most so many.
    #[must_use]
    pub fn edge_params(&self, most: usize) -> Vec<Params> {
        let edges: Vec<(&String, Vec<Value>)> = self
            .params
            .iter()
            .map(|(name, param)| (name, param.edges()))
            .collect();
        let with = |pick: &dyn Fn(usize, &Vec<Value>) -> Option<Value>| -> Option<Params> {
            let values = edges.iter().enumerate();
            values
                .map(|(at, (name, edge))| Some(((*name).clone(), pick(at, edge)?)))
                .collect()
        };
        let first = |_: usize, edge: &Vec<Value>| edge.first().cloned();
        let last = |_: usize, edge: &Vec<Value>| edge.last().cloned();
        let mut all: Vec<Params> = [with(&first), with(&last)].into_iter().flatten().collect();
        let longest = edges.iter().map(|(_, edge)| edge.len()).max().unwrap_or(0);
        for nth in 1..longest {
            for (own, _) in edges.iter().enumerate() {
                let pick = |at: usize, edge: &Vec<Value>| match at == own {
                    true => edge.get(nth).cloned(),
                    false => edge.first().cloned(),
                };
                all.extend(with(&pick));
            }
        }
        all.truncate(most);
        all
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
