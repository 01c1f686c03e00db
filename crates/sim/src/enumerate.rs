//! The exhaustive enumerator: every history of every small plan, over the real run machine.
//!
//! Owns the world that counts effects, the crashes at every journal boundary and the faults on
//! either side of an effect. Never samples: equal (machine, world) states are merged, nothing else
//! is left out. INVARIANT: what it reports was seen in a history it can print.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::plan::Goal;
use provost_plan::policy::Principal;
use provost_run::event::{AskMode, Event, PlannerChoice, RunCreated};
use provost_run::machine::{Rules, Run};

mod explore;
mod node;
pub mod plans;

pub use plans::PlanCase;

/// How much may go wrong in one history.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Crashes of the process.
    pub crashes: u32,
    /// Faults of calls.
    pub faults: u32,
    /// Whether the driver forgets to sync: a control that must lose intents.
    pub forget_sync: bool,
}

/// What was seen.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Plans explored.
    pub plans: u64,
    /// Different (machine, world) states.
    pub states: u64,
    /// Journal boundaries crossed.
    pub boundaries: u64,
    /// States in which nothing more can happen.
    pub ends: BTreeMap<String, u64>,
    /// Keyed writes whose effect took place twice.
    pub doubled_keyed: u64,
    /// Plain writes whose effect took place twice.
    pub doubled_plain: u64,
    /// Effects without an intent in the journal that survived.
    pub lost: u64,
    /// Plain writes that ended unknown.
    pub ambiguous: u64,
    /// Of those, the ones that are in doubt.
    pub in_doubt: u64,
    /// Kinds of fault and crash that occurred.
    pub faults: BTreeSet<&'static str>,
    /// Kinds of event that occurred.
    pub kinds: BTreeSet<&'static str>,
    /// The first history with a doubled or lost effect, in words.
    pub witness: Option<Vec<String>>,
}

impl Tally {
    /// Effects that must not have been: doubled or lost.
    #[must_use]
    pub fn violations(&self) -> u64 {
        self.doubled_keyed + self.doubled_plain + self.lost
    }
}

/// Explores every history of a plan within the bounds.
///
/// # Errors
/// A sentence, if the plan does not check or the machine contradicts itself.
pub fn explore(
    case: &PlanCase,
    rules: &Rules,
    principal: &Principal,
    bounds: Bounds,
    tally: &mut Tally,
) -> Result<(), String> {
    tally.plans += 1;
    let created = RunCreated {
        run: "enumeration".to_owned(),
        goal: Goal::of_text("every effect at most once"),
        planner: PlannerChoice::File {
            name: "plan".to_owned(),
            text: case.text.clone(),
            playbook: None,
        },
        principal: principal.clone(),
        limits: provost_plan::plan::Limits::default(),
        ask: AskMode::Step,
        solo: true,
    };
    let (run, output) =
        Run::create(created, "enumeration", rules.clone(), 0).map_err(|e| e.to_string())?;
    explore::Search {
        case,
        rules,
        principal,
        bounds,
        tally,
        seen: BTreeSet::new(),
    }
    .follow_output(node::Node::new(run, bounds), output)
}

pub(crate) fn kinds_of(events: &[Event]) -> impl Iterator<Item = &'static str> + '_ {
    events.iter().map(Event::kind)
}
