//! The limits of a run, before each of its attempts.
//!
//! Owns what an attempt may use up, and the words for the limit that it would pass. Never says what
//! follows from that. INVARIANT: the most that an attempt can use up is compared before it begins,
//! and what it adds to a counted value is told by its own arguments.

use std::collections::BTreeMap;

use provost_plan::amount::{Amount, Totals};
use provost_plan::catalog::{Operation, Spend};
use provost_plan::plan::Limits;
use serde_json::Value;

use crate::call::Slot;
use crate::event::{Event, LimitKind, LimitReached};
use crate::machine::StepError;
use crate::state::State;
use crate::turn::log::TurnLog;

/// A limit that an attempt would pass.
#[derive(Clone, Debug)]
pub(crate) struct Reached {
    /// Which, in words with its number.
    pub(crate) words: String,
    /// The same for a reader that is no person.
    pub(crate) of: LimitReached,
}

/// Whether an attempt would be the first of a call.
pub(super) fn is_first(state: &State, slot: &Slot) -> bool {
    state.item(slot).is_none_or(|item| {
        // Why the second: the reading is there, and taking it again is a call of its own.
        let again = item.success().is_some_and(|it| it.retaking.is_none());
        item.history.attempt == 0 || again
    })
}

/// The limit that an attempt would pass which uses up as much as it can; the first of a call
/// counts as one.
pub(super) fn limit_reached(
    state: &State,
    first: bool,
    spend: &Spend,
    values: &Totals,
) -> Option<Reached> {
    let limits = state.limits_in_force();
    let (calls, attempts) = (state.spend.calls, state.spend.attempts);
    if first && calls >= limits.calls {
        return Some(Reached {
            words: format!("its limit of {} calls is reached", limits.calls),
            of: LimitReached::counted(LimitKind::Calls, calls, limits.calls),
        });
    }
    if attempts >= limits.attempts {
        return Some(Reached {
            words: format!("its limit of {} attempts is reached", limits.attempts),
            of: LimitReached::counted(LimitKind::Attempts, attempts, limits.attempts),
        });
    }
    let money = state.spend.money.checked_add(spend.money);
    if let Some(limit) = limits.money
        && money.is_none_or(|money| money > limit)
    {
        let words = format!(
            "its limit of {limit} in money is reached: {} is reserved and this may cost {}",
            state.spend.money, spend.money
        );
        let of = LimitReached::in_words(LimitKind::Money);
        return Some(Reached { words, of });
    }
    let tokens = state.spend.tokens.checked_add(spend.tokens);
    if let Some(limit) = limits.tokens
        && tokens.is_none_or(|tokens| tokens > limit)
    {
        let words = format!(
            "its limit of {limit} tokens is reached: {} are reserved and this may take {}",
            state.spend.tokens, spend.tokens
        );
        let of = LimitReached::counted(LimitKind::Tokens, state.spend.tokens, limit);
        return Some(Reached { words, of });
    }
    if let Some(words) = value_reached(state, &limits, values) {
        let of = LimitReached::in_words(LimitKind::Values);
        return Some(Reached { words, of });
    }
    let active = u64::try_from(state.spend.active_ms).unwrap_or(0);
    let wall = limits.wall_ms;
    (active >= wall).then(|| Reached {
        words: format!("its limit of {wall} ms of running is reached"),
        of: LimitReached::counted(LimitKind::Wall, active, wall),
    })
}

/// The limit of a counted value that an attempt would pass. Where a call does not tell how much it
/// adds, no limit of that value can be held.
fn value_reached(state: &State, limits: &Limits, values: &Totals) -> Option<String> {
    values.iter().find_map(|(name, more)| {
        let limit = limits.values.get(name)?;
        let Some(more) = more else {
            return Some(format!(
                "its limit of {limit} of `{name}` cannot be held: the call does not say how much \
                 it adds"
            ));
        };
        let counted = state.spend.values.get(name).copied().unwrap_or_default();
        (counted.plus(*more) > *limit).then(|| {
            format!(
                "its limit of {limit} of `{name}` is reached: {counted} is counted and this adds \
                 {more}"
            )
        })
    })
}

/// What an attempt adds to each counted value: the first of a call its amount, a later one only
/// what its amount is more than was counted for the call.
pub(super) fn added(
    state: &State,
    slot: &Slot,
    first: bool,
    operation: &Operation,
    args: &Value,
) -> Totals {
    let item = state.item(slot).filter(|_| !first);
    let counted = item.map(|item| &item.history.counted);
    let before = |name: &String| counted.and_then(|all| all.get(name)).copied();
    let each = args.as_object().map(|args| operation.amounts(args));
    let each = each.unwrap_or_default().into_iter();
    each.map(|(name, amount)| {
        let before = before(&name).unwrap_or_default();
        (name, amount.map(|amount| amount.minus(before)))
    })
    .collect()
}

/// The same as an intent records it: what is known, and more than nothing.
pub(super) fn known(values: &Totals) -> BTreeMap<String, Amount> {
    let each = values.iter();
    let known = each.filter_map(|(name, amount)| Some((name.clone(), (*amount)?)));
    known.filter(|(_, amount)| *amount > Amount::ZERO).collect()
}

/// Records that an attempt does not begin: nothing else begins either.
pub(super) fn not_admitted(
    log: &mut TurnLog<'_>,
    slot: Slot,
    reached: Reached,
) -> Result<(), StepError> {
    log.emit(Event::AdmissionRefused {
        slot,
        limit: reached.words,
        reached: Some(reached.of),
    })
}
