//! What is remembered of a step and of each of its items.

use std::collections::BTreeMap;

use provost_plan::amount::Amount;
use provost_plan::digest::Digest;
use provost_plan::money::Money;
use serde_json::{Value, json};

use super::item_progress::{Doubt, ItemProgress, Success};
use crate::call::{PREVIEW_ATTEMPT, Purpose};
use crate::card::PreviewResult;
use crate::earlier::EarlierCalls;
use crate::event::{SkipReason, StepStatus};
use crate::outcome::{Class, Landing};

/// What is remembered of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepState {
    /// Its status.
    pub status: StepStatus,
    /// Its closure digest, under the plan in force.
    pub closure: Digest,
    /// Whether it runs over a list.
    pub is_list: bool,
    /// Whether the list was evaluated.
    pub listed: bool,
    /// The items of the list.
    pub list: Vec<Value>,
    /// One, or one an item.
    pub items: Vec<ItemState>,
    /// Why it was skipped.
    pub skipped: Option<SkipReason>,
    /// The class of its failure.
    pub class: Option<Class>,
    /// What went wrong.
    pub message: Option<String>,
    /// What expressions see: `{status, output, error}`.
    pub view: Value,
    /// How often each reading was taken again for it, by its slot.
    pub retaken: BTreeMap<String, u32>,
}

/// What is remembered of an item.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ItemState {
    /// How far it is.
    pub progress: ItemProgress,
    /// What a tool or a person gave for it.
    pub observed: Option<Observed>,
    /// What people were asked and said about it.
    pub consent: Consent,
    /// What was called for it so far.
    pub history: CallHistory,
    /// The attempt in flight, whatever it is made for.
    pub in_flight: Option<InFlight>,
    /// When the next attempt may begin.
    pub retry_at: Option<i64>,
}

/// What was observed of an item.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    /// The output.
    pub output: Value,
    /// When it was observed.
    pub at: i64,
}

/// What people were asked and said about the call of an item.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Consent {
    /// The card that waits for an answer about it.
    pub card: Option<Digest>,
    /// The card that was approved, and the digest of the arguments it showed.
    pub approved: Option<(Digest, Digest)>,
    /// What was read to show what its call is about, until a card shows it.
    pub preview: Option<Previewed>,
}

/// What was called for an item so far, and what came of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallHistory {
    /// The number of the last attempt.
    pub attempt: u32,
    /// Attempts that a tool answered (those lost with a process are not counted).
    pub tries: u32,
    /// When the first attempt began: an idempotency key lives from there.
    pub first_at: Option<i64>,
    /// The digest of the catalog entry that was called.
    pub tool: Option<Digest>,
    /// The idempotency key that every attempt sends.
    pub key: Option<String>,
    /// The arguments of the last write, by digest, and the equal calls by which it was judged.
    pub earlier: Option<(Digest, EarlierCalls)>,
    /// What was counted for it of each counted value.
    pub counted: BTreeMap<String, Amount>,
    /// How often admission put it off in a row.
    pub deferrals: u32,
    /// Whether the last attempt may have taken place.
    pub landing: Option<Landing>,
    /// The class of the last answer, or of the failure that settled it.
    pub class: Option<Class>,
    /// The digest of the arguments of the last attempt that a tool answered well.
    pub args: Option<Digest>,
    /// The bytes behind the output, or behind the last failure.
    pub evidence: Option<Digest>,
}

/// What a preview came to, for one call.
#[derive(Clone, Debug, PartialEq)]
pub struct Previewed {
    /// The digest of the call's arguments.
    pub of: Digest,
    /// The closure digest of its step.
    pub closure: Digest,
    /// When it was read.
    pub at: i64,
    /// The bytes behind it.
    pub evidence: Option<Digest>,
    /// What came of it.
    pub came: PreviewResult,
}

/// An attempt in flight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InFlight {
    /// The operation.
    pub operation: String,
    /// The digest of the arguments.
    pub args_digest: Digest,
    /// The digest of the values at sinks, of what is no read.
    pub sinks: Option<Digest>,
    /// Whether it is a read.
    pub read: bool,
    /// Whether a key is sent.
    pub keyed: bool,
    /// What it is made for.
    pub purpose: Purpose,
    /// The closure digest of its step.
    pub closure: Digest,
    /// The money that is reserved for it.
    pub money: Money,
    /// The tokens that are reserved for it.
    pub tokens: u64,
}

impl ItemState {
    /// What the attempt in flight is made for.
    #[must_use]
    pub fn purpose(&self) -> Option<&Purpose> {
        self.in_flight.as_ref().map(|flight| &flight.purpose)
    }

    /// The number of the attempt in flight.
    #[must_use]
    pub fn flying(&self) -> Option<u32> {
        // Why 0: a preview is no attempt of the step, whose own numbers go on without it.
        let shows = self.purpose()?.is_preview();
        Some(if shows {
            PREVIEW_ATTEMPT
        } else {
            self.history.attempt
        })
    }

    /// The number of its next attempt.
    #[must_use]
    pub fn next_attempt(&self) -> u32 {
        self.history.attempt + 1
    }

    /// Whether its call was begun, and was not found to have come to nothing.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.history.first_at.is_some()
    }

    /// Its status, once it is settled or in doubt.
    #[must_use]
    pub fn status(&self) -> Option<StepStatus> {
        self.progress.status()
    }

    /// Whether it is neither settled nor in doubt.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.status().is_none()
    }

    /// Whether it was observed and is not settled: of a step with `confirm`, a read has still to
    /// prove it.
    #[must_use]
    pub fn is_unconfirmed(&self) -> bool {
        matches!(self.progress, ItemProgress::Unconfirmed { .. })
    }

    /// Reads that were to prove it, once one began.
    #[must_use]
    pub fn confirm_reads(&self) -> Option<u32> {
        match self.progress {
            ItemProgress::Unconfirmed { reads } => reads,
            _ => None,
        }
    }

    /// Whether nobody knows if it took place, or what it gave.
    #[must_use]
    pub fn is_in_doubt(&self) -> bool {
        self.doubt().is_some()
    }

    /// The doubt that it is in.
    #[must_use]
    pub fn doubt(&self) -> Option<&Doubt> {
        match &self.progress {
            ItemProgress::InDoubt(doubt) => Some(doubt),
            _ => None,
        }
    }

    pub(super) fn doubt_mut(&mut self) -> Option<&mut Doubt> {
        match &mut self.progress {
            ItemProgress::InDoubt(doubt) => Some(doubt),
            _ => None,
        }
    }

    /// What is known of it once it succeeded.
    #[must_use]
    pub fn success(&self) -> Option<&Success> {
        match &self.progress {
            ItemProgress::Succeeded(success) => Some(success),
            _ => None,
        }
    }

    /// While its reading is taken again: attempts at it that a tool answered.
    #[must_use]
    pub fn retaking(&self) -> Option<u32> {
        self.success().and_then(|success| success.retaking)
    }

    pub(super) fn success_mut(&mut self) -> Option<&mut Success> {
        match &mut self.progress {
            ItemProgress::Succeeded(success) => Some(success),
            _ => None,
        }
    }

    /// The output.
    #[must_use]
    pub fn output(&self) -> Option<&Value> {
        self.observed.as_ref().map(|observed| &observed.output)
    }
}

impl StepState {
    /// A step that waits for others.
    #[must_use]
    pub fn pending(closure: Digest, is_list: bool) -> Self {
        Self {
            status: StepStatus::Pending,
            closure,
            is_list,
            listed: false,
            list: Vec::new(),
            items: if is_list {
                Vec::new()
            } else {
                vec![ItemState::default()]
            },
            skipped: None,
            class: None,
            message: None,
            view: json!({ "status": StepStatus::Pending.word() }),
            retaken: BTreeMap::new(),
        }
    }

    /// Whether any attempt of it began.
    #[must_use]
    pub fn attempted(&self) -> bool {
        self.items.iter().any(|item| item.history.attempt > 0)
    }

    /// Opens a step again of which an effect was in doubt.
    pub(super) fn reopen(&mut self) {
        self.status = StepStatus::Running;
        self.class = None;
        self.message = None;
        self.view = json!({ "status": StepStatus::Running.word() });
    }

    /// Sets the status and what expressions see of it.
    pub(super) fn set_status(&mut self, status: StepStatus) {
        self.status = status;
        if let Value::Object(map) = &mut self.view {
            map.insert("status".to_owned(), status.word().into());
        }
    }

    /// Fixes what expressions see once the step is final.
    pub(super) fn close_view(&mut self) {
        let mut view = serde_json::Map::new();
        view.insert("status".to_owned(), self.status.word().into());
        if self.status == StepStatus::Succeeded || self.is_list {
            let outputs = self
                .items
                .iter()
                .map(|item| item.output().cloned().unwrap_or(Value::Null));
            if self.is_list && self.listed {
                view.insert("output".to_owned(), outputs.collect());
            } else if let Some(output) = self.items.first().and_then(ItemState::output) {
                view.insert("output".to_owned(), output.clone());
            }
        }
        if let Some(class) = self.class {
            let message = self.message.clone().unwrap_or_default();
            view.insert(
                "error".to_owned(),
                json!({ "class": class.word(), "message": message }),
            );
        }
        self.view = Value::Object(view);
    }
}
