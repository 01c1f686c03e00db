//! A call: the one thing that may touch a real system.
//!
//! Owns the type and its only constructor, which this crate alone can reach and which demands the
//! approved plan the call belongs to. INVARIANT: nobody outside the run machine can make a call.

use std::sync::Arc;
use std::time::Duration;

use provost_plan::approve::ApprovedPlan;
use provost_plan::catalog::{Catalog, Effect, Operation};
use provost_plan::digest::{Digest, Domain};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::event::AttemptStarted;
use crate::trace_parent::TraceParent;

/// The number of every preview.
pub(crate) const PREVIEW_ATTEMPT: u32 = 0;

/// A call that policy or a person allowed, of a step of an approved plan.
///
/// It has no public constructor:
///
/// ```compile_fail,E0624
/// use provost_run::{call::Call, event::AttemptStarted};
/// use provost_plan::{approve::ApprovedPlan, catalog::Catalog};
/// fn forge(plan: &ApprovedPlan, catalog: &Catalog, intent: &AttemptStarted) {
///     Call::new(plan, catalog, intent);
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
    trace: Option<TraceParent>,
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
    /// The call that `intent` records; `None` unless `plan` has it, or names the read that it is
    /// beside a call of the plan.
    pub(crate) fn new(
        plan: &ApprovedPlan,
        catalog: &Catalog,
        intent: &AttemptStarted,
    ) -> Option<Self> {
        let (step, _) = plan.checked().step(&intent.slot.step)?;
        let operation = catalog.get(&intent.operation)?;
        let tool = &step.tool()?.value;
        let of_step = || catalog.get(tool);
        let timeout = operation.timeout;
        let within_step = || step.timeout.map_or(timeout, |t| t.min(timeout));
        let is_read = operation.effect == Effect::Read;
        let (named, timeout) = match &intent.purpose {
            Purpose::Effect | Purpose::Retake { .. } => (Some(tool), within_step()),
            Purpose::Confirm if is_read => {
                let confirm = step.confirm.as_ref();
                (confirm.map(|confirm| &confirm.tool.value), within_step())
            }
            Purpose::Preview { .. } if is_read => {
                let preview = of_step().and_then(|of| of.preview.as_ref());
                (preview.map(|preview| &preview.tool), timeout)
            }
            Purpose::Reconcile if operation.effect.is_read() => {
                let reconcile = of_step().and_then(|of| of.reconcile.as_ref());
                (reconcile.map(|reconcile| &reconcile.tool), timeout)
            }
            Purpose::Confirm | Purpose::Preview { .. } | Purpose::Reconcile => return None,
        };
        (named == Some(&operation.name)).then(|| Self {
            slot: intent.slot.clone(),
            attempt: intent.attempt,
            operation: Arc::clone(operation),
            args: intent.args.clone(),
            key: intent.key.clone(),
            timeout,
            trace: None,
        })
    }

    /// The same, with its place in the trace of its run.
    #[must_use]
    pub fn traced(mut self, place: TraceParent) -> Self {
        self.trace = Some(place);
        self
    }

    /// Its place in the trace of its run, where that is known.
    #[must_use]
    pub fn trace(&self) -> Option<TraceParent> {
        self.trace
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
