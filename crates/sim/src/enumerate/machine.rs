//! The machine's part of a state: one run as it stands, with the journal that led to it.
//!
//! Owns each different state of the machine once, and each step from it: a step is a function of
//! state, input and moment alone, so it is made once however many worlds it is made in. INVARIANT:
//! the journal of a state is a real one; what a process takes up is folded from it.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use provost_plan::digest::Digest;
use provost_run::call::{Call, Slot};
use provost_run::card::CardSubject;
use provost_run::event::{Event, StepStatus};
use provost_run::machine::Run;
use provost_run::outcome::Landing;
use provost_run::state::State;

use super::fingerprint::Prints;
use super::people::{Person, Saying, choices};
use super::plans::AGAIN;
use super::reading::Reading;
use super::stops::Scope;
use super::world::{Class, Flight};
use super::{PlanCase, catalog};

/// What a machine is told, as the search names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum MachineInput {
    /// A call ended; the number of the ending, and whether the tool finds what it looked for.
    Ended(Flight, usize, bool),
    /// The planner proposes the first plan.
    Plan,
    /// The planner proposes to call this place again.
    Again(usize),
    /// The planner has nothing.
    Decline,
    /// The planner proposes what has one step more.
    Longer,
    /// A person says something to whoever drives the run, or takes it up to say it.
    Says(Person, Saying),
    /// What a person posted is heard; as a statement of another number, by a driver that forgets.
    Posted(Person, Saying, bool),
    /// Time passes.
    Tick,
    /// Another process takes the run up.
    Resume,
    /// It has heard what people said, and lets what can begin begin.
    Proceed,
}

/// What a person says of a doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Settled {
    Happened,
    DidNotHappen,
    Abandoned,
}

/// What a step of the machine led to.
pub(super) struct Stepped {
    pub(super) to: Rc<Machine>,
    pub(super) sync: bool,
    pub(super) flights: Vec<Flight>,
    pub(super) asks_planner: bool,
    /// In how many milliseconds something happens by itself.
    pub(super) timer: Option<i64>,
}

/// What is there beside the run: what is stopped, and the place whose call another run made too.
pub(super) type Outside = (Option<Scope>, Option<usize>);

/// An input, after how many milliseconds it comes, and what is outside then.
pub(super) type Moment = (MachineInput, i64, Outside);

/// One state of the machine.
pub(super) struct Machine {
    /// Its number in this search.
    pub(super) id: usize,
    pub(super) run: Run,
    pub(super) journal: Journal,
    /// What the stored events fold to.
    pub(super) fold: State,
    /// When the last step was made.
    pub(super) now: i64,
    /// The place that a revision proposed to call again.
    pub(super) again: Option<usize>,
    pub(super) prints: Prints,
    pub(super) facts: Facts,
    /// What its journal says of people.
    pub(super) reading: Reading,
    pub(super) steps: RefCell<HashMap<Moment, Rc<Stepped>>>,
}

/// What the search asks of a state again and again.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// The word of its status, if the run is over.
    pub(super) ended: Option<&'static str>,
    pub(super) status: &'static str,
    pub(super) cards: Vec<Digest>,
    /// Open questions, each with how many answers it takes.
    pub(super) questions: Vec<(Digest, usize)>,
    /// In how many milliseconds the first open card or question lapses.
    pub(super) lapses: Option<i64>,
    /// Whether a long absence changes what follows.
    pub(super) ages: bool,
    /// Calls of which an intent is recorded: place, and whether of the added step.
    pub(super) intended: BTreeSet<(usize, bool)>,
    /// Places whose write is said to have succeeded.
    pub(super) claimed: Vec<usize>,
    /// Places that a planner may want called again.
    pub(super) proposals: Vec<usize>,
    /// Whether the outstanding request wants a revision.
    pub(super) revises: bool,
    /// Whether that is for a goal that nobody planned for.
    pub(super) unplanned: bool,
    /// Calls in doubt: place, whether of the added step, and whether they may still take place.
    pub(super) doubts: Vec<(usize, bool, bool)>,
    pub(super) paused: bool,
    /// Whether it was taken up, and nothing begins before people are heard.
    pub(super) hears: bool,
    pub(super) ambiguous: u64,
    pub(super) in_doubt: u64,
}

impl Facts {
    pub(super) fn of(run: &Run, case: &PlanCase, again: Option<usize>, now: i64) -> Self {
        let state = run.state();
        let place = |slot: &Slot| place_of(case, again, slot);
        let mut facts = Self {
            ended: state.ending.ended.as_ref().map(|ended| ended.status.word()),
            status: state.status().word(),
            cards: state.open_cards().map(|(digest, _)| *digest).collect(),
            questions: state
                .open_questions()
                .map(|(digest, asked)| (*digest, choices(&asked.answer).len()))
                .collect(),
            paused: state.ending.paused.is_some(),
            hears: run.is_hearing(),
            revises: state.in_force.plan.is_some(),
            unplanned: state.goals.unplanned.is_some(),
            proposals: proposals(state, case),
            ..Self::default()
        };
        let cards = state.open_cards().filter_map(|(_, card)| card.expires_at);
        let asked = state.open_questions();
        let asked = asked.filter_map(|(_, asked)| Some(asked.expires.as_ref()?.at));
        facts.lapses = cards.chain(asked).min().map(|at| at - now);
        facts.ages = !facts.cards.is_empty();
        facts.ages |= state.items().any(|(slot, item)| {
            let polls = place(&slot).is_some_and(|(place, again)| !again && case.polls(place));
            polls && item.has_begun() && item.is_open()
        });
        for effect in &state.writes.effects {
            facts.intended.extend(place(&effect.slot));
            let Some(item) = state.item(&effect.slot) else {
                continue;
            };
            let unknown = effect.landing == Landing::Unknown;
            facts.ages |= unknown && item.history.key.is_some();
            if item.is_in_doubt() {
                let early = item.doubt().and_then(|doubt| doubt.final_at);
                let early = early.is_some_and(|at| at > now);
                let doubt = place(&effect.slot).map(|(place, again)| (place, again, early));
                facts.doubts.extend(doubt);
            }
            // Why doubtful: a person may have said that nobody asks any more.
            let landed = unknown && effect.doubtful && item.in_flight.is_none();
            if landed && (item.history.key.is_none() || !item.is_open()) {
                facts.ambiguous += 1;
                facts.in_doubt += u64::from(item.is_in_doubt());
            }
            if item.status() == Some(StepStatus::Succeeded) {
                facts
                    .claimed
                    .extend(place(&effect.slot).map(|(place, _)| place));
            }
        }
        facts
    }
}

/// The place that a slot calls, and whether it is that of the added step.
pub(super) fn place_of(
    case: &PlanCase,
    again: Option<usize>,
    slot: &Slot,
) -> Option<(usize, bool)> {
    if slot.step == AGAIN {
        return again.map(|place| (place, true));
    }
    let mut places = case.places.iter();
    let place = places.position(|place| place.step == slot.step && place.item == slot.item);
    place.map(|place| (place, false))
}

/// The slot of a flight.
pub(super) fn slot_of(case: &PlanCase, flight: Flight) -> Option<Slot> {
    if flight.again {
        let (step, item) = (AGAIN.to_owned(), None);
        return Some(Slot { step, item });
    }
    let place = case.places.get(flight.place)?;
    let (step, item) = (place.step.clone(), place.item);
    Some(Slot { step, item })
}

/// A call that the machine commands, as the search knows it.
pub(super) fn flight_of(
    call: &Call,
    state: &State,
    case: &PlanCase,
    again: Option<usize>,
) -> Option<Flight> {
    let (place, added) = place_of(case, again, call.slot())?;
    let shown = |subject: &CardSubject| match subject {
        CardSubject::Step { calls, .. } => calls
            .iter()
            .any(|shown| shown.item == call.slot().item && shown.repeats.is_some()),
        CardSubject::Plan { .. } => false,
    };
    let approved = state
        .item(call.slot())
        .and_then(|item| item.consent.approved);
    let card = approved.and_then(|(card, _)| state.card(&card));
    let repeated = card.is_some_and(|card| shown(&card.card.subject));
    let class = match Class::from(case.places.get(place)?.kind) {
        _ if call.operation().name == catalog::FIND => Class::Find,
        Class::Plain if repeated => Class::Repeated,
        Class::Keyed if repeated => Class::RepeatedKeyed,
        class => class,
    };
    Some(Flight {
        place,
        again: added,
        class,
    })
}

/// Calls that a revision proposes again: the first that may have taken place, the first that did,
/// the first that failed.
fn proposals(state: &State, case: &PlanCase) -> Vec<usize> {
    let place = |slot: &Slot| place_of(case, None, slot).map(|(place, _)| place);
    let landed = |wanted: Landing| {
        let mut effects = state.writes.effects.iter();
        let effect = effects.find(|effect| effect.landing == wanted)?;
        place(&effect.slot)
    };
    let mut items = state.items();
    let failed = items
        .find(|(_, item)| item.status() == Some(StepStatus::Failed) && item.history.attempt > 0);
    let failed = failed.and_then(|(slot, _)| place(&slot));
    let mut found: Vec<usize> = [landed(Landing::Unknown), landed(Landing::Happened), failed]
        .into_iter()
        .flatten()
        .collect();
    found.dedup();
    found
}

/// A journal that shares its beginning with others.
#[derive(Clone, Default)]
pub(super) struct Journal(Option<Rc<Link>>);

struct Link {
    event: Event,
    at: i64,
    before: Option<Rc<Link>>,
}

impl Journal {
    /// Adds an event as a store gives it back.
    pub(super) fn push(&mut self, event: Event, at: i64) {
        let before = self.0.take();
        self.0 = Some(Rc::new(Link { event, at, before }));
    }

    /// The events, in order.
    pub(super) fn events(&self) -> Vec<(&Event, i64)> {
        let mut events = Vec::new();
        let mut next = self.0.as_ref();
        while let Some(link) = next {
            events.push((&link.event, link.at));
            next = link.before.as_ref();
        }
        events.reverse();
        events
    }
}

/// An event, kept and read again.
pub(super) fn stored(event: &Event) -> Result<Event, String> {
    let (kind, version, payload) = event.to_stored();
    let read = Event::from_stored(&kind, version, &payload);
    read.map_err(|error| error.to_string())
}
