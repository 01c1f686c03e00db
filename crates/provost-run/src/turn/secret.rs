//! Secrets in a turn: what of an event is marked, and which words are withheld.
//!
//! Owns the marks by which a reader of one event knows what in it is secret, and the belt beside
//! the check: no argument, question or claim of a plan that was checked under other rules carries
//! one. Never shows anything: that is `shown`. INVARIANT: every event passes through here before
//! it is kept.

use std::collections::BTreeSet;

use provost_plan::catalog::Operation;
use provost_plan::check::{StepRecord, flow};
use provost_plan::expr::Template;
use provost_plan::label::Label;
use provost_plan::plan::Step;

use super::scope::Roots;
use crate::call::Purpose;
use crate::event::{AttemptStarted, Event};
use crate::outcome::Class;
use crate::shown::WITHHELD;
use crate::state::State;
use crate::turn::basis::Basis;
use crate::view;

/// The event with the marks of what in it is secret, and without words that may repeat it.
pub(super) fn marked(at: Basis<'_>, mut event: Event) -> Event {
    match &mut event {
        Event::AttemptStarted(started) => started.secret_args = secret_args(at.state, started),
        Event::AttemptEnded(ended) => {
            ended.secret = is_secret(at, &ended.slot.step);
            // Why not of what was not sent: these are provost's own words.
            if ended.secret && !ended.unsent && ended.message.is_some() {
                ended.message = Some(WITHHELD.to_owned());
            }
        }
        Event::ListEvaluated { step, secret, .. } => *secret = is_list_secret(at, step),
        Event::DoubtSettled { slot, secret, .. } => *secret = is_secret(at, &slot.step),
        Event::ReconcileGivenUp { slot, reason } if is_secret(at, &slot.step) => {
            WITHHELD.clone_into(reason);
        }
        Event::StepSettled {
            slot,
            class: Some(class),
            message: Some(message),
            ..
        } => {
            let steps = &at.state.steps;
            let of_list =
                slot.item.is_none() && steps.get(&slot.step).is_some_and(|step| step.is_list);
            if !of_list && !is_own_word(*class) && is_secret(at, &slot.step) {
                WITHHELD.clone_into(message);
            }
        }
        _ => {}
    }
    event
}

/// Whether what a step gives back must not leave.
pub(super) fn is_secret(at: Basis<'_>, id: &str) -> bool {
    let plan = at.state.plan();
    let known = plan.and_then(|plan| plan.checked().step(id));
    known.is_some_and(|(step, record)| view::is_secret(&at.rules.catalog, step, record))
}

fn is_list_secret(at: Basis<'_>, id: &str) -> bool {
    let Some(plan) = &at.state.in_force.plan else {
        return false;
    };
    let each = plan.checked().step(id);
    let each = each.and_then(|(step, _)| step.for_each.as_ref());
    each.is_some_and(|each| label_of(at, &each.list).secret)
}

/// The label of a text of the plan in force that stands in no step over a list.
fn label_of(at: Basis<'_>, template: &Template) -> Label {
    let Some(plan) = &at.state.in_force.plan else {
        return Label::trusted();
    };
    let checked = plan.checked();
    let catalog = &at.rules.catalog;
    let labels = flow::Labels::new(checked.plan(), catalog, &checked.record().steps);
    labels.template(None, template, &Label::trusted())
}

/// An error of evaluating a text, unless it may repeat a secret that the text reads.
pub(super) fn told_of(at: Basis<'_>, template: &Template, error: &str) -> String {
    if label_of(at, template).secret {
        WITHHELD.to_owned()
    } else {
        error.to_owned()
    }
}

/// The names of the arguments of an attempt that are secret.
fn secret_args(state: &State, started: &AttemptStarted) -> BTreeSet<String> {
    let plan = state.plan();
    let known = plan.and_then(|plan| plan.checked().step(&started.slot.step));
    let Some((_, record)) = known else {
        return BTreeSet::new();
    };
    let own = secrets_of(record);
    match &started.purpose {
        Purpose::Confirm => secret_names(record.confirm.iter().flat_map(|confirm| &confirm.labels)),
        Purpose::Reconcile | Purpose::Preview { .. } if !own.is_empty() => {
            // Why all: which of them came from a secret argument is the operator's template.
            let all = started.args.as_object().into_iter().flatten();
            all.map(|(name, _)| name.clone()).collect()
        }
        _ => own,
    }
}

/// What a question asks, unless it would tell a secret.
pub(super) fn question_text(at: Basis<'_>, text: &Template) -> Result<String, (Class, String)> {
    if label_of(at, text).secret {
        let message = "the text of the question would tell a secret".to_owned();
        return Err((Class::PolicyDenied, message));
    }
    told_text(at, text).map_err(|error| (Class::Expression, error))
}

/// What the message of an assertion says, unless it would tell a secret.
pub(super) fn message_text(at: Basis<'_>, text: &Template) -> Option<String> {
    let is_secret = label_of(at, text).secret;
    (!is_secret).then(|| told_text(at, text).ok()).flatten()
}

fn told_text(at: Basis<'_>, text: &Template) -> Result<String, String> {
    let roots = Roots::new(at.purse);
    let text = text.eval(&roots.scope(at.state));
    let text = text.map_err(|error| error.to_string())?;
    let plain = text.as_str().map(str::to_owned);
    Ok(plain.unwrap_or_else(|| text.to_string()))
}

/// Whether the message of a failure of this class is in provost's own words, or a person's.
fn is_own_word(class: Class) -> bool {
    matches!(
        class,
        Class::Rejected
            | Class::Expired
            | Class::PolicyDenied
            | Class::BudgetExceeded
            | Class::AcceptanceFailed
            | Class::DeadlineExceeded
            | Class::BreakerOpen
            | Class::Cancelled
            | Class::Drift
    )
}

fn secret_names<'l>(labels: impl IntoIterator<Item = (&'l String, &'l Label)>) -> BTreeSet<String> {
    let secrets = labels.into_iter().filter(|(_, label)| label.secret);
    secrets.map(|(name, _)| name.clone()).collect()
}

/// The names of the arguments of a step that are secret.
pub(super) fn secrets_of(record: &StepRecord) -> BTreeSet<String> {
    secret_names(&record.labels)
}

/// Why a step cannot be called with a secret, if it would be and its operation takes none.
pub(super) fn refused(
    step: &Step,
    record: &StepRecord,
    operation: &Operation,
) -> Result<BTreeSet<String>, String> {
    let secrets = secrets_of(record);
    match secrets.first() {
        Some(name) if !operation.accepts_secrets => Err(format!(
            "`{name}` of step `{}` would carry a secret, and `{}` takes none",
            step.id.value, operation.name
        )),
        _ => Ok(secrets),
    }
}
