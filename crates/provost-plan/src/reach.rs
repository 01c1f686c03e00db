//! What a checked plan reaches: tools, targets, flows, asks, cost; and what of it grew.
//!
//! Owns the facts that a reviewer decides by, as sets that can be compared. Judges nothing and
//! repeats no rule: every fact is read from the record of the check. INVARIANT: two plans of equal
//! reach call the same tools on the same targets, under the same asks, at the same worst case, and
//! add up to the same sums.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::amount::Totals;
use crate::approve::Delta;
use crate::catalog::{Catalog, Effect, Operation};
use crate::check::budget::WorstCase;
use crate::check::{CheckedPlan, StepRecord};
use crate::digest::canonical;
use crate::expr::{ArgTree, Key, Root, Scope};
use crate::label::{Integrity, Label};
use crate::plan::{Expiry, Goal, Step, StepKind};
use crate::policy::{AskTerms, Decision, hosts_named};

/// A plan with what it was checked under.
#[derive(Clone, Copy, Debug)]
pub struct CheckedUnder<'a> {
    /// The plan.
    pub plan: &'a CheckedPlan,
    /// The operations.
    pub catalog: &'a Catalog,
    /// The goal, whose parameters are known before the run.
    pub goal: &'a Goal,
    /// The most it can take.
    pub worst: &'a WorstCase,
}

impl<'a> CheckedUnder<'a> {
    fn operation(&self, step: &Step) -> Option<&'a Operation> {
        let tool = step.tool()?;
        self.catalog.get(&tool.value).map(std::sync::Arc::as_ref)
    }

    /// What the steps may call, and with what effect, that a subgoal is still to be refined into.
    fn may_call(&self, step: &Step) -> Vec<&'a Operation> {
        let open = step.subgoal().filter(|subgoal| subgoal.is_open());
        let admitted = open
            .into_iter()
            .flat_map(|open| open.admitted(self.catalog));
        admitted.collect()
    }

    /// The operation that a step calls, or those that a subgoal may still call.
    fn calls(&self, step: &Step) -> Vec<&'a Operation> {
        let own = self.operation(step);
        own.map_or_else(|| self.may_call(step), |operation| vec![operation])
    }

    /// Every step with its record, as written.
    pub fn steps(&self) -> impl Iterator<Item = (&'a Step, &'a StepRecord)> {
        let plan = self.plan;
        let steps = plan.plan().steps.iter();
        steps.filter_map(move |step| Some((step, plan.record().steps.get(&step.id.value)?)))
    }

    /// Whether an argument decides who or what is reached.
    #[must_use]
    pub fn is_sink(&self, step: &Step, name: &str) -> bool {
        self.operation(step)
            .is_none_or(|operation| operation.is_sink(name))
    }

    /// The value of an argument if it is known before the run, else its text.
    fn argument(&self, step: &Step, (key, tree): &(Key, ArgTree)) -> GivenArgument {
        let written = || {
            let args = step.value.get("args");
            args.and_then(|args| args.get(key.written())).cloned()
        };
        match self.known(tree) {
            Some(Value::Null) if key.may_be_left_out() => GivenArgument {
                value: written().unwrap_or_default(),
                known: false,
                left_out: Some(LeftOut::Always),
            },
            Some(value) => GivenArgument {
                value,
                known: true,
                left_out: None,
            },
            None => GivenArgument {
                value: written().unwrap_or_default(),
                known: false,
                left_out: key.may_be_left_out().then_some(LeftOut::IfNull),
            },
        }
    }

    fn known(&self, tree: &ArgTree) -> Option<Value> {
        let templates = tree.templates();
        let mut reads = templates.iter().flat_map(|t| t.references());
        if !reads.all(|reference| reference.root == Root::Params) {
            return None;
        }
        let params = Value::Object(self.goal.params.clone());
        tree.eval(&Scope::new().with("params", &params)).ok()
    }
}

mod review;
mod safeguards;
mod sums;

pub use review::{
    ArgumentReview, LimitsReview, ListReview, LostReply, PollReview, QuestionReview, ReviewKind,
    SideCallReview, StepReview, SubgoalReview, ValueOrigin,
};
pub use safeguards::Safeguards;
pub use sums::SumChange;

/// When an argument is not sent that the plan gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftOut {
    /// Where its value is null, which only the run shows.
    IfNull,
    /// Always: its value is null for this goal.
    Always,
}

/// What is known of an argument before the run.
struct GivenArgument {
    /// Its value, or what is written where that is not known or not sent.
    value: Value,
    /// Whether it is the value.
    known: bool,
    left_out: Option<LeftOut>,
}

/// A kind of fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Facet {
    /// Operations that are called, with their effect.
    Tools,
    /// Values at sinks: who or what is reached.
    Targets,
    /// Hosts and mail domains among them.
    Hosts,
    /// Untrusted values that reach anything but a plain read, and control by untrusted text.
    Untrusted,
    /// Asks of a person.
    Asks,
    /// Checks that only the run makes.
    RunChecks,
}

impl Facet {
    /// Every facet, the weightiest first.
    pub const ALL: [Self; 6] = [
        Self::Tools,
        Self::Targets,
        Self::Hosts,
        Self::Untrusted,
        Self::Asks,
        Self::RunChecks,
    ];

    /// The words shown to people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Tools => "tool",
            Self::Targets => "target",
            Self::Hosts => "host",
            Self::Untrusted => "untrusted",
            Self::Asks => "asked",
            Self::RunChecks => "run time",
        }
    }
}

/// Everything a plan reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Facts, by kind.
    pub facts: BTreeMap<Facet, BTreeSet<String>>,
    /// Counts: of steps by effect, and the worst case.
    pub counts: Vec<Count>,
    /// The most of each counted value; none of one without a bound.
    pub sums: Totals,
    /// What is read on the way to a destination, or at all if there is none.
    pub sources: Vec<String>,
    /// What changes something or reaches somebody, with its effect.
    pub destinations: Vec<(String, Effect)>,
    /// Models that are asked.
    pub models: Vec<String>,
    /// What holds it back.
    pub safeguards: Safeguards,
}

/// A number of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Count {
    /// Of what.
    pub of: String,
    /// How many.
    pub n: u64,
}

impl Reach {
    /// What `checkup` reaches.
    #[must_use]
    pub fn of(checkup: &CheckedUnder<'_>) -> Self {
        let mut reach = Self {
            safeguards: Safeguards::of(checkup),
            sums: sums::of(checkup.worst),
            ..Self::default()
        };
        let mut effects: BTreeMap<Effect, u64> = BTreeMap::new();
        for (step, record) in checkup.steps() {
            if let Some(ask) = asked(step, record) {
                reach.add(Facet::Asks, format!("{}: {ask}", step.id.value));
            }
            for check in &record.run_checks {
                let place = format!("{}{}", step.id.value, check.argument);
                reach.add(Facet::RunChecks, format!("{place}: {}", check.reason));
            }
            if let Some(confirm) = &step.confirm {
                // Why without a look at the catalog: the check lets nothing but a read confirm.
                reach.add(Facet::Tools, format!("{} (read)", confirm.tool.value));
            }
            if let Some(undo) = &step.undo {
                reach.add(Facet::Tools, format!("{} (undo)", undo.tool.value));
            }
            for operation in checkup.may_call(step) {
                let (name, effect) = (&operation.name, operation.effect.word());
                let fact = format!("{name} ({effect}, if {} needs it)", step.id.value);
                reach.add(Facet::Tools, fact);
            }
            if let Some(operation) = checkup.operation(step) {
                *effects.entry(operation.effect).or_default() += 1;
                reach.call(checkup, step, record, operation);
            }
        }
        let counted = effects.iter().map(|(effect, n)| (effect.word(), *n));
        for (of, n) in counted.chain(worst_counts(checkup.worst)) {
            let of = of.to_owned();
            reach.counts.push(Count { of, n });
        }
        reach.ends(checkup);
        reach
    }

    /// Where values come from and where they go.
    fn ends(&mut self, checkup: &CheckedUnder<'_>) {
        let mut from: BTreeSet<&str> = BTreeSet::new();
        let acts = |operation: &Operation| operation.effect != Effect::Read;
        let any_acts = |step: &Step| checkup.calls(step).into_iter().any(acts);
        for (_, record) in checkup.steps().filter(|(step, _)| any_acts(step)) {
            upstream(checkup, record, &mut from);
        }
        let all = from.is_empty() && !checkup.steps().any(|(step, _)| any_acts(step));
        for (step, _) in checkup.steps() {
            let named = from.contains(step.id.value.as_str()) || all;
            if step.subgoal().is_none() && checkup.operation(step).is_none() && named {
                let answer = match step.default_answer() {
                    Some(_) => "a person's answer or its default",
                    None => "a person's answer",
                };
                push(&mut self.sources, answer.to_owned());
            }
            for operation in checkup.calls(step) {
                let name = operation.name.clone();
                if operation.is_opinion() {
                    push(&mut self.models, name);
                } else if operation.effect != Effect::Read {
                    push(&mut self.destinations, (name, operation.effect));
                } else if named {
                    push(&mut self.sources, name);
                }
            }
        }
    }

    fn add(&mut self, facet: Facet, fact: String) {
        self.facts.entry(facet).or_default().insert(fact);
    }

    fn call(
        &mut self,
        checkup: &CheckedUnder<'_>,
        step: &Step,
        record: &StepRecord,
        operation: &Operation,
    ) {
        let (id, tool) = (&step.id.value, &operation.name);
        self.add(
            Facet::Tools,
            format!("{tool} ({})", operation.effect.word()),
        );
        if operation.effect == Effect::Read {
            return;
        }
        if record.control.integrity == Integrity::Text {
            let from = sources(&record.control);
            self.add(Facet::Untrusted, format!("whether {id} runs ← text{from}"));
        }
        for (name, label) in &record.labels {
            if label.integrity != Integrity::Trusted {
                let word = label.integrity.word();
                let flow = format!("{id}.{name} ← {word}{}", sources(label));
                self.add(Facet::Untrusted, flow);
            }
            if !operation.is_sink(name) {
                continue;
            }
            let StepKind::Tool { args, .. } = &step.kind else {
                continue;
            };
            let Some(given) = args.get(name).map(|entry| checkup.argument(step, entry)) else {
                continue;
            };
            let value = canonical(&given.value);
            let target = match given.left_out {
                None => format!("{tool} {name}: {value}"),
                Some(LeftOut::IfNull) => format!("{tool} {name}: {value}, if not null"),
                Some(LeftOut::Always) => format!("{tool} {name}: left out"),
            };
            self.add(Facet::Targets, target);
            if given.known {
                for host in hosts_named(&value) {
                    self.add(Facet::Hosts, host);
                }
            }
        }
    }
}

fn sources(label: &Label) -> String {
    let names: Vec<&str> = label.sources.iter().map(String::as_str).collect();
    if names.is_empty() {
        String::new()
    } else {
        format!(" from {}", names.join(", "))
    }
}

/// The numbers of a worst case that have a name of their own.
fn worst_counts(worst: &WorstCase) -> impl Iterator<Item = (&'static str, u64)> {
    [
        ("steps", worst.steps),
        ("calls", worst.calls),
        ("attempts", worst.attempts),
        ("ms", worst.wall_ms),
    ]
    .into_iter()
}

/// What is asked about a step, of whom and until when; none if nobody is asked.
#[must_use]
pub fn asked(step: &Step, record: &StepRecord) -> Option<String> {
    if let StepKind::Question { of, expires, .. } = &step.kind {
        let of = of.as_ref().map(|of| of.value.as_str());
        let of = of.unwrap_or("anyone who may approve");
        let lapse = expires
            .as_ref()
            .map(|expires| format!(" {}", lapse(expires)));
        return Some(format!("an answer from {of}{}", lapse.unwrap_or_default()));
    }
    let verdict = record.verdict.as_ref()?;
    if verdict.decision != Decision::Ask {
        return None;
    }
    let mut words = needs(&verdict.ask.clone().unwrap_or_default());
    if let Some(condition) = &verdict.condition {
        words.push_str(&format!("; {condition}"));
    }
    Some(words)
}

/// How long an answer is waited for, and what follows without one.
#[must_use]
pub fn lapse(expires: &Expiry) -> String {
    let within = crate::duration::words(expires.after);
    match &expires.default {
        Some(default) => format!("within {within}, without one it is {}", default.value),
        None => format!("within {within}, without one it fails"),
    }
}

/// Whose yes is needed, how many of them and until when.
#[must_use]
pub fn needs(terms: &AskTerms) -> String {
    let mut words = match terms.quorum {
        0 | 1 => "approval by one person".to_owned(),
        n => format!("approval by {n} people"),
    };
    if !terms.approvers.is_empty() {
        let roles: Vec<&str> = terms.approvers.iter().map(String::as_str).collect();
        words.push_str(&format!(" of {}", roles.join(" and of ")));
    }
    if let Some(ms) = terms.expires_ms {
        let within = crate::duration::words(std::time::Duration::from_millis(ms));
        words.push_str(&format!(" within {within}"));
    }
    if let Some(ms) = terms.valid_ms {
        let counts = crate::duration::words(std::time::Duration::from_millis(ms));
        words.push_str(&format!(", which counts for {counts}"));
    }
    words
}

impl Reach {
    /// In one line: sources → destinations → models.
    #[must_use]
    pub fn line(&self) -> String {
        let sources = match self.sources.as_slice() {
            [] => "what the plan says".to_owned(),
            names => names.join(", "),
        };
        let destinations: Vec<String> = self
            .destinations
            .iter()
            .map(|(tool, effect)| format!("{tool} ({})", effect.word()))
            .collect();
        let to = match destinations.as_slice() {
            [] => "the answer only".to_owned(),
            names => names.join(", "),
        };
        match self.models.as_slice() {
            [] => format!("{sources} → {to}"),
            models => format!("{sources} → {to} → {} (model)", models.join(", ")),
        }
    }
}

fn push<T: PartialEq>(names: &mut Vec<T>, name: T) {
    if !names.contains(&name) {
        names.push(name);
    }
}

/// The steps whose values reach a step, at first or at second hand.
fn upstream<'a>(checkup: &CheckedUnder<'a>, record: &'a StepRecord, from: &mut BTreeSet<&'a str>) {
    let mut left: Vec<&'a str> = record.reads.iter().map(String::as_str).collect();
    while let Some(id) = left.pop() {
        if !from.insert(id) {
            continue;
        }
        if let Some((_, record)) = checkup.plan.step(id) {
            left.extend(record.reads.iter().map(String::as_str));
        }
    }
}

/// What differs between two plans.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReachDiff {
    /// Facts that only the later plan has.
    pub grew: BTreeMap<Facet, Vec<String>>,
    /// Facts that only the earlier plan has.
    pub shrank: BTreeMap<Facet, Vec<String>>,
    /// Numbers that changed.
    pub counts: Vec<CountChange>,
    /// Sums of counted values that changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sums: Vec<SumChange>,
    /// What held the earlier plan back and does not hold the later one: guards, acceptances,
    /// approvals, undo, proofs, limits, order.
    pub weaker: Vec<String>,
}

/// A number that differs between two plans.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CountChange {
    /// Of what.
    pub of: String,
    /// In the earlier plan.
    pub from: u64,
    /// In the later plan.
    pub to: u64,
}

impl ReachDiff {
    /// From one plan to another.
    #[must_use]
    pub fn between(before: &Reach, after: &Reach) -> Self {
        let only = |these: &Reach, others: &Reach| -> BTreeMap<Facet, Vec<String>> {
            let none = BTreeSet::new();
            let of = |facet: Facet| {
                let others = others.facts.get(&facet).unwrap_or(&none);
                let these = these.facts.get(&facet)?;
                let kept: Vec<String> = these.difference(others).cloned().collect();
                (!kept.is_empty()).then_some((facet, kept))
            };
            Facet::ALL.into_iter().filter_map(of).collect()
        };
        let number = |reach: &Reach, of: &str| {
            let count = reach.counts.iter().find(|count| count.of == of);
            count.map_or(0, |count| count.n)
        };
        let mut names: Vec<&str> = Vec::new();
        for count in before.counts.iter().chain(&after.counts) {
            if !names.contains(&count.of.as_str()) {
                names.push(&count.of);
            }
        }
        let moved = |of: &str| CountChange {
            of: of.to_owned(),
            from: number(before, of),
            to: number(after, of),
        };
        let counts = names.into_iter().map(moved).filter(|m| m.from != m.to);
        Self {
            grew: only(after, before),
            shrank: only(before, after),
            counts: counts.collect(),
            sums: sums::moved(&before.sums, &after.sums),
            weaker: before.safeguards.lost(&after.safeguards),
        }
    }

    /// Whether nothing differs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self == &Self::default()
    }
}

/// The steps in the order in which they may run, each with the number of its wave: steps of one
/// number do not wait for one another.
#[must_use]
pub fn waves(plan: &CheckedPlan) -> Vec<(usize, &Step, &StepRecord)> {
    let mut wave: BTreeMap<&str, usize> = BTreeMap::new();
    let ids = || plan.plan().steps.iter().map(|step| step.id.value.as_str());
    // Why so many rounds: each settles at least one wave, and a checked plan has no cycle.
    for _ in ids() {
        for id in ids() {
            let Some((_, record)) = plan.step(id) else {
                continue;
            };
            let before = record
                .after
                .iter()
                .filter_map(|dep| wave.get(dep.as_str()))
                .max();
            let ready = record
                .after
                .iter()
                .all(|dep| wave.contains_key(dep.as_str()));
            if ready {
                let number = before.map_or(1, |n| n + 1);
                wave.insert(id, number);
            }
        }
        if wave.len() == plan.plan().steps.len() {
            break;
        }
    }
    let number = |id: &str| wave.get(id).copied().unwrap_or(0);
    let mut steps: Vec<_> = ids()
        .filter_map(|id| {
            plan.step(id)
                .map(|(step, record)| (number(id), step, record))
        })
        .collect();
    steps.sort_by_key(|(number, ..)| *number);
    steps
}

/// What becomes of a yes to the steps that are asked about, if one plan follows another.
#[must_use]
pub fn approvals(before: &CheckedPlan, after: &CheckedPlan) -> Delta {
    let records = &before.record().steps;
    let asks = records.iter().filter_map(|(id, record)| {
        let (step, _) = before.step(id)?;
        let verdict = record.verdict.as_ref()?;
        let asks = step.approval_required || verdict.decision == Decision::Ask;
        asks.then_some((id.as_str(), Some(record.closure)))
    });
    Delta::of(asks, after.record())
}

/// Where values come from and go, and the worst case, as data.
#[must_use]
pub fn to_json(checkup: &CheckedUnder<'_>) -> Map<String, Value> {
    let worst = worst_counts(checkup.worst).map(|(of, n)| (of.to_owned(), Value::from(n)));
    let mut worst: Map<String, Value> = worst.collect();
    let sums = sums::of(checkup.worst);
    if !sums.is_empty() {
        worst.insert("values".to_owned(), json!(sums));
    }
    let mut map = Map::new();
    map.insert("at_most".to_owned(), Value::Object(worst));
    let reach = Reach::of(checkup);
    map.insert("sources".to_owned(), json!(reach.sources));
    map.insert("destinations".to_owned(), json!(reach.destinations));
    map.insert("models".to_owned(), json!(reach.models));
    map
}
