//! One state of the search: the machine, what is on its way, the world, what may still go wrong.
//!
//! Owns what a choice changes beside the machine, and the way that led here. INVARIANT: two nodes
//! with equal keys differ in nothing that can still matter but how much may still go wrong.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use super::machine::Machine;
use super::people::{Person, Saying};
use super::plans::Place;
use super::stops::Scope;
use super::world::{Flight, World};
use super::{Budget, PlanCase};

/// What was done to come here.
struct Action {
    what: &'static str,
    place: Option<(usize, bool)>,
    before: Option<Rc<Action>>,
}

/// The way to a state, in words.
#[derive(Clone, Default)]
pub(super) struct Story(Option<Rc<Action>>);

impl Story {
    pub(super) fn tell(&mut self, what: &'static str, flight: Option<Flight>) {
        let before = self.0.take();
        let place = flight.map(|flight| (flight.place, flight.again));
        self.0 = Some(Rc::new(Action {
            what,
            place,
            before,
        }));
    }

    pub(super) fn lines(&self, places: &[Place]) -> Vec<String> {
        let mut lines = Vec::new();
        let mut next = self.0.as_ref();
        while let Some(deed) = next {
            let of = deed.place.and_then(|(place, again)| {
                let added = if again { " (again)" } else { "" };
                places
                    .get(place)
                    .map(|place| format!("{}{added}: ", place.target))
            });
            lines.push(format!("{}{}", of.unwrap_or_default(), deed.what));
            next = deed.before.as_ref();
        }
        lines.reverse();
        lines
    }
}

/// One state of the search.
#[derive(Clone)]
pub(super) struct Node {
    pub(super) at: Rc<Machine>,
    /// What the last durable commit left, and every later one, with the time since each.
    pub(super) tail: Vec<(Rc<Machine>, i64)>,
    pub(super) flights: Vec<Flight>,
    /// Writes that nobody waits for any more and that will still take place.
    pub(super) late: Vec<Flight>,
    /// Whether the planner is asked.
    pub(super) asked: bool,
    /// In how many milliseconds something happens by itself.
    pub(super) timer: Option<i64>,
    pub(super) world: World,
    pub(super) left: Budget,
    /// What a person posted while nobody drove the run, until it is heard.
    pub(super) posted: Option<(Person, Saying)>,
    /// Whether that was heard, and a crash may take it back.
    pub(super) heard: bool,
    /// What is stopped from outside.
    pub(super) stopped: Option<Scope>,
    /// The place whose call another run made too.
    pub(super) repeated: Option<usize>,
    /// The time since the last step.
    pub(super) waited: i64,
    pub(super) story: Story,
}

impl Node {
    /// So much time passes.
    pub(super) fn wait(&mut self, ms: i64) {
        self.waited += ms;
        self.timer = self.timer.map(|left| (left - ms).max(0));
        self.tail.iter_mut().for_each(|(_, age)| *age += ms);
    }

    pub(super) fn new(at: Rc<Machine>, case: &PlanCase, left: Budget) -> Self {
        Self {
            at,
            tail: Vec::new(),
            flights: Vec::new(),
            late: Vec::new(),
            asked: false,
            timer: None,
            world: World::of(&case.places),
            left,
            posted: None,
            heard: false,
            stopped: None,
            repeated: None,
            waited: 0,
            story: Story::default(),
        }
    }

    /// What makes two nodes equal for everything that can still happen, at a stage of the search.
    /// With `merge_equals`, places that differ in name only are put in order first.
    pub(super) fn key(&self, stage: &str, case: &PlanCase, merge_equals: bool) -> u64 {
        let mut hasher = DefaultHasher::new();
        (stage, self.asked, self.timer, self.waited).hash(&mut hasher);
        (self.posted, self.heard, self.stopped, self.repeated).hash(&mut hasher);
        let machines = || self.tail.iter().map(|(kept, _)| kept).chain([&self.at]);
        machines().for_each(|machine| machine.prints.shared().hash(&mut hasher));
        // Why then only: the number of what nobody will hear again bears on nothing.
        if self.posted.is_some() {
            machines().for_each(|machine| machine.prints.holds_posted.hash(&mut hasher));
        }
        self.tail.iter().for_each(|(_, age)| age.hash(&mut hasher));
        let record = |index: &usize| -> u64 {
            let mut hasher = DefaultHasher::new();
            machines().for_each(|machine| machine.prints.place(*index).hash(&mut hasher));
            self.world.count(*index).hash(&mut hasher);
            let flying = self.flights.iter().filter(|flight| flight.place == *index);
            flying.for_each(|flight| (flight.again, flight.class).hash(&mut hasher));
            let late = self.late.iter().filter(|flight| flight.place == *index);
            late.for_each(|flight| (flight.again, "late").hash(&mut hasher));
            hasher.finish()
        };
        for group in &case.equals {
            let mut records: Vec<u64> = group.iter().map(record).collect();
            if merge_equals {
                records.sort_unstable();
            }
            records.hash(&mut hasher);
        }
        hasher.finish()
    }
}
