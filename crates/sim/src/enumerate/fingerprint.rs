//! What makes two states equal for everything that can still happen.
//!
//! Owns which facts count. Never hashes a moment: times count from now. INVARIANT: what
//! is not hashed of the machine's state stands here with the reason.
//!
//! Not hashed: how often a call was tried in vain for want of a process (its limit is far), what a
//! search never changes (limits), and texts that follow from what is hashed. Calls
//! that differ in name only are put in order first, where the search asks for that.

use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};

use provost_plan::plan::request::Why;
use provost_run::call::{Purpose, Slot};
use provost_run::card::PreviewResult;
use provost_run::event::PlannerChoice;
use provost_run::machine::Run;
use provost_run::state::{CallHistory, Consent, Doubt, ItemProgress, ItemState, Observed};
use provost_run::state::{Outstanding, Planning, State, StepState, Success};

use super::catalog::{FRESH_MS, KEY_LIVES_MS, POLL_AT_MOST_MS};
use super::people::NONCE;
use super::plans::AGAIN;
use super::reading::Reading;
use super::{Place, PlanCase};

/// A run's state in numbers: of the whole, and of each call it may make.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Prints {
    whole: u64,
    hears: bool,
    places: Vec<u64>,
    again: u64,
    /// Whether the journal holds what was posted.
    pub(super) holds_posted: bool,
}

impl Prints {
    /// What is known of a run, and what its journal says of people.
    pub(super) fn of(
        run: &Run,
        reading: &Reading,
        about: (&PlanCase, Option<usize>),
        now: i64,
    ) -> Self {
        Self::of_state((run.state(), run.is_hearing()), reading, about, now)
    }

    /// The same of a state, of a run that `hears` people before anything begins or not.
    pub(super) fn of_state(
        (state, hears): (&State, bool),
        reading: &Reading,
        (case, again): (&PlanCase, Option<usize>),
        now: i64,
    ) -> Self {
        let place = |(index, place): (usize, &Place)| {
            let slot = slot_of(place);
            let mut hasher = DefaultHasher::new();
            (again == Some(index)).hash(&mut hasher);
            let failed = (place.kind.operation().to_owned(), place.args);
            state
                .writes
                .failed_calls
                .contains(&failed)
                .hash(&mut hasher);
            reading.of_slot(&slot).hash(&mut hasher);
            of_slot(state, &slot, now, &mut hasher);
            hasher.finish()
        };
        let mut hasher = DefaultHasher::new();
        let added = Slot {
            step: AGAIN.to_owned(),
            item: None,
        };
        of_slot(state, &added, now, &mut hasher);
        Self {
            whole: of_whole(state, reading, now),
            hears,
            places: case.places.iter().enumerate().map(place).collect(),
            again: hasher.finish(),
            holds_posted: reading.holds(NONCE),
        }
    }
}

impl Prints {
    /// What is about no place in particular.
    pub(super) fn shared(&self) -> (u64, bool, u64) {
        (self.whole, self.hears, self.again)
    }

    /// What is about one place.
    pub(super) fn place(&self, index: usize) -> Option<u64> {
        self.places.get(index).copied()
    }
}

fn slot_of(place: &Place) -> Slot {
    Slot {
        step: place.step.clone(),
        item: place.item,
    }
}

/// A hasher that takes formatted text.
struct Text<'h>(&'h mut DefaultHasher);

impl Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

fn debug(value: &impl std::fmt::Debug, hasher: &mut DefaultHasher) {
    let _ = write!(Text(hasher), "{value:?}|");
}

/// The facts that are about no call in particular.
fn of_whole(state: &State, reading: &Reading, now: i64) -> u64 {
    let State {
        head: _,
        goals: _,
        route,
        in_force,
        steps,
        planning,
        followups: _,
        writes: _,
        people,
        spend,
        ending,
        // Why: what else there is follows from the rest, and is kept to look less.
        ..
    } = state;
    let mut hasher = DefaultHasher::new();
    if let Some(plan) = &in_force.plan {
        plan.checked().record().digest.hash(&mut hasher);
        debug(plan.grants(), &mut hasher);
    }
    of_people(state, reading, &mut hasher);
    let lists = steps.values().filter(|step| step.is_list);
    lists.for_each(|step| of_step(step, &mut hasher));
    in_force.revision.hash(&mut hasher);
    debug(&in_force.control, &mut hasher);
    of_planning(planning, &mut hasher);
    debug(&route.progress.bearing(), &mut hasher);
    ending.stopping.as_ref().map(kind).hash(&mut hasher);
    for asked in people.questions.values() {
        let of = &asked.question;
        let expires = of.expires.as_ref().filter(|_| asked.open);
        let left = expires.map(|expires| (expires.at - now, &expires.default));
        debug(&(&of.purpose, &of.text, left), &mut hasher);
        debug(&(&asked.answer, asked.open, asked.expired), &mut hasher);
    }
    spend.limit.is_some().hash(&mut hasher);
    debug(&spend.values, &mut hasher);
    (ending.cancelled.is_some(), ending.paused.is_some()).hash(&mut hasher);
    ending.reopened.hash(&mut hasher);
    debug(&ending.undo, &mut hasher);
    ending
        .ended
        .as_ref()
        .map(|ended| ended.status)
        .hash(&mut hasher);
    hasher.finish()
}

/// What follows from what people said, beside the calls it was about.
fn of_people(state: &State, reading: &Reading, hasher: &mut DefaultHasher) {
    // Why here: what follows from a goal or a no that the plan was not made for.
    (state.goals.unplanned.is_some(), &state.goals.former).hash(hasher);
    (
        state.goals.goal.text.len(),
        &state.in_force.amender,
        &state.people.amenders,
    )
        .hash(hasher);
    debug(&state.in_force.authorship, hasher);
    matches!(state.route.planner, PlannerChoice::Interpreter { .. }).hash(hasher);
    reading.whole().hash(hasher);
    state.ending.rejected.is_some().hash(hasher);
}

fn of_planning(planning: &Planning, hasher: &mut DefaultHasher) {
    let Planning {
        requests: _,
        outstanding,
        wanted,
        refused,
        findings: _,
        refused_text,
        refused_before,
        mended_text,
        answers,
        review,
    } = planning;
    if let Some(Outstanding {
        id: _,
        why,
        asked_people,
        proposed,
        mended,
        // Why not: nothing here plans at a cost.
        reserved: _,
        asked_at: _,
    }) = outstanding
    {
        (why.as_ref().map(kind), asked_people, proposed, mended).hash(hasher);
    }
    (
        wanted.as_ref().map(kind),
        refused,
        refused_text,
        refused_before,
        mended_text,
    )
        .hash(hasher);
    debug(&(answers, review), hasher);
}

fn kind(why: &Why) -> &'static str {
    match why {
        Why::Observed { .. } => "observed",
        Why::StepFailed { .. } => "failed",
        Why::Rejected { .. } => "rejected",
        Why::Expired { .. } => "expired",
        Why::Unmet { .. } => "unmet",
        Why::Refine { .. } => "refine",
        Why::Amended { .. } => "amended",
    }
}

fn names(why: Option<&Why>, id: &str) -> bool {
    match why {
        Some(
            Why::Observed { step }
            | Why::StepFailed { step, .. }
            | Why::Refine { step }
            | Why::Expired { step }
            | Why::Rejected {
                step: Some(step), ..
            },
        ) => step == id,
        Some(Why::Rejected { step: None, .. } | Why::Unmet { .. } | Why::Amended { .. }) | None => {
            false
        }
    }
}

fn of_step(step: &StepState, hasher: &mut DefaultHasher) {
    let StepState {
        status,
        closure: _,
        is_list,
        listed,
        list: _,
        items: _,
        skipped,
        class,
        message,
        view: _,
        retaken,
    } = step;
    retaken.hash(hasher);
    (status, is_list, listed, class, message).hash(hasher);
    debug(skipped, hasher);
}

/// The facts about one call.
fn of_slot(state: &State, slot: &Slot, now: i64, hasher: &mut DefaultHasher) {
    let id = &slot.step;
    let planning = &state.planning;
    let followup = state.followups.of(id);
    let asked = planning.outstanding.as_ref().and_then(|o| o.why.as_ref());
    let limit = state.spend.limit.as_ref().map(|(step, _)| step);
    let ended = state
        .ending
        .ended
        .as_ref()
        .and_then(|ended| ended.step.as_ref());
    (
        followup
            .map(|known| (known.report, known.failure))
            .unwrap_or_default(),
        followup.is_some_and(|known| !known.left_out.is_empty()),
        [
            state.ending.stopping.as_ref(),
            planning.wanted.as_ref(),
            asked,
        ]
        .map(|why| names(why, id)),
        [limit, ended].map(|step| step == Some(id)),
    )
        .hash(hasher);
    if let Some(effect) = state
        .writes
        .effects
        .iter()
        .find(|effect| effect.slot == *slot)
    {
        (effect.landing, effect.doubtful).hash(hasher);
    }
    let Some(step) = state.steps.get(id) else {
        return;
    };
    if !step.is_list {
        of_step(step, hasher);
    }
    if let Some(item) = step.items.get(slot.item.unwrap_or(0)) {
        of_item(state, item, now, hasher);
        let known = state.plan().and_then(|plan| plan.checked().step(id));
        let polls = known.is_some_and(|(step, _)| step.until.is_some());
        if polls && item.is_open() {
            let over = item.history.first_at.map(|first| first + POLL_AT_MOST_MS);
            over.map(|over| (over - now).max(-1)).hash(hasher);
        }
    }
}

fn of_item(state: &State, item: &ItemState, now: i64, hasher: &mut DefaultHasher) {
    let ItemState {
        progress,
        observed,
        consent,
        history,
        in_flight,
        retry_at,
    } = item;
    of_progress(progress, now, hasher);
    in_flight.is_some().hash(hasher);
    // Why not for which step a reading is taken again: nothing depends on it.
    let asks = in_flight.as_ref().map(|flight| match flight.purpose {
        Purpose::Effect | Purpose::Retake { .. } => (0, None),
        Purpose::Confirm => (1, None),
        Purpose::Reconcile => (2, None),
        Purpose::Preview { of } => (3, Some((of, flight.closure))),
    });
    asks.hash(hasher);
    retry_at.map(|at| (at - now).max(0)).hash(hasher);
    let observed = observed.as_ref().map(|Observed { output, at }| {
        let old = now > at + FRESH_MS;
        (output, old)
    });
    debug(&observed, hasher);
    of_history(history, now, hasher);
    of_consent(state, consent, now, hasher);
}

fn of_progress(progress: &ItemProgress, now: i64, hasher: &mut DefaultHasher) {
    progress.status().hash(hasher);
    match progress {
        ItemProgress::Open | ItemProgress::Failed | ItemProgress::Skipped => {}
        ItemProgress::Unconfirmed { reads } => (true, reads).hash(hasher),
        ItemProgress::InDoubt(Doubt {
            // Why not: it is only shown.
            since: _,
            final_at,
            reconcile_tries,
        }) => {
            let left = final_at.map(|at| (at - now).max(0));
            (left, reconcile_tries).hash(hasher);
        }
        ItemProgress::Succeeded(Success {
            // Why not: nothing follows from what was made.
            created: _,
            retaking,
        }) => retaking.hash(hasher),
    }
}

fn of_history(history: &CallHistory, now: i64, hasher: &mut DefaultHasher) {
    let CallHistory {
        attempt,
        tries,
        first_at,
        tool: _,
        key,
        earlier,
        counted,
        deferrals,
        landing,
        class,
        args: _,
        evidence: _,
    } = history;
    let lives = first_at.is_some_and(|first| now < first + KEY_LIVES_MS);
    (*attempt > 0, tries, deferrals).hash(hasher);
    debug(counted, hasher);
    (key.is_some() && lives, landing, class).hash(hasher);
    let others = earlier.as_ref().is_some_and(|(_, calls)| calls.count > 0);
    others.hash(hasher);
}

fn of_consent(state: &State, consent: &Consent, now: i64, hasher: &mut DefaultHasher) {
    let Consent {
        card,
        approved,
        preview,
    } = consent;
    let card = card.and_then(|digest| state.card(&digest));
    if let Some(card) = card {
        let left = card.card.expires_at.map(|at| at - now);
        (card.open, card.approved_by.len(), left).hash(hasher);
        let named = card.card.calls().iter().any(|call| call.earlier.count > 0);
        named.hash(hasher);
    }
    approved.is_some().hash(hasher);
    // Why not when: a card shows it, and nothing is decided by it.
    let shown = preview.as_ref();
    shown
        .map(|shown| (shown.of, matches!(shown.came, PreviewResult::Shown(_))))
        .hash(hasher);
}
