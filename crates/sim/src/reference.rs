//! A second, slow reading of the rules of the check, to hold the first against.
//!
//! Owns the rules of refs, roles, effects, units, sums, flow and verdicts as the documents state
//! them, written without the code of `provost_plan::check`, and the comparison ([`compare`]) over
//! generated plans ([`plans`]). Shares the syntax tree and nothing else: no graph, label, fact,
//! schema or policy of the check. INVARIANT: a rule that the documents state is read from them
//! alone. Where they are silent the reading follows the check: the label of an item of a computed
//! list, of a position and of an operand that stands in the goal, what is known before the run,
//! and risk by effect.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::catalog::Operation;
use provost_plan::expr::Template;
use provost_plan::plan::{CallRole, Field, Plan, Step};
use provost_plan::source::Span;
use serde_json::{Map, Value};

pub mod absent;
pub mod compare;
pub mod constants;
pub mod effects;
pub mod evaluate;
pub mod exclusive;
pub mod flow;
pub mod names;
pub mod plans;
pub mod refs;
pub mod roles;
pub mod schemas;
pub mod sums;
pub mod units;
pub mod verdicts;

/// What a plan is judged under, as data.
#[derive(Debug)]
pub struct Setting<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The operations by name.
    pub operations: &'a BTreeMap<String, Operation>,
    /// The tools that each role admits.
    pub roles: &'a BTreeMap<String, BTreeSet<String>>,
    /// The parameters of the goal.
    pub params: &'a Map<String, Value>,
    /// The text of the goal.
    pub goal: &'a str,
    /// How far the literals of the plan's author may be believed.
    pub literals: Trust,
    /// How far the choice of this plan may be believed.
    pub control: Trust,
}

/// How far a value may be believed, from the most to the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trust {
    /// A person or the operator vouches for it.
    Trusted,
    /// Nobody does, but it is of a closed kind.
    Data,
    /// Nobody does, and it may say anything.
    Text,
}

/// The label of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tag {
    /// How far it may be believed.
    pub trust: Trust,
    /// Whether it must not leave.
    pub secret: bool,
}

impl Tag {
    /// The label of what a person wrote.
    pub const TRUSTED: Self = Self {
        trust: Trust::Trusted,
        secret: false,
    };

    /// The label that is as bad as the worse of both.
    #[must_use]
    pub fn worse(self, other: Self) -> Self {
        Self {
            trust: self.trust.max(other.trust),
            secret: self.secret || other.secret,
        }
    }
}

/// Policy's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Word {
    /// It runs by itself.
    Permit,
    /// A person is asked.
    Ask,
    /// A person is asked if the values turn out so.
    AskPerhaps,
    /// It does not run.
    Forbid,
}

/// What the rules say of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// Each code with the place it stands at.
    pub findings: BTreeSet<(String, String)>,
    /// The parts of expressions that are never evaluated.
    pub dead: BTreeSet<Span>,
    /// The label of each argument, by step and name.
    pub labels: BTreeMap<(String, String), Tag>,
    /// The label of what decides that a step runs.
    pub controls: BTreeMap<String, Tag>,
    /// Policy's word on each step.
    pub verdicts: BTreeMap<String, Word>,
    /// Pairs of writes that need no order because their guards exclude each other.
    pub apart: usize,
}

impl Answers {
    /// Adds a finding.
    pub fn find(&mut self, code: &str, place: impl Into<String>) {
        self.findings.insert((code.to_owned(), place.into()));
    }
}

/// Judges a plan.
#[must_use]
pub fn judge(setting: &Setting<'_>) -> Answers {
    let mut answers = Answers::default();
    refs::judge(setting, &mut answers);
    absent::judge(setting, &mut answers);
    roles::judge(setting, &mut answers);
    effects::judge(setting, &mut answers);
    units::judge(setting, &mut answers);
    sums::judge(setting, &mut answers);
    flow::judge(setting, &mut answers);
    verdicts::judge(setting, &mut answers);
    answers
}

/// A template with where it stands.
#[derive(Debug)]
pub struct Spot<'a> {
    /// The number of its step; none in the answer and the proofs.
    pub step: Option<usize>,
    /// The field of the step.
    pub field: Option<Field>,
    /// In words.
    pub place: String,
    /// The template.
    pub template: &'a Template,
}

impl<'a> Setting<'a> {
    /// The label of what the author of the plan wrote.
    fn by_its_author(&self) -> Tag {
        Tag {
            trust: self.literals,
            secret: false,
        }
    }

    /// The first step called `id`, with its number.
    #[must_use]
    pub fn step(&self, id: &str) -> Option<(usize, &'a Step)> {
        let mut steps = self.plan.steps.iter().enumerate();
        steps.find(|(_, step)| step.id.value == id)
    }

    /// The operation a step calls.
    #[must_use]
    pub fn operation(&self, step: &Step) -> Option<&'a Operation> {
        self.operations.get(&step.tool()?.value)
    }

    /// Every template of the plan.
    #[must_use]
    pub fn spots(&self) -> Vec<Spot<'a>> {
        let mut spots = Vec::new();
        for (number, step) in self.plan.steps.iter().enumerate() {
            for (field, template) in step.templates() {
                spots.push(Spot {
                    step: Some(number),
                    field: Some(field),
                    place: format!("{}.{}", place_of(number, step), field_word(field)),
                    template,
                });
            }
        }
        for (number, claim) in self.plan.answer.iter().enumerate() {
            let whens = claim.when.iter().map(|when| ("when", when));
            for (word, template) in whens.chain([("text", &claim.text)]) {
                spots.push(Spot {
                    step: None,
                    field: None,
                    place: format!("answer{number}.{word}"),
                    template,
                });
            }
        }
        for (number, proof) in self.plan.success.iter().enumerate() {
            spots.push(Spot {
                step: None,
                field: None,
                place: format!("success{number}.check"),
                template: &proof.check,
            });
        }
        spots
    }
}

/// The name of an argument among those of all calls of its step.
#[must_use]
pub fn labelled(role: CallRole, name: &str) -> String {
    match role {
        CallRole::Own => name.to_owned(),
        CallRole::Confirm => format!("confirm.{name}"),
        CallRole::Undo => format!("undo.{name}"),
    }
}

/// The name of a step's place: ids may occur twice, numbers do not.
#[must_use]
pub fn place_of(number: usize, step: &Step) -> String {
    format!("{number}:{}", step.id.value)
}

fn field_word(field: Field) -> &'static str {
    match field {
        Field::When => "when",
        Field::ForEach => "for_each",
        Field::Args(CallRole::Own) => "args",
        Field::Question => "question",
        Field::Result => "result",
        Field::Assert => "assert",
        Field::Message => "message",
        Field::Until => "until",
        Field::Accept(CallRole::Own) => "accept",
        Field::Args(CallRole::Confirm) => "confirm.args",
        Field::Accept(_) => "confirm.accept",
        Field::Args(CallRole::Undo) => "undo.args",
    }
}
