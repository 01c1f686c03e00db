//! Admission: what several runs share, and whether one more attempt may begin beside theirs.
//!
//! Owns breakers, rates, places, shared budgets, stops and the guard over effects in doubt. Never
//! keeps a row: whoever keeps them changes them in the transaction of the intent, by the functions
//! here. INVARIANT: an attempt that is not admitted leaves no intent and no change.

use std::collections::BTreeMap;
use std::sync::Arc;

use provost_plan::digest::Digest;
use provost_plan::money::Money;
use serde::{Deserialize, Serialize};

use crate::call::Slot;
use crate::earlier::{CallKey, EarlierCalls};
use crate::outcome::Class;

/// Failures in a row that open a breaker, unless the operator says otherwise.
pub const BREAKER_FAILURES: u32 = 5;
/// How long an open breaker lets nothing through, unless the operator says otherwise.
pub const BREAKER_COOLDOWN_MS: i64 = 30_000;
/// How long a probe may take before another is let through.
const PROBE_MS: i64 = 120_000;
/// How far the clocks of two processes may be apart: what is remembered from further ahead than
/// this is of a clock that was set back since, and counts for nothing.
const CLOCK_SKEW_MS: i64 = 3_600_000;

/// What the operator allows a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolLimits {
    /// Most attempts in flight at once, over all runs.
    pub concurrency: Option<u32>,
    /// Most attempts in a time, over all runs.
    pub rate: Option<Rate>,
    /// When it is left alone for a while; none: never.
    pub breaker: Option<Breaker>,
}

/// Most attempts in a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// How many.
    pub count: u32,
    /// In how many milliseconds.
    pub per_ms: i64,
}

/// When a tool is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breaker {
    /// Failures in a row that open it: no answer in time, or not to be reached.
    pub failures: u32,
    /// How long it then lets nothing through, in milliseconds; one probe decides after that.
    pub cooldown_ms: i64,
}

impl Default for ToolLimits {
    fn default() -> Self {
        Self {
            concurrency: None,
            rate: None,
            breaker: Some(Breaker {
                failures: BREAKER_FAILURES,
                cooldown_ms: BREAKER_COOLDOWN_MS,
            }),
        }
    }
}

/// Money and tokens that all runs of a workspace share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Most money in a period.
    pub money: Option<Money>,
    /// Most tokens in a period.
    pub tokens: Option<u64>,
    /// The period.
    pub per: Period,
}

/// How long a shared budget lasts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Period {
    /// A day of UTC.
    Day,
    /// A month of UTC.
    Month,
    /// For ever.
    #[default]
    Ever,
}

impl Period {
    /// The words of the configuration.
    pub const WORDS: [(&'static str, Self); 3] = [
        ("day", Self::Day),
        ("month", Self::Month),
        ("ever", Self::Ever),
    ];

    /// The name of the period that `now` lies in.
    #[must_use]
    pub fn name_at(self, now: i64) -> String {
        let at = jiff::Timestamp::from_millisecond(now).map(|at| at.to_string());
        let length = match self {
            Self::Day => "2026-11-21".len(),
            Self::Month => "2026-11".len(),
            Self::Ever => 0,
        };
        at.map_or_else(
            |_| String::new(),
            |text| text.chars().take(length).collect(),
        )
    }

    /// The names of all periods that `now` lies in.
    #[must_use]
    pub fn names_at(now: i64) -> [String; 3] {
        [Self::Day, Self::Month, Self::Ever].map(|period| period.name_at(now))
    }
}

/// What the operator says of what runs share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdmissionRules {
    /// By tool: the part of an operation's name before the first `.`.
    pub tools: Arc<BTreeMap<String, ToolLimits>>,
    /// The budget of the workspace.
    pub budget: Option<Budget>,
    /// For how long calls are remembered that a later one may equal, in milliseconds; 0: not.
    pub repeats_ms: i64,
}

impl AdmissionRules {
    /// The limits of a tool.
    #[must_use]
    pub fn of_tool(&self, tool: &str) -> ToolLimits {
        self.tools.get(tool).cloned().unwrap_or_default()
    }
}

/// The tool of an operation.
#[must_use]
pub fn tool_of(operation: &str) -> &str {
    operation.split('.').next().unwrap_or(operation)
}

/// What an append changes of what runs share, in the order of its events.
#[derive(Clone, Debug, PartialEq)]
pub enum AdmissionEntry {
    /// An attempt begins, if it is admitted.
    Begin(Box<Begin>),
    /// An attempt ended.
    End {
        /// Which.
        slot: Slot,
        /// Its tool.
        tool: String,
        /// What that says of the tool's health; none where it says nothing.
        healthy: Option<bool>,
        /// Whether it is settled that an effect took place or did not.
        known: bool,
        /// Where that effect was open, as far as the attempt tells.
        target: Option<CallTarget>,
        /// The breaker's rule.
        breaker: Option<Breaker>,
    },
    /// An effect is in doubt from here on.
    Doubt {
        /// Whose.
        slot: Slot,
    },
    /// A doubt is over.
    Settled {
        /// Whose.
        slot: Slot,
    },
    /// A planner that costs is asked, if the shared budget has room; what it sets aside is counted
    /// by the entry after it.
    Reserve(Reserve),
    /// What an event reserves or takes, in the place of what it gives back.
    Spent(Spent),
    /// A decision rests on the equal calls before: they are as they were known, or nothing is
    /// kept.
    Earlier(Box<EarlierLook>),
}

/// What a write reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallTarget {
    /// The operation.
    pub operation: String,
    /// The digest of the values at its sinks.
    pub sinks: Digest,
}

/// What is known of the calls that equal one.
#[derive(Clone, Debug, PartialEq)]
pub struct EarlierLook {
    /// The call.
    pub call: CallKey,
    /// Calls from this moment on count, in milliseconds since the epoch.
    pub since: i64,
    /// Those of other runs, as they are known.
    pub known: EarlierCalls,
}

/// What admission says of a turn that it does not let through: the turn is made again beside it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Admission {
    /// What may not begin now, and why.
    pub denials: BTreeMap<Slot, Denial>,
    /// The equal calls of other runs, where they are not as they were known.
    pub earlier: BTreeMap<CallKey, EarlierCalls>,
}

/// What is set aside of the shared budget before a planner is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Reserve {
    /// The most money it may cost.
    pub money: Money,
    /// The most tokens it may take.
    pub tokens: u64,
    /// The shared budget.
    pub budget: Budget,
    /// Its period.
    pub period: String,
}

/// What an event counts against the budget that all runs share, whether one is set or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spent {
    /// When it was set aside, in milliseconds since the epoch: it counts in the periods of then.
    pub at_ms: i64,
    /// The money that is given back first.
    pub money_back: Money,
    /// The tokens that are given back first.
    pub tokens_back: u64,
    /// The money it took.
    pub money: Money,
    /// The tokens it took.
    pub tokens: u64,
}

/// The name under which the shared budget says no to a planner: no step is called so.
#[must_use]
pub fn planner_slot() -> Slot {
    Slot {
        step: "<planner>".to_owned(),
        item: None,
    }
}

/// An attempt that wants to begin.
#[derive(Clone, Debug, PartialEq)]
pub struct Begin {
    /// Which.
    pub slot: Slot,
    /// The tool.
    pub tool: String,
    /// Its operation.
    pub operation: String,
    /// The digest of the values at sinks, of what is no read.
    pub sinks: Option<Digest>,
    /// Whether it is a plain write: no read, and sent without a key.
    pub plain: bool,
    /// The most it may cost.
    pub money: Money,
    /// The most tokens it may take.
    pub tokens: u64,
    /// What the operator allows the tool.
    pub limits: ToolLimits,
    /// The shared budget and its period.
    pub budget: Option<(Budget, String)>,
    /// For whom it is made.
    pub principal: String,
    /// The playbook that planned it.
    pub playbook: Option<String>,
}

/// What is remembered of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolRow {
    /// Failures in a row.
    #[serde(default)]
    pub failures: u32,
    /// Until when its breaker lets nothing through, in milliseconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_until: Option<i64>,
    /// When the probe of a breaker that cooled down began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe_at: Option<i64>,
    /// When the window of its rate began.
    #[serde(default)]
    pub window_at: i64,
    /// Attempts in that window.
    #[serde(default)]
    pub window_count: u32,
}

/// Something a person stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// What: `all runs`, `tool mail`, `run abc`.
    pub what: String,
    /// Who.
    pub by: String,
    /// Why.
    pub reason: String,
}

/// What is there beside an attempt that wants to begin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AdmissionFacts {
    /// The stop that binds it.
    pub stop: Option<Stop>,
    /// Another run and its slot whose effect on the same target nobody knows.
    pub doubt: Option<(String, String)>,
    /// What is remembered of the tool.
    pub row: ToolRow,
    /// Attempts of living processes in flight at this tool.
    pub in_flight: u64,
    /// Money reserved and spent of the shared budget.
    pub money: Money,
    /// Tokens reserved and spent of it.
    pub tokens: u64,
}

/// Why an attempt does not begin now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denial {
    /// A person stopped it.
    Stopped(Stop),
    /// Another run may have done this already.
    Doubt {
        /// The run.
        run: String,
        /// Its step.
        slot: String,
    },
    /// It may begin at a moment.
    Later {
        /// When, in milliseconds since the epoch.
        until: i64,
        /// Whether the tool's breaker is open.
        broken: bool,
        /// Why, in words.
        because: String,
    },
    /// All places at the tool are taken.
    Full {
        /// Why, in words.
        because: String,
    },
    /// A shared budget would be passed.
    Budget {
        /// Why, in words.
        because: String,
    },
}

impl Denial {
    /// The same denial by a clock that is `ahead_ms` ahead of the one it was made by.
    #[must_use]
    pub fn by_clock(self, ahead_ms: i64) -> Self {
        match self {
            Self::Later {
                until,
                broken,
                because,
            } => Self::Later {
                until: until.saturating_add(ahead_ms),
                broken,
                because,
            },
            other => other,
        }
    }
}

/// Whether an attempt may begin; if so, what is remembered of its tool from then on.
///
/// # Errors
/// [`Denial`] says why not, and nothing may be changed then.
pub fn admit(begin: &Begin, facts: &AdmissionFacts, now: i64) -> Result<ToolRow, Denial> {
    if let Some(stop) = &facts.stop {
        return Err(Denial::Stopped(stop.clone()));
    }
    if let Some((run, slot)) = &facts.doubt {
        return Err(Denial::Doubt {
            run: run.clone(),
            slot: slot.clone(),
        });
    }
    let mut row = facts.row.clone();
    if let Some(breaker) = begin.limits.breaker {
        through_breaker(&begin.tool, breaker, &mut row, now)?;
    }
    if let Some(most) = begin.limits.concurrency
        && facts.in_flight >= u64::from(most)
    {
        let because = match most {
            1 => format!(
                "another call of `{}` is under way, one at a time",
                begin.tool
            ),
            most => format!(
                "{most} calls of `{}` are under way, the most at once",
                begin.tool
            ),
        };
        return Err(Denial::Full { because });
    }
    if let Some((budget, _)) = &begin.budget {
        let spent = BudgetShare {
            money: facts.money,
            tokens: facts.tokens,
        };
        let more = BudgetShare {
            money: begin.money,
            tokens: begin.tokens,
        };
        within_budget(budget, spent, more)?;
    }
    if let Some(rate) = begin.limits.rate {
        within_rate(&begin.tool, rate, &mut row, now)?;
    }
    Ok(row)
}

fn through_breaker(
    tool: &str,
    breaker: Breaker,
    row: &mut ToolRow,
    now: i64,
) -> Result<(), Denial> {
    let Some(open_until) = row.open_until else {
        return Ok(());
    };
    // Why not `at <= now`: another process may have begun it, by a clock that is ahead of ours.
    let probing = row
        .probe_at
        .is_some_and(|at| now < at + PROBE_MS && !is_of_the_past_clock(at, now));
    let cooled = now >= open_until
        || is_of_the_past_clock(open_until.saturating_sub(breaker.cooldown_ms), now);
    if cooled && !probing {
        row.probe_at = Some(now);
        return Ok(());
    }
    let until = if now < open_until {
        open_until
    } else {
        now + BREAKER_COOLDOWN_MS / 30
    };
    Err(Denial::Later {
        until,
        broken: true,
        because: format!(
            "the breaker of `{tool}` is open: it failed {} times",
            row.failures
        ),
    })
}

fn within_rate(tool: &str, rate: Rate, row: &mut ToolRow, now: i64) -> Result<(), Denial> {
    // Why a window ahead of the clock goes on: it was begun by a process whose clock is ahead, and
    // if each of two began its own by turns, neither would ever be full.
    let over = now >= row.window_at + rate.per_ms || is_of_the_past_clock(row.window_at, now);
    if over {
        row.window_at = now;
        row.window_count = 0;
    }
    if row.window_count >= rate.count {
        return Err(Denial::Later {
            until: row.window_at + rate.per_ms,
            broken: false,
            because: format!(
                "`{tool}` is called {} times in {} ms",
                rate.count, rate.per_ms
            ),
        });
    }
    row.window_count += 1;
    Ok(())
}

/// Whether a moment that is remembered lies so far ahead that the clock was set back since.
fn is_of_the_past_clock(at: i64, now: i64) -> bool {
    at.saturating_sub(now) > CLOCK_SKEW_MS
}

/// Whether a planner may be asked, where so much money and so many tokens are reserved or spent.
///
/// # Errors
/// [`Denial::Budget`] says why not.
pub fn set_aside(reserve: &Reserve, money: Money, tokens: u64) -> Result<(), Denial> {
    let spent = BudgetShare { money, tokens };
    let more = BudgetShare {
        money: reserve.money,
        tokens: reserve.tokens,
    };
    within_budget(&reserve.budget, spent, more)
}

/// A part of a budget.
#[derive(Clone, Copy)]
struct BudgetShare {
    money: Money,
    tokens: u64,
}

/// Whether a budget has room for more, beside what is reserved or spent of it.
fn within_budget(budget: &Budget, spent: BudgetShare, more: BudgetShare) -> Result<(), Denial> {
    let (used, takes) = (spent.tokens, more.tokens);
    let (spent, cost) = (spent.money, more.money);
    let money = spent.checked_add(cost);
    if let Some(limit) = budget.money
        && cost > Money::ZERO
        && money.is_none_or(|money| money > limit)
    {
        let because = format!(
            "the workspace's budget of {limit} is reached: {spent} is reserved or spent, and this \
             may cost {cost}"
        );
        return Err(Denial::Budget { because });
    }
    let tokens = used.checked_add(takes);
    if let Some(limit) = budget.tokens
        && takes > 0
        && tokens.is_none_or(|tokens| tokens > limit)
    {
        let because = format!(
            "the workspace's budget of {limit} tokens is reached: {used} are reserved or spent, \
             and this may take {takes}"
        );
        return Err(Denial::Budget { because });
    }
    Ok(())
}

/// What the end of an attempt says of its tool's health.
#[must_use]
pub fn health(class: Class, lost: bool) -> Option<bool> {
    match class {
        _ if lost => None,
        Class::Timeout | Class::Unavailable => Some(false),
        Class::RateLimited | Class::Cancelled | Class::Misdeclared | Class::ToolBug => None,
        _ => Some(true),
    }
}

impl ToolRow {
    /// What is remembered once an attempt ended; true beside it if its breaker opened by that.
    #[must_use]
    pub fn after(
        mut self,
        healthy: Option<bool>,
        breaker: Option<Breaker>,
        now: i64,
    ) -> (Self, bool) {
        let Some(breaker) = breaker else {
            return (self, false);
        };
        let probed = self.probe_at.take().is_some();
        match healthy {
            Some(true) => {
                self.failures = 0;
                self.open_until = None;
                (self, false)
            }
            Some(false) => {
                self.failures = self.failures.saturating_add(1);
                let opens = probed || self.failures == breaker.failures;
                if opens {
                    self.open_until = Some(now.saturating_add(breaker.cooldown_ms));
                }
                (self, opens)
            }
            None => (self, false),
        }
    }

    /// Whether its breaker is open at `now`.
    #[must_use]
    pub fn is_open(&self, now: i64) -> bool {
        self.open_until.is_some_and(|until| now < until) || self.probe_at.is_some()
    }
}
