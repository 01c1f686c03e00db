//! Undoing: what a run did is taken back, the newest first.
//!
//! Owns what there is to undo, and the revision that does it: one step for each call, with the
//! values that its `undo` has by then. Makes no call itself: these steps are checked, asked about
//! and carried out like any other. INVARIANT: only what surely happened is undone, and once.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::catalog::Idempotency;
use provost_plan::check::{Checked, CheckedPlan, Draft, RevisionBase, check};
use provost_plan::codes::Code;
use provost_plan::diagnostic::{Diagnostic, Severity};
use provost_plan::digest::{Digest, Domain};
use provost_plan::expr::{Root, Template, as_written};
use provost_plan::plan::Step;
use provost_plan::plan::read::plan_from_value;
use provost_plan::plan::undo::{undo_id, undone_by};
use serde_json::{Value, json};

use crate::call::Slot;
use crate::event::{Event, NotUndone};
use crate::machine::StepError;
use crate::outcome::{Class, Landing};
use crate::state::{GONE, ItemState, State, WITHOUT_UNDO, WriteRecord};
use crate::turn::basis::Basis;
use crate::turn::call::doubt::{reconcile_ready, settle_in_doubt};
use crate::turn::log::TurnLog;
use crate::turn::scope::{Roots, item_value};
use crate::turn::terms::{SuppliedPlan, base, origin_in_force, terms};

/// A call that takes one effect back.
struct UndoCall {
    id: String,
    slot: Slot,
    tool: String,
    args: Value,
    /// Whether a person is asked whatever policy says.
    asks: bool,
    retry: Option<Value>,
    role: Option<String>,
}

impl UndoCall {
    /// The step as a plan holds it.
    fn step(&self, after: &[Value]) -> Value {
        let mut step = json!({
            "id": self.id,
            "description": format!("Undo what step {} did", self.slot),
            "tool": self.tool,
            "args": as_written(&self.args),
            "needs": after,
        });
        if let Value::Object(step) = &mut step {
            let required = self.asks.then(|| json!("required"));
            step.extend(required.map(|word| ("approval".to_owned(), word)));
            let retry = self.retry.clone();
            step.extend(retry.map(|retry| ("retry".to_owned(), retry)));
            // Why: what takes a call back reaches no further than the call did.
            let role = self.role.clone();
            step.extend(role.map(|role| ("as".to_owned(), role.into())));
        }
        step
    }
}

/// Whether the steps that undo are part of the plan in force.
pub(crate) fn is_placed(state: &State) -> bool {
    let placed = state.ending.undo.placed().into_iter();
    let mut steps = placed.flat_map(|undoing| undoing.steps.keys());
    state.is_undoing() && steps.all(|id| state.steps.contains_key(id))
}

/// Asks what became of calls of which nobody knows, where a read may tell.
pub(crate) fn look_what_happened(log: &mut TurnLog<'_>) -> Result<(), StepError> {
    for slot in log.state().unknown_effects() {
        let message = "the run was cancelled before this was known".to_owned();
        settle_in_doubt(log, &slot, Class::Cancelled, message)?;
    }
    reconcile_ready(log)
}

/// Whether no undoing step can begin any more.
pub(crate) fn is_undone(state: &State) -> bool {
    let placed = state.ending.undo.placed().into_iter();
    let mut steps = placed.flat_map(|undoing| undoing.steps.keys());
    let over = |id: &String| state.steps.get(id).is_none_or(|s| s.status.is_final());
    state.spend.limit.is_some() || steps.all(over)
}

/// Records what is undone and what is not, and gives the plan that does it; none where nothing
/// can be undone.
pub(crate) fn plan_undo(log: &mut TurnLog<'_>) -> Result<Option<SuppliedPlan>, StepError> {
    let (mut takings, mut left) = takings(log.basis());
    let mut placed = None;
    while placed.is_none() && !takings.is_empty() {
        match compile_undo(log.basis(), &takings) {
            Ok(checked) => placed = Some(checked),
            Err(found) => leave_out(&mut takings, &mut left, &found),
        }
    }
    let of = |taking: &UndoCall| (taking.id.clone(), taking.slot.clone());
    let steps: BTreeMap<String, Slot> = takings.iter().map(of).collect();
    log.emit(Event::UndoPlanned { steps, left })?;
    let origin = origin_in_force(log.state(), "the undo of what happened");
    Ok(placed.map(|(checked, found)| SuppliedPlan {
        checked,
        found,
        origin,
    }))
}

/// The calls that take back what happened, the newest first; and what none takes back.
fn takings(at: Basis<'_>) -> (Vec<UndoCall>, Vec<NotUndone>) {
    let (mut takings, mut left) = (Vec::new(), Vec::new());
    let before = at.state.ending.undo.placed().into_iter();
    let undoing: BTreeSet<&String> = before.flat_map(|before| before.steps.keys()).collect();
    for effect in at.state.writes.effects.iter().rev() {
        // Why not listed: whoever asks what is left finds the doubt, or what became of it; and a
        // call that undid another is not undone itself.
        if effect.landing != Landing::Happened || undoing.contains(&effect.slot.step) {
            continue;
        }
        let Some(time) = at.state.time_to_undo(&effect.slot) else {
            continue;
        };
        let taking = taking(at, &takings, effect, time);
        match taking {
            Ok(taking) => takings.push(taking),
            Err(because) => left.push(NotUndone {
                slot: effect.slot.clone(),
                because,
            }),
        }
    }
    (takings, left)
}

fn taking(
    at: Basis<'_>,
    newer: &[UndoCall],
    effect: &WriteRecord,
    time: usize,
) -> Result<UndoCall, String> {
    let slot = &effect.slot;
    let plan = at.state.plan();
    let step = plan.and_then(|plan| plan.checked().plan().step(&slot.step));
    let step = step.ok_or(GONE)?;
    let args = undo_args(at, step, slot)?;
    let undo = step.undo.as_ref().ok_or(WITHOUT_UNDO)?;
    let tool = undo.tool.value.clone();
    let same = |taking: &UndoCall| taking.tool == tool && taking.args == args;
    let digest = Digest::of_value(Domain::Args, &args);
    let mut others = at.state.effects_of(&undo.tool.value, digest);
    let repeats = others.any(|effect| effect.landing != Landing::None);
    let operation = at.rules.catalog.get(&tool);
    let natural = operation.is_some_and(|op| op.idempotency == Idempotency::Natural);
    Ok(UndoCall {
        id: undo_id(&slot.step, slot.item, time),
        slot: slot.clone(),
        asks: step.approval_required || !natural && (repeats || newer.iter().any(same)),
        retry: step.value.get("retry").cloned(),
        role: step.role().map(str::to_owned),
        tool,
        args,
    })
}

/// The arguments of the `undo` of a slot, as the expressions in it have their values now.
fn undo_args(at: Basis<'_>, step: &Step, slot: &Slot) -> Result<Value, String> {
    let undo = step.undo.as_ref().ok_or(WITHOUT_UNDO)?;
    let output = at.state.item(slot).and_then(ItemState::output);
    let templates = undo.args.templates().into_iter();
    let named: Vec<_> = templates.flat_map(Template::references).collect();
    if output.is_none() && named.iter().any(|r| matches!(r.root, Root::Output)) {
        return Err("what it gave back is not known".to_owned());
    }
    let roots = Roots::new(at.purse)
        .with_item(item_value(at.state, slot))
        .with_output(output.unwrap_or(&Value::Null));
    let scope = roots.scope_for(at.state, named.into_iter());
    let args = undo.args.eval(&scope);
    args.map_err(|error| format!("its `undo` has no value: {error}"))
}

/// The plan in force with the steps that undo, checked like any other.
fn compile_undo(
    at: Basis<'_>,
    takings: &[UndoCall],
) -> Result<(CheckedPlan, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut document = Value::clone(&at.state.in_force.document);
    if let Some(Value::Array(steps)) = document.get_mut("steps") {
        let ids = steps.iter().filter_map(|step| step.get("id").cloned());
        let mut after: Vec<Value> = ids.collect();
        for taking in takings {
            steps.push(taking.step(&after));
            after = vec![taking.id.clone().into()];
        }
    }
    let plan = plan_from_value(&document, "undo")?;
    let draft = Draft {
        plan: plan.into(),
        origin: origin_in_force(at.state, "the undo of what happened"),
    };
    let base = RevisionBase {
        undoes: true,
        ..base(at.state, at.state.in_force.revision + 1)
    };
    let Checked {
        plan, diagnostics, ..
    } = check(draft, &terms(at, at.state.goal_of_plan()), &base);
    match plan {
        Some(checked) => Ok((checked, diagnostics)),
        None => Err(diagnostics),
    }
}

/// Takes out what the check does not let pass; the oldest, where it says that of no step.
fn leave_out(takings: &mut Vec<UndoCall>, left: &mut Vec<NotUndone>, found: &[Diagnostic]) {
    // Why not of the steps before: they withhold nothing while it is undone.
    let counts = |step: &str| undone_by(step).is_some();
    let errors: Vec<&Diagnostic> = found
        .iter()
        .filter(|finding| finding.severity() == Severity::Error)
        .filter(|error| error.step.as_deref().is_none_or(counts))
        .collect();
    let about = |taking: &UndoCall| {
        let mut errors = errors.iter();
        errors.find(|error| error.step.as_deref() == Some(&taking.id))
    };
    let (mut kept, mut asked) = (Vec::new(), false);
    let before = takings.len();
    for mut taking in takings.drain(..) {
        match about(&taking) {
            None => kept.push(taking),
            Some(error) if error.code == Code::RepeatedCall && !taking.asks => {
                taking.asks = true;
                asked = true;
                kept.push(taking);
            }
            Some(error) => left.push(NotUndone {
                because: error.message.clone(),
                slot: taking.slot,
            }),
        }
    }
    if kept.len() == before && !asked {
        let because = errors
            .first()
            .map_or_else(String::new, |e| e.message.clone());
        left.extend(kept.pop().map(|taking| NotUndone {
            slot: taking.slot,
            because,
        }));
    }
    *takings = kept;
}
