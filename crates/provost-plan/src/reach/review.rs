//! What whoever says yes has to know of each step: when, what, to whom, from where each value
//! comes, what proves it, what takes it back, who is asked, what it takes.
//!
//! Owns these facts as data, which `show` prints and its JSON holds. Judges nothing: each is read
//! from the plan, the catalog or the record of the check. INVARIANT: the review of a step that is
//! more than a plain read has every argument of its calls, whole.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Value, json};

use super::{CheckedUnder, LeftOut, waves};
use crate::catalog::{Effect, Idempotency, Operation, Risk};
use crate::check::StepRecord;
use crate::check::budget::StepWorst;
use crate::expr::{ArgTree, Key, Reference, Root, Segment, Template};
use crate::label::Label;
use crate::plan::{CallRole, OnFailure, Retry, Step, StepKind};
use crate::policy::Verdict;

/// What a step does, for whoever reviews it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReviewKind {
    /// It only looks.
    Read,
    /// It changes something, reaches somebody, or sends values out to look.
    Write,
    /// It asks a person.
    Question,
    /// It stands for other steps.
    Subgoal,
    /// It says what must hold.
    Assertion,
}

/// A step as a reviewer sees it.
#[derive(Clone, Debug, Serialize)]
pub struct StepReview {
    /// Its id.
    pub id: String,
    /// Steps of one number do not wait for one another; a higher number runs later.
    pub order: usize,
    /// What it does.
    pub kind: ReviewKind,
    /// What it is for.
    pub description: Option<String>,
    /// The operation it calls.
    pub tool: Option<String>,
    /// The role it is in.
    pub role: Option<String>,
    /// What the operation does to the world.
    pub effect: Option<Effect>,
    /// Its risk.
    pub risk: Risk,
    /// Whether the plan names the call that takes it back.
    pub reversible: bool,
    /// The steps it waits for.
    pub after: BTreeSet<String>,
    /// Those among them that it reads nothing of.
    pub needs: Vec<String>,
    /// The condition under which it runs.
    pub when: Option<String>,
    /// What must hold before it runs, asserted by other steps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub asserted: Vec<AssertedReview>,
    /// The list it runs over.
    pub for_each: Option<ListReview>,
    /// Where what decides that it runs comes from, and over what.
    pub control: ValueOrigin,
    /// How old a reading may be that it acts on, in milliseconds.
    pub fresh_ms: Option<u64>,
    /// Every argument of its call.
    pub args: Vec<ArgumentReview>,
    /// What a read is repeated for.
    pub until: Option<PollReview>,
    /// What must hold over its output.
    pub accept: Vec<String>,
    /// The read that proves it.
    pub confirm: Option<SideCallReview>,
    /// The call that takes it back.
    pub undo: Option<SideCallReview>,
    /// The question it asks, and whom.
    pub question: Option<QuestionReview>,
    /// What it stands for.
    pub subgoal: Option<SubgoalReview>,
    /// What it asserts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assertion: Option<AssertionReview>,
    /// Policy's word, and how a person is asked; none of a question.
    pub verdict: Option<Verdict>,
    /// What bounds its calls; none of what makes no call.
    pub limits: Option<LimitsReview>,
    /// What a failure leads to.
    pub on_failure: OnFailure,
}

/// What another step asserts of a step that waits for it.
#[derive(Clone, Debug, Serialize)]
pub struct AssertedReview {
    /// The step that asserts it.
    pub by: String,
    /// The condition.
    pub condition: String,
}

/// What a step asserts.
#[derive(Clone, Debug, Serialize)]
pub struct AssertionReview {
    /// The condition.
    pub condition: String,
    /// What is said where it does not hold.
    pub message: Option<String>,
}

/// A list that a step runs over.
#[derive(Clone, Debug, Serialize)]
pub struct ListReview {
    /// The expression that gives it.
    pub list: String,
    /// The most items it may have.
    pub max_items: u64,
}

/// The condition that a read is repeated for.
#[derive(Clone, Debug, Serialize)]
pub struct PollReview {
    /// The condition.
    pub condition: String,
    /// The wait between two polls, in milliseconds.
    pub every_ms: u64,
    /// How long it polls, in milliseconds.
    pub at_most_ms: u64,
}

/// An argument of a call.
#[derive(Clone, Debug, Serialize)]
pub struct ArgumentReview {
    /// Its name.
    pub name: String,
    /// Whether it decides who or what is reached.
    pub sink: bool,
    /// The value, or what is written where it is known only at run time.
    pub value: Value,
    /// Whether that is the value.
    pub known: bool,
    /// When it is not sent; none if it always is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
    /// Where it comes from.
    pub from: ValueOrigin,
    /// Why only the run can tell whether it fits.
    pub checked_at_run_time: Option<String>,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ValueOrigin {
    /// How far it may be believed, which steps it rests on, and whether it is secret.
    #[serde(flatten)]
    pub label: Label,
    /// Whether nothing of it is computed.
    pub literal: bool,
    /// The parameters that it reads.
    pub params: BTreeSet<String>,
    /// The steps whose output it reads itself, also by the item of a list.
    pub steps: BTreeSet<String>,
    /// Those among them that are answers of people.
    pub answers: BTreeSet<String>,
    /// Those among the answers that nobody may have given: their question has a default.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub defaults: BTreeSet<String>,
    /// Those among them that give what nobody vouches for.
    pub untrusted: BTreeSet<String>,
}

/// A call beside a step's own.
#[derive(Clone, Debug, Serialize)]
pub struct SideCallReview {
    /// The operation.
    pub tool: String,
    /// Its arguments, as they are written.
    pub args: Value,
    /// What must hold over what it reads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accept: Vec<String>,
    /// Policy's word on it.
    pub verdict: Option<Verdict>,
}

/// A question to a person.
#[derive(Clone, Debug, Serialize)]
pub struct QuestionReview {
    /// What is asked.
    pub text: String,
    /// Who is asked; whoever may approve if nobody is named.
    pub of: Option<String>,
    /// How long an answer is waited for, in milliseconds; until there is one if it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_ms: Option<u64>,
    /// What it comes to without an answer; without it, the step fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// Both in words.
    #[serde(skip)]
    pub lapse: Option<String>,
}

/// A step that others refine.
#[derive(Clone, Debug, Serialize)]
pub struct SubgoalReview {
    /// What is to be found out or done.
    pub text: String,
    /// The tools its steps may call.
    pub tools: Vec<String>,
    /// The highest effect a step may have.
    pub effect_max: Effect,
    /// The most steps.
    pub steps_max: u64,
    /// What it comes to; none while it is open.
    pub result: Option<String>,
}

/// What bounds the calls of a step.
#[derive(Clone, Debug, Serialize)]
pub struct LimitsReview {
    /// The most calls.
    pub calls: u64,
    /// The most attempts of one call.
    pub attempts: u64,
    /// The longest time of one attempt, in milliseconds.
    pub timeout_ms: u64,
    /// The most money of all its calls; none if no price is set.
    pub money: Option<String>,
    /// What becomes of a call whose reply is lost.
    pub lost_reply: LostReply,
}

/// What becomes of a call whose reply is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LostReply {
    /// It is made again: a repetition changes nothing, or the tool recognises it.
    Repeated,
    /// A read of the tool's entry tells whether it happened.
    LookedUp,
    /// A person says whether it happened.
    Person,
}

impl CheckedUnder<'_> {
    /// Every step as a reviewer sees it, in the order in which they may run.
    #[must_use]
    pub fn reviews(&self) -> Vec<StepReview> {
        let steps = waves(self.plan).into_iter();
        steps
            .map(|(order, step, record)| self.review(order, step, record))
            .collect()
    }

    fn review(&self, order: usize, step: &Step, record: &StepRecord) -> StepReview {
        let operation = self.operation(step);
        let calls = self.calls(step);
        let effect = calls.iter().map(|operation| operation.effect).max();
        let kind = match &step.kind {
            StepKind::Question { .. } => ReviewKind::Question,
            StepKind::Subgoal(_) => ReviewKind::Subgoal,
            StepKind::Assertion(_) => ReviewKind::Assertion,
            StepKind::Tool { .. } if effect == Some(Effect::Read) => ReviewKind::Read,
            StepKind::Tool { .. } => ReviewKind::Write,
        };
        StepReview {
            id: step.id.value.clone(),
            order,
            kind,
            description: step.description.as_ref().map(|text| text.value.clone()),
            tool: step.tool().map(|tool| tool.value.clone()),
            role: step.role().map(str::to_owned),
            effect,
            risk: record.risk,
            reversible: step.undo.is_some(),
            after: record.after.clone(),
            needs: record.after.difference(&record.reads).cloned().collect(),
            when: step.when.as_ref().map(written),
            asserted: self.asserted(step),
            for_each: step.for_each.as_ref().map(|each| ListReview {
                list: written(&each.list),
                max_items: each.max_items.value,
            }),
            control: self.control(step, record),
            fresh_ms: step.fresh.as_ref().map(|fresh| ms(fresh.value)),
            args: self.arguments(step, record),
            until: step.until.as_ref().map(|until| PollReview {
                condition: written(&until.condition),
                every_ms: ms(until.every),
                at_most_ms: ms(until.at_most),
            }),
            accept: step.accept.iter().map(written).collect(),
            confirm: side_call(step, record, CallRole::Confirm),
            undo: side_call(step, record, CallRole::Undo),
            question: question(step),
            subgoal: subgoal(step),
            assertion: step.assertion().map(|asserted| AssertionReview {
                condition: written(&asserted.condition),
                message: asserted.message.as_ref().map(|text| text.text().to_owned()),
            }),
            verdict: record.verdict.clone(),
            limits: operation.map(|operation| self.limits(step, operation)),
            on_failure: step.on_failure,
        }
    }

    /// What the assertions say that hold a step back.
    fn asserted(&self, step: &Step) -> Vec<AssertedReview> {
        let before = self.plan.assertions(&step.id.value).into_iter();
        let review = |by: &Step| {
            let asserted = by.asserted()?;
            Some(AssertedReview {
                by: by.id.value.clone(),
                condition: written(&asserted.condition),
            })
        };
        before.filter_map(review).collect()
    }

    fn arguments(&self, step: &Step, record: &StepRecord) -> Vec<ArgumentReview> {
        let StepKind::Tool { args, .. } = &step.kind else {
            return Vec::new();
        };
        let argument = |entry: &(Key, ArgTree)| {
            let (key, tree) = entry;
            let name = key.as_str();
            let given = self.argument(step, entry);
            let label = record.labels.get(name).cloned().unwrap_or_default();
            let first = |pointer: &str| pointer.split('/').nth(1) == Some(name);
            let mut checks = record.run_checks.iter();
            ArgumentReview {
                name: name.to_owned(),
                sink: self.is_sink(step, name),
                known: given.known,
                value: given.value,
                left_out: given.left_out,
                from: self.origin(step, &tree.templates(), label),
                checked_at_run_time: checks
                    .find(|check| first(&check.argument))
                    .map(|check| check.reason.clone()),
            }
        };
        args.entries().iter().map(argument).collect()
    }

    /// Where what decides that a step runs comes from.
    fn control(&self, step: &Step, record: &StepRecord) -> ValueOrigin {
        let list = step.for_each.iter().map(|each| &each.list);
        let deciding: Vec<&Template> = step.when.iter().chain(list).collect();
        self.origin(step, &deciding, record.control.clone())
    }

    /// Where a value comes from: what its expressions read themselves, beside its label.
    fn origin(&self, step: &Step, templates: &[&Template], label: Label) -> ValueOrigin {
        let mut origin = ValueOrigin {
            label,
            literal: templates.iter().all(|template| template.is_constant()),
            params: BTreeSet::new(),
            steps: BTreeSet::new(),
            answers: BTreeSet::new(),
            defaults: BTreeSet::new(),
            untrusted: BTreeSet::new(),
        };
        let list = step.for_each.iter().flat_map(|each| each.list.references());
        let over: Vec<&Reference> = list.collect();
        for read in templates.iter().flat_map(|template| template.references()) {
            match &read.root {
                Root::Item | Root::Index => over.iter().for_each(|read| origin.add(read)),
                _ => origin.add(read),
            }
        }
        for id in &origin.steps {
            let step = self.plan.plan().step(id);
            if step.is_some_and(|step| matches!(step.kind, StepKind::Question { .. })) {
                origin.answers.insert(id.clone());
                let default = step.and_then(Step::default_answer);
                origin.defaults.extend(default.map(|_| id.clone()));
            } else if !step
                .and_then(|step| self.operation(step))
                .is_some_and(|op| op.trusted)
            {
                origin.untrusted.insert(id.clone());
            }
        }
        origin
    }

    fn limits(&self, step: &Step, operation: &Operation) -> LimitsReview {
        let rows = &self.worst.rows;
        let row: Option<&StepWorst> = rows.iter().find(|row| row.step == step.id.value);
        let items = step
            .for_each
            .as_ref()
            .map_or(1, |each| each.max_items.value);
        let tries = step.retry.unwrap_or(Retry::DEFAULT).attempts;
        let timeout = step
            .timeout
            .map_or(operation.timeout, |own| own.min(operation.timeout));
        let repeated = operation.effect.is_read() || operation.idempotency != Idempotency::None;
        LimitsReview {
            calls: row.map_or(items, |row| row.calls),
            attempts: row.map_or(u64::from(tries), |row| row.attempts / row.calls.max(1)),
            timeout_ms: ms(timeout),
            money: row
                .filter(|row| row.unpriced.is_empty())
                .map(|row| row.money.to_string()),
            lost_reply: match &operation.reconcile {
                _ if repeated => LostReply::Repeated,
                Some(_) => LostReply::LookedUp,
                None => LostReply::Person,
            },
        }
    }
}

impl ValueOrigin {
    fn add(&mut self, read: &Reference) {
        match (&read.root, read.path.first()) {
            (Root::Step(id), _) => {
                self.steps.insert(id.clone());
            }
            (Root::Params, Some(Segment::Field(name))) => {
                self.params.insert(name.clone());
            }
            _ => {}
        }
    }
}

fn side_call(step: &Step, record: &StepRecord, role: CallRole) -> Option<SideCallReview> {
    let call = step.side_call(role)?;
    let field = step.value.get(role.field()?)?;
    let known = match role {
        CallRole::Own => None,
        CallRole::Confirm => record.confirm.as_ref(),
        CallRole::Undo => record.undo.as_ref(),
    };
    Some(SideCallReview {
        tool: call.tool.value.clone(),
        args: field.get("args").cloned().unwrap_or_else(|| json!({})),
        accept: call.accept.iter().map(written).collect(),
        verdict: known.map(|known| known.verdict.clone()),
    })
}

fn question(step: &Step) -> Option<QuestionReview> {
    let StepKind::Question {
        text, of, expires, ..
    } = &step.kind
    else {
        return None;
    };
    Some(QuestionReview {
        text: text.text().to_owned(),
        of: of.as_ref().map(|of| of.value.clone()),
        expires_ms: expires.as_ref().map(|expires| ms(expires.after)),
        default: step.default_answer().map(|default| default.value.clone()),
        lapse: expires.as_ref().map(super::lapse),
    })
}

fn subgoal(step: &Step) -> Option<SubgoalReview> {
    let subgoal = step.subgoal()?;
    let tools = subgoal.tools.iter();
    Some(SubgoalReview {
        text: subgoal.text.value.clone(),
        tools: tools.map(|tool| tool.value.clone()).collect(),
        effect_max: subgoal.effect_max.value,
        steps_max: subgoal.steps_max.value,
        result: subgoal.result.as_ref().map(written),
    })
}

/// A template as it is written, on one line: an expression without the marks around it.
fn written(template: &Template) -> String {
    let whole = template.whole().map(|whole| whole.source());
    let lines = whole.unwrap_or(template.text()).lines().map(str::trim);
    lines.collect::<Vec<_>>().join(" ").trim().to_owned()
}

fn ms(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
