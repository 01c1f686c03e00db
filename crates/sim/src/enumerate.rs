//! The exhaustive enumerator: every history of every small plan, over the real run machine.
//!
//! Owns the world that counts effects, the crashes at every journal boundary and the faults on
//! either side of an effect. Never samples: equal (machine, world) states are merged, nothing else
//! is left out. INVARIANT: what it reports was seen in a history it can print.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use provost_plan::plan::{Goal, Limits};
use provost_run::event::{AskMode, PlannerChoice, RunCreated};
use provost_run::machine::{Rules, Run};

use crate::repeats::Looks;

mod asked;
mod beside;
pub mod catalog;
mod crash;
mod explore;
mod fingerprint;
mod inputs;
pub mod judge;
mod machine;
mod node;
mod people;
pub mod plans;
pub mod reading;
mod refusals;
mod statements;
pub mod stops;
pub mod sums;
mod world;

pub use asked::FirstQuestion;
pub use catalog::Kind;
pub use plans::{Place, PlanCase};

/// How much may still go wrong in a history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    /// Crashes of the process.
    pub crashes: u8,
    /// Faults of calls.
    pub faults: u8,
    /// Revisions that a planner proposes.
    pub replans: u8,
    /// Times that people say no, or nothing.
    pub refusals: u8,
    /// Times that a person cancels, pauses or settles a doubt.
    pub words: u8,
}

impl Budget {
    /// Whether everything that may go wrong under `other` may go wrong under this one.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        let numbers = |b: &Self| [b.crashes, b.faults, b.replans, b.refusals, b.words];
        let pairs = numbers(self).into_iter().zip(numbers(other));
        pairs.into_iter().all(|(mine, theirs)| mine >= theirs)
    }
}

/// What is explored of a plan.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// How much may go wrong in one history.
    pub budget: Budget,
    /// Whether calls that differ in name only count as one in the comparison of states.
    pub merge_equals: bool,
    /// Whether every state of the machine is also given a result twice and a clock that goes
    /// back, and is taken up from its whole journal.
    pub probes: bool,
    /// Whether the driver forgets to sync: a control that must lose intents.
    pub forget_sync: bool,
    /// Whether the driver lets things begin before it hears what was posted: a control that must
    /// begin what a person forbade.
    pub dispatch_first: bool,
    /// Whether the driver takes what was posted for another statement each time it hears it: a
    /// control that must count one twice.
    pub hears_anew: bool,
    /// Whether polls are judged by longer waits and less time: a control that must find some early
    /// and some late.
    pub strict_polls: bool,
    /// Whether two people speak, and nobody approves what they asked for.
    pub two_people: bool,
    /// Whether people stop more than this run.
    pub stops: bool,
    /// Whether another run makes the same calls.
    pub repeats: bool,
    /// The limit of the sum that its calls add to, which is less than that of the plan.
    pub sum: Option<u64>,
    /// How the driver has the store confirm what a turn rests on.
    pub looks: Looks,
}

/// What was seen.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Plans explored.
    pub plans: u64,
    /// Different (machine, world) states.
    pub states: u64,
    /// Inputs, each in a (machine, world) state.
    pub transitions: u64,
    /// Steps of the machine that these came down to.
    pub steps: u64,
    /// Journal boundaries at which a crash was tried.
    pub boundaries: u64,
    /// States in which nothing more can happen.
    pub ends: BTreeMap<&'static str, u64>,
    /// What must not be, and how often it was seen.
    pub broken: BTreeMap<&'static str, u64>,
    /// Plain writes that ended unknown, in states.
    pub ambiguous: u64,
    /// Of those, the ones that are in doubt.
    pub in_doubt: u64,
    /// Kinds of fault and crash that occurred.
    pub faults: BTreeSet<&'static str>,
    /// Codes of findings in proposals that were refused.
    pub refused: BTreeSet<String>,
    /// Marks of the transition table that were hit.
    pub marks: BTreeSet<&'static str>,
    /// The first history in which something that must not be was seen, in words.
    pub witness: Option<Vec<String>>,
}

impl Tally {
    /// How often something that must not be was seen.
    #[must_use]
    pub fn times(&self, what: &str) -> u64 {
        self.broken.get(what).copied().unwrap_or_default()
    }

    /// Adds what was seen elsewhere.
    pub fn add(&mut self, other: Self) {
        self.plans += other.plans;
        self.states += other.states;
        self.transitions += other.transitions;
        self.steps += other.steps;
        self.boundaries += other.boundaries;
        self.ambiguous += other.ambiguous;
        self.in_doubt += other.in_doubt;
        for (end, times) in other.ends {
            *self.ends.entry(end).or_default() += times;
        }
        for (what, times) in other.broken {
            *self.broken.entry(what).or_default() += times;
        }
        self.faults.extend(other.faults);
        self.refused.extend(other.refused);
        self.marks.extend(other.marks);
        self.witness = self.witness.take().or(other.witness);
    }
}

/// Explores every history of a plan within the bounds.
///
/// # Errors
/// A sentence, if the plan does not check or the machine contradicts itself.
pub fn explore(case: &PlanCase, rules: &Rules, bounds: Bounds) -> Result<Tally, String> {
    let created = RunCreated {
        run: "enumeration".to_owned(),
        goal: Goal::of_text("every effect at most once"),
        planner: PlannerChoice::File {
            name: "plan".to_owned(),
            text: case.text.clone(),
            playbook: None,
        },
        fallback: None,
        mode: None,
        principal: people::Person::Ada.principal(),
        // Why: how long it ran is not compared, so no limit of it may be near.
        limits: Limits {
            wall_ms: 100 * catalog::KEY_LIVES_MS.unsigned_abs(),
            ..Limits::default()
        },
        ask: AskMode::Step,
        solo: !bounds.two_people,
        signed: false,
        vouched: false,
        rights: None,
        provost: None,
        traceparent: None,
    };
    let (run, output) =
        Run::create(created, "enumeration", rules.clone(), 0).map_err(|e| e.to_string())?;
    let mut search = explore::Search {
        case,
        rules,
        bounds,
        tally: Tally::default(),
        seen: HashMap::new(),
        machines: HashMap::new(),
        inbox: people::inbox(catalog::people()?, !bounds.two_people),
        prior: Vec::new(),
    };
    search.tally.plans = 1;
    let begun = match bounds.sum {
        Some(limit) => search.begin_under(limit, (run, output)),
        None => search.begin(run, output),
    };
    // Why: machines know what follows them, and what goes round is never freed.
    for machine in search.machines.values() {
        machine.steps.borrow_mut().clear();
    }
    begun.map_err(|error| format!("{}: {error}", case.name))?;
    if !search.tally.marks.contains("a first plan") {
        let found = &search.tally.refused;
        return Err(format!(
            "{}: it never came into force: {found:?}",
            case.name
        ));
    }
    Ok(search.tally)
}
