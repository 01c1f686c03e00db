//! The worst case of a plan: calls, attempts, money, tokens and time, for each step and in all.
//!
//! Owns the numbers, and the names of the settings without which there are none. Judges nothing.
//! INVARIANT: a number is an upper bound of what the run can use up while no process is lost; what
//! has no bound is named and is left out of the sum.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Serialize;

use super::super::Pass;
use super::super::scope::Site;
use super::super::typing::type_of;
use super::envelope;
use super::time;
use super::values::{self, ValueWorst};
use crate::catalog::{Operation, Risk, Spend};
use crate::expr::{ArgTree, Part, Segment, Template};
use crate::limits::{ARGS_BYTES_MAX, RETAKEN_MAX};
use crate::money::Money;
use crate::plan::readings::readings;
use crate::plan::undo::undone_by;
use crate::plan::{CallRole, Field, Limits, Retry, Step, Until};
use crate::schema::{Type, bytes};

/// The most a plan can take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorstCase {
    /// Steps.
    pub steps: u64,
    /// Calls, each item of a list counted.
    pub calls: u64,
    /// Attempts, each repetition counted.
    pub attempts: u64,
    /// Money, as far as it has a bound: see [`WorstCase::money_is_total`].
    pub money: Money,
    /// Whether that is all of it.
    pub money_is_total: bool,
    /// Tokens, as far as they have a bound: see [`WorstCase::tokens_is_total`].
    pub tokens: u64,
    /// Whether those are all of them.
    pub tokens_is_total: bool,
    /// Time under the limit of concurrency, without waits for people, in milliseconds.
    pub wall_ms: u64,
    /// The steps that the time is along.
    pub path: Vec<String>,
    /// Whether more calls than the limit of concurrency may be ready at once.
    pub crowded: bool,
    /// The highest risk of a step.
    pub risk: Risk,
    /// Each step that makes calls, as written.
    pub rows: Vec<StepWorst>,
    /// The sum of each value that the catalog counts.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, ValueWorst>,
}

/// The most one step can take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepWorst {
    /// Its id.
    pub step: String,
    /// The operation it calls.
    pub tool: String,
    /// Calls: items of its list, or one.
    pub calls: u64,
    /// Attempts of all of them.
    pub attempts: u64,
    /// Money, as far as it has a bound.
    pub money: Money,
    /// Tokens, as far as they have a bound.
    pub tokens: u64,
    /// Time of one call with its repetitions and the waits between them, in milliseconds.
    pub call_ms: u64,
    /// Its risk.
    pub risk: Risk,
    /// Settings of its operation without which its money has no bound.
    pub unpriced: Vec<&'static str>,
    /// Settings of its operation without which its tokens have no bound.
    pub uncounted: Vec<&'static str>,
}

impl WorstCase {
    /// Whether the cost of any call is known, if only in part.
    #[must_use]
    pub fn is_priced(&self) -> bool {
        let known = |missing: &[&str]| !missing.contains(&"cost");
        let mut rows = self.rows.iter();
        rows.any(|row| known(&row.unpriced) || known(&row.uncounted))
    }

    /// What the sums leave out, in words, by the setting that is missing.
    #[must_use]
    pub fn gaps(&self) -> Vec<String> {
        let mut gaps: BTreeMap<&str, [BTreeSet<&str>; 2]> = BTreeMap::new();
        for row in &self.rows {
            for (at, settings) in [&row.unpriced, &row.uncounted].into_iter().enumerate() {
                for setting in settings {
                    let tools = gaps.entry(setting).or_default();
                    if let Some(tools) = tools.get_mut(at) {
                        tools.insert(&row.tool);
                    }
                }
            }
        }
        let mut lines = Vec::new();
        for (setting, [unpriced, uncounted]) in gaps {
            let both = unpriced == uncounted;
            let kinds = [
                (if both { "money and tokens" } else { "money" }, &unpriced),
                ("tokens", &uncounted),
            ];
            for (what, tools) in kinds.into_iter().take(if both { 1 } else { 2 }) {
                if tools.is_empty() {
                    continue;
                }
                let names: Vec<String> = tools.iter().map(|tool| format!("`{tool}`")).collect();
                let of = names.join(", ");
                lines.push(format!(
                    "worst case, {what}: no total: `{setting}` of {of} is not set"
                ));
            }
        }
        lines
    }
}

/// Counts the worst case under these limits.
pub(crate) fn worst_case(pass: &Pass<'_>, limits: &Limits) -> WorstCase {
    let taken = taken(pass);
    let times = |step: &Step| taken.get(step.id.value.as_str()).copied().unwrap_or(1);
    let rows: Vec<StepWorst> = pass
        .plan
        .steps
        .iter()
        .filter_map(|step| {
            let own = || row(pass, step, times(step));
            envelope::row(pass, step).or_else(own)
        })
        .collect();
    let calls = pass.plan.steps.iter().filter(|s| s.tool().is_some());
    // Why: a call of an unknown tool, which is an error of its own, is a call all the same.
    let (still_to_come, tries) = envelope::calls(pass);
    let (mut all_calls, mut all_attempts) = (still_to_come, tries);
    for step in calls {
        let calls = calls_of(pass, step).saturating_mul(times(step));
        all_calls = all_calls.saturating_add(calls);
        let attempts = attempts_in_all(pass, step, times(step));
        all_attempts = all_attempts.saturating_add(attempts);
    }
    let time = time::bound(pass, limits);
    // Why less those: each stands for one call of a step that is counted.
    let written = pass.plan.steps.iter().filter(|step| !is_placed(step));
    let written = u64::try_from(written.count()).unwrap_or(u64::MAX);
    WorstCase {
        steps: written.saturating_add(still_to_come),
        calls: all_calls,
        attempts: all_attempts,
        money: rows.iter().map(|row| row.money).sum(),
        money_is_total: rows.iter().all(|row| row.unpriced.is_empty()),
        tokens: rows
            .iter()
            .fold(0, |all, row| all.saturating_add(row.tokens)),
        tokens_is_total: rows.iter().all(|row| row.uncounted.is_empty()),
        wall_ms: millis(time.wall),
        path: time.path,
        crowded: time.crowded,
        risk: rows.iter().map(|row| row.risk).max().unwrap_or(Risk::Low),
        values: values::worst(pass, &times),
        rows,
    }
}

/// How often a step may be carried out that is a reading for others with `fresh`.
fn taken<'p>(pass: &Pass<'p>) -> BTreeMap<&'p str, u64> {
    let mut taken = BTreeMap::new();
    for step in pass.plan.steps.iter().filter(|step| step.fresh.is_some()) {
        for reading in retaken(pass, step) {
            let times = taken.entry(reading.id.value.as_str()).or_insert(1u64);
            *times = times.saturating_add(u64::from(RETAKEN_MAX));
        }
    }
    taken
}

/// The readings that may be taken again for a step.
pub(super) fn retaken<'p>(pass: &Pass<'p>, step: &Step) -> Vec<&'p Step> {
    let acts = pass.operation(step).is_some_and(|op| !op.effect.is_read());
    if step.fresh.is_none() || !acts {
        return Vec::new();
    }
    readings(pass.plan, step, &|step| Some(pass.operation(step)?.effect))
}

/// The steps for which a reading may be taken again.
pub(super) fn takers<'p>(pass: &Pass<'p>, reading: &Step) -> Vec<&'p Step> {
    let takes = |step: &&Step| retaken(pass, step).iter().any(|one| one.id == reading.id);
    pass.plan.steps.iter().filter(takes).collect()
}

fn row(pass: &Pass<'_>, step: &Step, times: u64) -> Option<StepWorst> {
    let operation = pass.operation(step)?;
    let attempts = attempts_in_all(pass, step, times);
    let each = items(step).saturating_mul(tries(step, times));
    let calls = CallRole::ALL.into_iter();
    let calls = calls.filter_map(|role| Some(spend(pass, step, role)?.times(each)));
    let spend = calls.reduce(Spend::plus).unwrap_or_default();
    Some(StepWorst {
        step: step.id.value.clone(),
        tool: operation.name.clone(),
        calls: calls_of(pass, step).saturating_mul(times),
        attempts,
        money: spend.money,
        tokens: spend.tokens,
        call_ms: millis(time::of_call(pass, operation, step)),
        risk: operation.risk(),
        unpriced: spend.unpriced,
        uncounted: spend.uncounted,
    })
}

/// The most one attempt at each call of a step costs; one that undoes counts only where no step of
/// its own does that.
fn spend(pass: &Pass<'_>, step: &Step, role: CallRole) -> Option<Spend> {
    if role == CallRole::Undo && !may_undo(pass, step) {
        return None;
    }
    let ((_, args), operation) = (step.call(role)?, pass.called(step, role)?);
    let sent = operation.cost.as_ref().and_then(|c| c.tokens_in.as_ref());
    let bytes = sent.filter(|tokens| tokens.max.is_none()).and_then(|_| {
        let site = Site::of(pass, step, Field::Args(role));
        args_bytes(pass, &site, operation, args)
    });
    Some(operation.spend(bytes))
}

/// Whether a step may still have to be undone by a call that is not a step yet.
pub(super) fn may_undo(pass: &Pass<'_>, step: &Step) -> bool {
    step.undo.is_some() && !pass.plan.is_undone(&step.id.value)
}

fn is_placed(step: &Step) -> bool {
    undone_by(&step.id.value).is_some()
}

pub(crate) fn items(step: &Step) -> u64 {
    step.for_each
        .as_ref()
        .map_or(1, |each| each.max_items.value)
}

/// The attempts of one call that is carried out so often, by the rule that the run goes by: the
/// first time of every poll, then of one.
fn tries(step: &Step, times: u64) -> u64 {
    let polls = step.until.as_ref().map_or(1, Until::polls);
    let rounds = polls.saturating_add(times.saturating_sub(1));
    rounds.saturating_mul(u64::from(tries_of_one(step)))
}

/// The attempts of one call, or of one poll.
pub(super) fn tries_of_one(step: &Step) -> u32 {
    step.retry.unwrap_or(Retry::DEFAULT).attempts.max(1)
}

/// The calls of a step: one an item, one that reads it back and one that undoes it.
pub(crate) fn calls_of(pass: &Pass<'_>, step: &Step) -> u64 {
    let more = u64::from(step.confirm.is_some()) + u64::from(may_undo(pass, step));
    items(step).saturating_mul(1 + more)
}

/// The attempts of a step, and the reads that show people what its calls are about.
pub(crate) fn attempts_of(pass: &Pass<'_>, step: &Step) -> u64 {
    attempts_in_all(pass, step, 1)
}

/// The same of a step that is carried out so often.
fn attempts_in_all(pass: &Pass<'_>, step: &Step, times: u64) -> u64 {
    let attempts = calls_of(pass, step).saturating_mul(tries(step, times));
    let shown = pass.previewing(step).map_or(0, |_| items(step));
    attempts.saturating_add(shown.saturating_mul(times))
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The most bytes that the arguments of a step have.
fn args_bytes(
    pass: &Pass<'_>,
    site: &Site<'_>,
    operation: &Operation,
    args: &ArgTree,
) -> Option<u64> {
    let bound = tree_bytes(pass, site, args, operation.input.ty())?;
    // Why: larger arguments are refused before the call.
    let most = u64::try_from(ARGS_BYTES_MAX).unwrap_or(u64::MAX);
    Some(bound.min(most))
}

/// The bytes of a tree: of each part as it is written, or as its place admits at most.
fn tree_bytes(pass: &Pass<'_>, site: &Site<'_>, tree: &ArgTree, wanted: &Type) -> Option<u64> {
    use crate::schema::PathType;
    let inner = |segment: Segment| match wanted.at(&[segment]) {
        PathType::Known { ty, .. } => ty,
        PathType::Unknown { .. } | PathType::Undeclared { .. } | PathType::Absent { .. } => {
            Type::any()
        }
    };
    let written = match tree {
        ArgTree::Value(value, _) => return Some(bytes::of_value(value)),
        ArgTree::Template(template) => template_bytes(pass, site, template),
        ArgTree::List(items, _) => items
            .iter()
            .enumerate()
            .try_fold(2u64, |total, (at, item)| {
                let item = tree_bytes(pass, site, item, &inner(Segment::Index(at)))?;
                Some(total.saturating_add(item).saturating_add(1))
            }),
        ArgTree::Map(entries, _) => entries.iter().try_fold(2u64, |total, (name, value)| {
            let value = tree_bytes(pass, site, value, &inner(Segment::Field(name.to_string())))?;
            let name = bytes::of_value(&serde_json::Value::String(name.to_string()));
            let entry = name.saturating_add(value).saturating_add(2);
            Some(total.saturating_add(entry))
        }),
    };
    match (written, wanted.bytes_max()) {
        (Some(written), Some(admitted)) => Some(written.min(admitted)),
        (written, admitted) => written.or(admitted),
    }
}

fn template_bytes(pass: &Pass<'_>, site: &Site<'_>, template: &Template) -> Option<u64> {
    if let Some(value) = pass.fixed(template) {
        return Some(bytes::of_value(&value));
    }
    let names = |root: &_, path: &[Segment]| pass.place(site, root, path);
    let parts = template.parts().iter().map(|part| match part {
        Part::Text(text) => Some(bytes::of_value(&serde_json::Value::String(text.clone()))),
        Part::Expr(expression) => {
            let typed = type_of(expression.ast(), &names, &mut Vec::new());
            typed.to_type().bytes_max()
        }
    });
    parts
        .collect::<Option<Vec<u64>>>()
        .map(|parts| parts.into_iter().fold(2, u64::saturating_add))
}
