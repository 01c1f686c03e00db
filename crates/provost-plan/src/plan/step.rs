//! A step: what it calls, when, over what, and what its failure leads to.
//!
//! Owns the form of a step and the list of all templates in it. Judges nothing. INVARIANT: a
//! template that a step holds stands in [`Step::templates`], so that no pass misses one.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Assertion, CallRole, SideCall, Subgoal};
use crate::catalog::Risk;
use crate::expr::{ArgTree, Template};
use crate::schema::Schema;
use crate::source::{Span, Spanned};

/// A node of a plan.
#[derive(Clone, Debug)]
pub struct Step {
    /// The id, unique in the plan and in all its revisions.
    pub id: Spanned<String>,
    /// What it is for.
    pub description: Option<Spanned<String>>,
    /// What it does: call a tool, ask a person, stand for a subgoal, or assert.
    pub kind: StepKind,
    /// The role it is in: a narrower allow list.
    pub role: Option<Spanned<String>>,
    /// Steps that must have ended before (order only).
    pub needs: Vec<Spanned<String>>,
    /// Whether it runs at all.
    pub when: Option<Template>,
    /// The list it runs over.
    pub for_each: Option<ForEach>,
    /// What its read is repeated for.
    pub until: Option<Until>,
    /// What must hold over its output for it to have succeeded.
    pub accept: Vec<Template>,
    /// The read that proves that it landed.
    pub confirm: Option<SideCall>,
    /// The call that takes back what it did.
    pub undo: Option<SideCall>,
    /// The type of its output, where the tool declares none.
    pub expect: Option<Schema>,
    /// How long one attempt may take, if less than the tool's own limit.
    pub timeout: Option<Duration>,
    /// How old a reading may be on which it acts, when it begins.
    pub fresh: Option<Spanned<Duration>>,
    /// Attempts for failures that may be repeated.
    pub retry: Option<Retry>,
    /// What a failure leads to.
    pub on_failure: OnFailure,
    /// The risk it declares.
    pub risk: Option<Spanned<Risk>>,
    /// Whether a person is asked whatever policy says.
    pub approval_required: bool,
    /// Where the whole step stands.
    pub span: Span,
    /// The step as canonical JSON, of which its digest is taken.
    pub value: Value,
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum StepKind {
    /// Calls a tool.
    Tool {
        /// The operation, `tool.operation`.
        tool: Spanned<String>,
        /// Its arguments: values and expressions.
        args: ArgTree,
    },
    /// Asks a person.
    Question {
        /// The question, with expressions over earlier steps.
        text: Template,
        /// The schema that the answer must fit.
        answer: Schema,
        /// Who is asked; anybody who may approve if empty.
        of: Option<Spanned<String>>,
        /// When it lapses; never if empty.
        expires: Option<Expiry>,
    },
    /// Is refined into other steps, and computes from them.
    Subgoal(Box<Subgoal>),
    /// Calls nothing, and says what must hold.
    Assertion(Box<Assertion>),
}

/// When a question lapses, and what its step comes to then.
#[derive(Clone, Debug)]
pub struct Expiry {
    /// How long after it was asked.
    pub after: Duration,
    /// The output of the step if nobody answered; without it, the step fails.
    pub default: Option<Spanned<Value>>,
}

impl Step {
    /// What it comes to where its question lapses, if it has such a value.
    #[must_use]
    pub fn default_answer(&self) -> Option<&Spanned<Value>> {
        match &self.kind {
            StepKind::Question { expires, .. } => expires.as_ref()?.default.as_ref(),
            StepKind::Tool { .. } | StepKind::Subgoal(_) | StepKind::Assertion(_) => None,
        }
    }

    /// The tool it calls.
    #[must_use]
    pub fn tool(&self) -> Option<&Spanned<String>> {
        match &self.kind {
            StepKind::Tool { tool, .. } => Some(tool),
            StepKind::Question { .. } | StepKind::Subgoal(_) | StepKind::Assertion(_) => None,
        }
    }

    /// The tools it names: the one it calls, the one that reads it back, the one that undoes it.
    pub fn tools(&self) -> impl Iterator<Item = &Spanned<String>> {
        self.calls().map(|(_, tool, _)| tool)
    }

    /// The name of the role it is in.
    #[must_use]
    pub fn role(&self) -> Option<&str> {
        self.role.as_ref().map(|role| role.value.as_str())
    }

    /// Every template in it, with the name of the field it stands in.
    pub fn templates(&self) -> Vec<(Field, &Template)> {
        let mut all = Vec::new();
        all.extend(self.when.iter().map(|t| (Field::When, t)));
        all.extend(self.for_each.iter().map(|f| (Field::ForEach, &f.list)));
        match &self.kind {
            StepKind::Tool { args, .. } => {
                let args = args.templates().into_iter();
                all.extend(args.map(|t| (Field::Args(CallRole::Own), t)));
            }
            StepKind::Question { text, .. } => all.push((Field::Question, text)),
            StepKind::Subgoal(subgoal) => {
                all.extend(subgoal.result.iter().map(|t| (Field::Result, t)));
            }
            StepKind::Assertion(assertion) => {
                all.push((Field::Assert, &assertion.condition));
                all.extend(assertion.message.iter().map(|t| (Field::Message, t)));
            }
        }
        all.extend(self.until.iter().map(|u| (Field::Until, &u.condition)));
        let own = self.accept.iter();
        all.extend(own.map(|t| (Field::Accept(CallRole::Own), t)));
        for role in CallRole::ALL {
            let Some(call) = self.side_call(role) else {
                continue;
            };
            let args = call.args.templates().into_iter();
            all.extend(args.map(|t| (Field::Args(role), t)));
            all.extend(call.accept.iter().map(|t| (Field::Accept(role), t)));
        }
        all
    }

    /// What holds over its output once it succeeded: `until`, then `accept`.
    pub fn conditions(&self) -> impl Iterator<Item = &Template> {
        let until = self.until.iter().map(|until| &until.condition);
        until.chain(&self.accept)
    }
}

/// The field of a step in which a template stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// `when`
    When,
    /// `for_each`
    ForEach,
    /// `args` of a call
    Args(CallRole),
    /// `question`
    Question,
    /// `result`
    Result,
    /// `assert`
    Assert,
    /// `message`
    Message,
    /// `until`
    Until,
    /// `accept` of a call
    Accept(CallRole),
}

/// A list that a step runs over.
#[derive(Clone, Debug)]
pub struct ForEach {
    /// An expression that gives the list.
    pub list: Template,
    /// The most items that it may have; a longer list fails the step.
    pub max_items: Spanned<u64>,
}

/// The condition that a read is repeated for, and how long.
#[derive(Clone, Debug)]
pub struct Until {
    /// What must hold over its output for the read not to be repeated.
    pub condition: Template,
    /// The wait between the end of one poll and the next.
    pub every: Duration,
    /// How long after the beginning of the first poll the last may begin.
    pub at_most: Duration,
}

impl Until {
    /// The most polls of one read, the first included.
    #[must_use]
    pub fn polls(&self) -> u64 {
        let every = self.every.as_millis().max(1);
        let more = self.at_most.as_millis() / every;
        u64::try_from(more).unwrap_or(u64::MAX).saturating_add(1)
    }
}

/// Attempts for failures that may be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    /// Most attempts in all, the first included.
    pub attempts: u32,
    /// The wait before the second attempt; it doubles each time.
    pub backoff: Duration,
}

impl Retry {
    /// The attempts of a step that says nothing about them.
    pub const DEFAULT: Self = Self {
        attempts: 3,
        backoff: Duration::from_millis(500),
    };
    /// The longest wait between two attempts that a plan can ask for.
    pub const WAIT_MAX: Duration = Duration::from_secs(60);

    /// The wait after the attempt numbered `tries`, from 1.
    #[must_use]
    pub fn wait_after(self, tries: u32) -> Duration {
        let doubled = 1u32 << tries.saturating_sub(1).min(16);
        self.backoff.saturating_mul(doubled).min(Self::WAIT_MAX)
    }
}

/// What a failure of a step leads to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnFailure {
    /// The planner is asked for a revision.
    #[default]
    Replan,
    /// The run fails.
    Stop,
    /// The plan goes on.
    Continue,
    /// A person is asked.
    Escalate,
}

impl OnFailure {
    /// Whether steps that depend on one that failed may run all the same: the plan says so, or a
    /// person may.
    #[must_use]
    pub fn may_go_on(self) -> bool {
        matches!(self, Self::Continue | Self::Escalate)
    }
}
