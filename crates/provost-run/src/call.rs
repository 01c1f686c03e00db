//! A call: the one thing that may touch a real system.
//!
//! Owns the type and its only constructor, which this crate alone can reach and which demands the
//! approved plan the call belongs to. INVARIANT: nobody outside the run machine can make a call.

use std::sync::Arc;
use std::time::Duration;

use provost_plan::approve::ApprovedPlan;
use provost_plan::catalog::{Effect, Operation};
use provost_plan::digest::{Digest, Domain};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The number of every preview.
pub(crate) const PREVIEW_ATTEMPT: u32 = 0;

/// A call that policy or a person allowed, of a step of an approved plan.
///
/// It has no public constructor:
///
/// ```compile_fail,E0624
/// use provost_run::call::{Call, Slot};
/// use provost_plan::{approve::ApprovedPlan, catalog::Operation};
/// fn forge(plan: &ApprovedPlan, slot: Slot, operation: std::sync::Arc<Operation>) {
///     Call::under(plan, slot, 1, operation, serde_json::json!({}), None);
/// }
/// ```
///
/// Nor can it be read from a text, as its slot can:
///
/// ```compile_fail,E0277
/// use provost_run::call::Call;
/// fn forge(text: &str) -> Call { serde_json::from_str(text).unwrap() }
/// ```
///
/// ```
/// use provost_run::call::Slot;
/// fn read(text: &str) -> Slot { serde_json::from_str(text).unwrap() }
/// ```
#[derive(Clone, Debug)]
pub struct Call {
    slot: Slot,
    attempt: u32,
    operation: Arc<Operation>,
    args: Value,
    key: Option<String>,
    timeout: Duration,
}

/// Which step, and which of its items.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Slot {
    /// The step's id.
    pub step: String,
    /// The item of a `for_each`, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<usize>,
}

/// What a call is made for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "PurposeFields", into = "PurposeFields")]
pub enum Purpose {
    /// For what its step is about.
    #[default]
    Effect,
    /// To take a reading again that is too old for a step.
    Retake {
        /// The id of that step.
        for_step: String,
    },
    /// To show a person what a call is about.
    Preview {
        /// The digest of that call's arguments.
        of: Digest,
    },
    /// To prove what the write of the step did.
    Confirm,
    /// To ask whether an earlier attempt of the step took place.
    Reconcile,
}

/// A purpose as journals hold it: at most one of these.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct PurposeFields {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    reconciles: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    retakes_for: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    confirms: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    previews: Option<Digest>,
}

impl From<PurposeFields> for Purpose {
    fn from(fields: PurposeFields) -> Self {
        match fields {
            PurposeFields {
                retakes_for: Some(for_step),
                ..
            } => Self::Retake { for_step },
            PurposeFields {
                previews: Some(of), ..
            } => Self::Preview { of },
            PurposeFields {
                reconciles: true, ..
            } => Self::Reconcile,
            PurposeFields { confirms: true, .. } => Self::Confirm,
            _ => Self::Effect,
        }
    }
}

impl From<Purpose> for PurposeFields {
    fn from(purpose: Purpose) -> Self {
        let mut fields = Self::default();
        match purpose {
            Purpose::Effect => {}
            Purpose::Retake { for_step } => fields.retakes_for = Some(for_step),
            Purpose::Preview { of } => fields.previews = Some(of),
            Purpose::Confirm => fields.confirms = true,
            Purpose::Reconcile => fields.reconciles = true,
        }
        fields
    }
}

impl Purpose {
    /// Whether it is a read beside a call, of which no effect can come.
    #[must_use]
    pub fn is_auxiliary(&self) -> bool {
        match self {
            Self::Effect | Self::Retake { .. } => false,
            Self::Preview { .. } | Self::Confirm | Self::Reconcile => true,
        }
    }

    /// Whether it shows a person what a call is about: no attempt of the step.
    #[must_use]
    pub fn is_preview(&self) -> bool {
        matches!(self, Self::Preview { .. })
    }

    /// The step for which a reading is taken again.
    #[must_use]
    pub fn retaken_for(&self) -> Option<&str> {
        match self {
            Self::Retake { for_step } => Some(for_step),
            Self::Effect | Self::Preview { .. } | Self::Confirm | Self::Reconcile => None,
        }
    }
}

impl std::fmt::Display for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.item {
            Some(item) => write!(f, "{}[{item}]", self.step),
            None => f.write_str(&self.step),
        }
    }
}

impl Call {
    /// The call of `slot` under `plan`; `None` if the plan has no such step with this operation.
    pub(crate) fn under(
        plan: &ApprovedPlan,
        slot: Slot,
        attempt: u32,
        operation: Arc<Operation>,
        args: Value,
        key: Option<String>,
    ) -> Option<Self> {
        let (step, _) = plan.checked().step(&slot.step)?;
        if step.tool()?.value != operation.name {
            return None;
        }
        let timeout = step
            .timeout
            .map_or(operation.timeout, |t| t.min(operation.timeout));
        Some(Self {
            slot,
            attempt,
            operation,
            args,
            key,
            timeout,
        })
    }

    /// The read that asks whether the write of `slot` under `plan` took place, and the closure
    /// digest of that step; `None` unless the plan has the write and the write names this read.
    pub(crate) fn reconciling(
        plan: &ApprovedPlan,
        slot: Slot,
        attempt: u32,
        write: &Operation,
        read: Arc<Operation>,
        args: Value,
    ) -> Option<(Self, Digest)> {
        let (step, record) = plan.checked().step(&slot.step)?;
        let named = write
            .reconcile
            .as_ref()
            .is_some_and(|r| r.tool == read.name);
        if !named || !read.effect.is_read() || step.tool()?.value != write.name {
            return None;
        }
        let call = Self {
            slot,
            attempt,
            timeout: read.timeout,
            operation: read,
            args,
            key: None,
        };
        Some((call, record.closure))
    }

    /// The read that shows a person what the call of `slot` under `plan` is about; `None` unless
    /// the plan has that call and it names this read.
    pub(crate) fn previewing(
        plan: &ApprovedPlan,
        slot: Slot,
        of: &Operation,
        read: Arc<Operation>,
        args: Value,
    ) -> Option<Self> {
        let (step, _) = plan.checked().step(&slot.step)?;
        let named = of.preview.as_ref().is_some_and(|p| p.tool == read.name);
        if !named || read.effect != Effect::Read || step.tool()?.value != of.name {
            return None;
        }
        Some(Self {
            slot,
            attempt: PREVIEW_ATTEMPT,
            timeout: read.timeout,
            operation: read,
            args,
            key: None,
        })
    }

    /// The read that proves what `slot` wrote under `plan`; `None` unless its step names it.
    pub(crate) fn confirming(
        plan: &ApprovedPlan,
        slot: Slot,
        attempt: u32,
        read: Arc<Operation>,
        args: Value,
    ) -> Option<Self> {
        let (step, _) = plan.checked().step(&slot.step)?;
        let named = &step.confirm.as_ref()?.tool.value;
        if *named != read.name || read.effect != Effect::Read {
            return None;
        }
        let timeout = step.timeout.unwrap_or(read.timeout).min(read.timeout);
        Some(Self {
            slot,
            attempt,
            timeout,
            operation: read,
            args,
            key: None,
        })
    }

    /// Which step and item it is for.
    #[must_use]
    pub fn slot(&self) -> &Slot {
        &self.slot
    }

    /// The number of the attempt, from 1; 0 of a preview.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// What is called.
    #[must_use]
    pub fn operation(&self) -> &Arc<Operation> {
        &self.operation
    }

    /// The arguments, as approved.
    #[must_use]
    pub fn args(&self) -> &Value {
        &self.args
    }

    /// The idempotency key, where the operation takes one.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// How long it may take.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.timeout
    }
}

/// The idempotency key of a slot: the same for every attempt, another for any other step digest.
#[must_use]
pub fn idempotency_key(run: &str, slot: &Slot, closure: Digest) -> String {
    let value = json!({ "run": run, "step": slot.step, "item": slot.item, "closure": closure });
    Digest::of_value(Domain::Key, &value)
        .hex()
        .chars()
        .take(40)
        .collect()
}
