//! A limit of the run that was reached: by repeated attempts, by revisions, or because it is low.
//!
//! Owns the shares of what was used up. INVARIANT: it is never proven, because what a run would
//! have needed stands in no journal.

use std::collections::BTreeMap;

use super::failure::possible;
use super::found::CauseFound;
use super::story::Story;
use super::{Guilty, Party};
use crate::call::{Purpose, Slot};
use crate::event::{Event, LimitKind, LimitReached};

/// A limit is reached: by attempts after the first, by revisions, or because it is too low.
pub(super) fn limit(story: &Story<'_>, slot: Option<&Slot>) -> CauseFound {
    let refused = story.numbered().rev().find_map(|(seq, event)| match event {
        Event::AdmissionRefused { reached, .. } => Some((seq, *reached)),
        _ => None,
    });
    let sentence = "a limit of the run was reached".to_owned();
    let at = |found: CauseFound| match slot {
        Some(slot) => found.at(slot),
        None => found,
    };
    let (seq, reached) = match refused {
        Some((seq, reached)) => (Some(seq), reached),
        None => (None, None),
    };
    let low = possible(
        (Guilty::Neither, Party::Operator),
        None,
        "the limit is too low for what was asked".to_owned(),
    );
    let more = possible(
        (Guilty::Plan, Party::Planner),
        slot.map(|slot| slot.step.clone()),
        "the plan takes more calls than it needs".to_owned(),
    );
    let open = || at(CauseFound::open(sentence.clone(), vec![low, more])).by(seq);
    let Some(LimitReached {
        of: LimitKind::Calls | LimitKind::Attempts,
        ..
    }) = reached
    else {
        return open();
    };
    let (again, former, worst) = shares(story);
    let excess = again + former;
    if excess == 0 {
        return open();
    }
    if again * 10 > excess * 9
        && let Some((step, count)) = worst
    {
        let sentence = format!(
            "{sentence}, and {again} of {excess} attempts beyond the first of each call \
             of the plan were repeated ones, {count} of them at step `{step}`"
        );
        let found = CauseFound::witnessed((Guilty::Execution, Party::Tool), "retries", sentence);
        return found.at(&Slot { step, item: None }).by(seq);
    }
    if former * 10 > excess * 9 {
        let sentence = format!(
            "{sentence}, and {former} of {excess} attempts beyond the first of each call of the \
             plan were of plans that it replaced"
        );
        let found = CauseFound::witnessed((Guilty::Plan, Party::Planner), "revisions", sentence);
        return at(found).by(seq);
    }
    open()
}

/// Attempts after the first of a call that failed in passing, attempts of steps that the plan no
/// longer has, and the step with most of the former.
fn shares(story: &Story<'_>) -> (u64, u64, Option<(String, u64)>) {
    let last = story.plans().next_back().map(|(_, _, record)| record);
    let (mut again, mut former) = (0, 0);
    let mut by_step = BTreeMap::<&str, u64>::new();
    for (_, event) in story.numbered() {
        let Event::AttemptStarted(started) = event else {
            continue;
        };
        if last.is_some_and(|record| !record.steps.contains_key(&started.slot.step)) {
            former += 1;
        } else if started.attempt > 1 && started.purpose == Purpose::Effect {
            again += 1;
            *by_step.entry(&started.slot.step).or_default() += 1;
        }
    }
    let worst = by_step.into_iter().max_by_key(|(_, count)| *count);
    (
        again,
        former,
        worst.map(|(step, count)| (step.to_owned(), count)),
    )
}
