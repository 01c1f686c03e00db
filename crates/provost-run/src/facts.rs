//! The facts of a run: counts of its planning and of its execution, each a formula over events.
//!
//! Owns the formulas, which docs/reference/metrics.md spells out. Two families, never mixed:
//! nothing that a tool, a person or a limit did is in the first. INVARIANT: every figure is a count
//! over one journal, so a second reader gets the same; many runs are sums of both numbers.

use std::collections::BTreeMap;

use provost_plan::check::CheckedPlan;
use provost_plan::money::Money;
use serde::{Deserialize, Serialize};

use crate::event::{Event, PlannerChoice};
use crate::grade::Rate;

mod counts;
mod economy;
mod execution;
mod needed;
mod open;
mod planning;
mod slots;

use slots::SlotIndex;

pub use counts::SeriesCounts;
pub(crate) use economy::PlannerSpend;
pub(crate) use open::{OpenToPeople, time_open};

/// The version of the formulas: facts of another one are counted anew.
pub const FORMULAS: u32 = 3;

/// The rates of planning, in the order in which they are shown: key and title.
pub const PLANNING: [(&str, &str); 14] = [
    ("first_time", "first proposals that were admissible"),
    ("shown", "completeness, shown: criteria held"),
    (
        "foresight",
        "completeness, foresight: needed steps in the first plan",
    ),
    ("unneeded", "unnecessary steps"),
    ("unjustified", "unjustified effects"),
    ("repeated_reads", "repeated reads"),
    ("over_planned", "runs with unnecessary steps"),
    ("revisions", "revisions per run with a plan"),
    ("revisions_helped", "revisions that helped"),
    ("dependencies", "dependencies that were right"),
    ("clarifications", "clarifications per run with a plan"),
    ("clarifications_used", "answers that a plan used"),
    (
        "clarifications_needless",
        "questions whose answer was there",
    ),
    ("adherence", "attempts as approved"),
];

/// The rates of execution, in the order in which they are shown.
pub const EXECUTION: [(&str, &str); 13] = [
    ("tool_success", "tries that ended ok"),
    ("step_success", "steps that succeeded"),
    ("retries", "retries per step with a try"),
    ("recovered", "steps retried that succeeded"),
    ("timeouts", "tries that timed out"),
    ("validation", "steps that a validation failed"),
    ("validation_confirm", "of these, by a confirming read"),
    ("duplicates", "effects that landed again"),
    ("duplicates_held", "repeats held back, per effect landed"),
    ("duplicates_possible", "effects that may have landed twice"),
    ("in_doubt", "effects that were in doubt"),
    ("completed", "runs that succeeded"),
    ("completed_alone", "runs that succeeded without a person"),
];

/// Those that are means per run or step and no shares: they have no such interval as a share has.
pub const MEANS: [&str; 4] = ["revisions", "clarifications", "retries", "duplicates_held"];

/// Rates by their key.
pub type Rates = BTreeMap<String, Rate>;

/// What can be counted in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFacts {
    /// When it ended, in milliseconds since the epoch; none while it is not over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<i64>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// What it may be grouped by: planner, model, prompt, playbook, policy.
    pub groups: BTreeMap<String, String>,
    /// The rates of planning.
    pub planning: Rates,
    /// Revisions, by what asked for them.
    pub revisions_by: BTreeMap<String, u64>,
    /// The rates of execution.
    pub execution: Rates,
    /// Those that belong to an operation, by operation.
    pub operations: BTreeMap<String, Rates>,
    /// Failed tries, by class.
    pub failures: BTreeMap<String, u64>,
    /// How long tries took that were measured, in microseconds, by operation.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub latency_us: BTreeMap<String, Vec<u64>>,
    /// SeriesCounts for monitoring systems.
    #[serde(default, skip_serializing_if = "SeriesCounts::is_empty")]
    pub counts: SeriesCounts,
    /// How long cards waited for an answer, in milliseconds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approval_wait_ms: Vec<i64>,
    /// What it cost.
    pub economy: Economy,
}

/// What a run cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Economy {
    /// What planning cost, as far as it has a price.
    pub planning: Money,
    /// What calls of models cost, as far as it has a price.
    pub tools: Money,
    /// The most that calls can have cost beside that: those that do not say.
    pub at_most: Money,
    /// Replies of planners and calls of models without a price.
    pub unpriced: u64,
    /// Tokens of planners.
    pub tokens_planning: u64,
    /// Tokens of model tools.
    pub tokens_tools: u64,
    /// Plans that came into force.
    pub plans: u64,
    /// Steps and items that settled.
    pub settled: u64,
    /// From the beginning to the end, in milliseconds.
    pub elapsed_ms: i64,
    /// Of this, with nothing open that only a person ends.
    pub busy_ms: i64,
}

impl RunFacts {
    /// Counts a journal: events with the moments they were recorded at, in milliseconds.
    ///
    /// Who has the plan in force at hand gives it, and it is not read again.
    #[must_use]
    pub fn of<'e>(
        events: impl IntoIterator<Item = (&'e Event, i64)>,
        in_force: Option<&CheckedPlan>,
    ) -> Self {
        let events = events.into_iter().collect::<Vec<_>>();
        let mut facts = Self::default();
        let slots = SlotIndex::of(&events);
        facts.head(&events);
        planning::count(&events, &slots, in_force, &mut facts);
        execution::count(&events, &slots, &mut facts);
        economy::count(&events, &mut facts);
        counts::count(&events, &slots, &mut facts);
        facts
    }

    fn head(&mut self, events: &[(&Event, i64)]) {
        for (event, at) in events {
            match event {
                Event::RunCreated(created) => {
                    self.planned_by(&created.planner);
                    self.group("version", created.provost.as_deref());
                }
                Event::GoalInterpreted {
                    planner: Some(planner),
                    ..
                } => self.planned_by(planner),
                Event::BudgetSpent { usage, .. } => {
                    self.group("model", usage.model.as_deref());
                    self.group("prompt", usage.prompt.as_deref());
                }
                Event::PlanChecked { record, .. } => {
                    let policy = record.terms.policy.short();
                    self.group("policy", Some(policy.as_str()));
                }
                Event::RunEnded(ended) => {
                    self.ended_at = Some(*at);
                    self.status = Some(ended.status.word().to_owned());
                }
                // Why: it has not ended as long as it is being undone.
                Event::UndoRequested { .. } => (self.ended_at, self.status) = (None, None),
                _ => {}
            }
        }
    }

    fn planned_by(&mut self, planner: &PlannerChoice) {
        if let PlannerChoice::Playbook { name } = planner {
            self.group("playbook", Some(name));
        }
        self.group("planner", Some(planner.kind()));
    }

    fn group(&mut self, by: &str, name: Option<&str>) {
        if let Some(name) = name {
            self.groups.insert(by.to_owned(), name.to_owned());
        }
    }

    /// Adds those of another run: sums of numerators and of denominators.
    pub fn add(&mut self, other: &Self) {
        add_rates(&mut self.planning, &other.planning);
        add_rates(&mut self.execution, &other.execution);
        for (operation, rates) in &other.operations {
            add_rates(self.operations.entry(operation.clone()).or_default(), rates);
        }
        for (mine, theirs) in [
            (&mut self.revisions_by, &other.revisions_by),
            (&mut self.failures, &other.failures),
        ] {
            for (key, count) in theirs {
                *mine.entry(key.clone()).or_default() += count;
            }
        }
        for (operation, took) in &other.latency_us {
            let mine = self.latency_us.entry(operation.clone()).or_default();
            mine.extend_from_slice(took);
        }
        self.counts.add(&other.counts);
        self.approval_wait_ms
            .extend_from_slice(&other.approval_wait_ms);
        let (mine, theirs) = (&mut self.economy, &other.economy);
        mine.planning = mine.planning.saturating_add(theirs.planning);
        mine.tools = mine.tools.saturating_add(theirs.tools);
        mine.at_most = mine.at_most.saturating_add(theirs.at_most);
        mine.unpriced += theirs.unpriced;
        mine.tokens_planning += theirs.tokens_planning;
        mine.tokens_tools += theirs.tokens_tools;
        mine.plans += theirs.plans;
        mine.settled += theirs.settled;
        mine.elapsed_ms += theirs.elapsed_ms;
        mine.busy_ms += theirs.busy_ms;
    }
}

fn add_rates(mine: &mut Rates, theirs: &Rates) {
    for (key, rate) in theirs {
        let sum = mine.entry(key.clone()).or_default();
        *sum = sum.and(*rate);
    }
}

/// Sets a rate, unless there is nothing that it is about.
fn put(rates: &mut Rates, key: &str, hits: u64, of: u64) {
    if of > 0 {
        rates.insert(key.to_owned(), Rate::new(hits, of));
    }
}
