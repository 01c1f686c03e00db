//! What runs share, as rows: changed in the transaction of the intent, or not at all.
//!
//! Owns the tables `open_effects`, `in_flight`, `admission` and `stops`. Decides
//! nothing: the facts go to [`provost_run::admission`], which does. INVARIANT: an append that is
//! not admitted leaves no row behind.

use std::cell::Cell;

use provost_run::admission::{
    AdmissionEntry, AdmissionFacts, Begin, Breaker, CallTarget, Denial, Stop, ToolRow, admit,
    planner_slot, set_aside,
};
use provost_run::call::Slot;
use provost_run::earlier::{CallKey, EarlierCalls};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::earlier::EarlierRuns;
use super::{Store, StoreError, budgets};
use crate::owner::Owner;

/// Which of the shared tables have a row, as a transaction found them.
///
/// Why asked first, and at once: most have none, and to ask each of them at every attempt takes as
/// long as all else that admits it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Occupied {
    /// A statement was posted for the run that nobody took.
    pub(super) unheard: bool,
    stops: bool,
    in_flight: bool,
    admission: bool,
}

impl Occupied {
    pub(super) fn of(connection: &Connection, run: &str) -> rusqlite::Result<Self> {
        connection
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM posted_statements WHERE run = ?1 AND taken IS NULL), \
                 EXISTS (SELECT 1 FROM stops), EXISTS (SELECT 1 FROM in_flight), \
                 EXISTS (SELECT 1 FROM admission)",
            )?
            .query_row([run], |row| {
                Ok(Self {
                    unheard: row.get(0)?,
                    stops: row.get(1)?,
                    in_flight: row.get(2)?,
                    admission: row.get(3)?,
                })
            })
    }
}

/// Whose rows are changed, and when.
pub(super) struct AdmissionTx<'c> {
    pub(super) connection: &'c Connection,
    pub(super) earlier: &'c mut EarlierRuns,
    pub(super) owner: &'c Owner,
    pub(super) run: &'c str,
    /// As it was before this append changed anything.
    pub(super) occupied: Occupied,
    /// Whether this append made a row of a tool.
    pub(super) remembers: Cell<bool>,
    /// Now, as the run tells time.
    pub(super) at_ms: i64,
    /// Now, as the store tells time: what several runs share is judged by one clock.
    pub(super) now_ms: i64,
}

/// What became of the entries of an append: the tools whose breaker opened, or why it is not kept.
pub(super) type AdmissionResult = Result<Vec<String>, Refusal>;

/// Why an append is not kept.
#[derive(Debug)]
pub(super) struct Refusal {
    /// What may not begin now.
    pub(super) denials: Vec<(Slot, Denial)>,
    /// Equal calls of other runs that are not as they were known.
    pub(super) earlier: Vec<(CallKey, EarlierCalls)>,
}

impl From<Vec<(Slot, Denial)>> for Refusal {
    fn from(denials: Vec<(Slot, Denial)>) -> Self {
        let earlier = Vec::new();
        Self { denials, earlier }
    }
}

impl AdmissionTx<'_> {
    /// Carries out the entries of an append.
    pub(super) fn enter(
        &mut self,
        entries: &[AdmissionEntry],
    ) -> rusqlite::Result<Result<AdmissionResult, StoreError>> {
        match self.otherwise(entries) {
            Ok(earlier) if earlier.is_empty() => self.admit_all(entries).map(Ok),
            Ok(earlier) => {
                let denials = Vec::new();
                Ok(Ok(Err(Refusal { denials, earlier })))
            }
            Err(error) => Ok(Err(error)),
        }
    }

    /// The equal calls of other runs that are not as the entries know them.
    fn otherwise(
        &mut self,
        entries: &[AdmissionEntry],
    ) -> Result<Vec<(CallKey, EarlierCalls)>, StoreError> {
        let mut others = Vec::new();
        for entry in entries {
            let AdmissionEntry::Earlier(look) = entry else {
                continue;
            };
            let calls = self.earlier.calls(self.connection, look, self.run)?;
            if calls != look.known {
                others.push((look.call.clone(), calls));
            }
        }
        Ok(others)
    }

    fn admit_all(&self, entries: &[AdmissionEntry]) -> rusqlite::Result<AdmissionResult> {
        let begins = || {
            entries.iter().filter_map(|entry| match entry {
                AdmissionEntry::Begin(begin) => Some(begin.as_ref()),
                _ => None,
            })
        };
        let counts = |entry: &AdmissionEntry| {
            matches!(
                entry,
                AdmissionEntry::Reserve(_)
                    | AdmissionEntry::Spent(_)
                    | AdmissionEntry::End {
                        healthy: Some(false),
                        ..
                    }
            )
        };
        if begins().all(is_uncounted) && !entries.iter().any(counts) {
            // Why before any change: nothing in the append bears on the answers, so there is
            // nothing to take back if one is no.
            let mut denials = Vec::new();
            let mut counts = false;
            for begin in begins() {
                let facts = self.facts(begin)?;
                match self.admit(begin, &facts) {
                    Ok(row) => counts |= row != facts.row,
                    Err(denial) => denials.push((begin.slot.clone(), denial)),
                }
            }
            if !denials.is_empty() {
                return Ok(Err(denials.into()));
            }
            if !counts {
                return self.carry_out(entries, |begin| self.keep_effect(begin).map(Ok));
            }
        }
        self.run_cached("SAVEPOINT admission")?;
        let answered = self.carry_out(entries, |begin| self.begin(begin))?;
        if answered.is_err() {
            self.run_cached("ROLLBACK TO admission")?;
        }
        self.run_cached("RELEASE admission")?;
        Ok(answered)
    }

    fn carry_out(
        &self,
        entries: &[AdmissionEntry],
        start: impl Fn(&Begin) -> rusqlite::Result<Result<(), Denial>>,
    ) -> rusqlite::Result<AdmissionResult> {
        let (mut denials, mut opened) = (Vec::new(), Vec::new());
        for entry in entries {
            match entry {
                AdmissionEntry::Begin(begin) => {
                    if let Err(denial) = start(begin)? {
                        denials.push((begin.slot.clone(), denial));
                    }
                }
                AdmissionEntry::End {
                    slot,
                    tool,
                    healthy,
                    known,
                    target,
                    breaker,
                } => {
                    self.end(slot, tool)?;
                    if *known {
                        self.forget_effect(slot, target.as_ref())?;
                    }
                    if self.judge(tool, *healthy, *breaker)? {
                        opened.push(tool.clone());
                    }
                }
                AdmissionEntry::Doubt { slot } => self.doubt(slot)?,
                AdmissionEntry::Settled { slot } => self.settled(slot)?,
                AdmissionEntry::Reserve(reserve) => {
                    let (money, tokens) = budgets::spent(self.connection, &reserve.period)?;
                    if let Err(denial) = set_aside(reserve, money, tokens) {
                        denials.push((planner_slot(), denial));
                    }
                }
                AdmissionEntry::Spent(spent) => budgets::count(self.connection, spent)?,
                AdmissionEntry::Earlier(_) => {}
            }
        }
        Ok(if denials.is_empty() {
            Ok(opened)
        } else {
            Err(denials.into())
        })
    }

    fn run_cached(&self, sql: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(sql)?.execute([]).map(|_| ())
    }

    /// What the answer to an attempt hangs on.
    fn facts(&self, begin: &Begin) -> rusqlite::Result<AdmissionFacts> {
        let mut facts = AdmissionFacts {
            stop: self.stop(begin)?,
            doubt: self.doubt_on_target(begin)?,
            row: self.tool_row(&begin.tool)?.unwrap_or_default(),
            ..AdmissionFacts::default()
        };
        if begin.limits.concurrency.is_some() {
            facts.in_flight = self.living_in_flight(&begin.tool)?;
        }
        if let Some((_, period)) = &begin.budget {
            (facts.money, facts.tokens) = budgets::spent(self.connection, period)?;
        }
        Ok(facts)
    }

    fn admit(&self, begin: &Begin, facts: &AdmissionFacts) -> Result<ToolRow, Denial> {
        let ahead_ms = self.at_ms.saturating_sub(self.now_ms);
        admit(begin, facts, self.now_ms).map_err(|denial| denial.by_clock(ahead_ms))
    }

    fn begin(&self, begin: &Begin) -> rusqlite::Result<Result<(), Denial>> {
        let facts = self.facts(begin)?;
        let row = match self.admit(begin, &facts) {
            Ok(row) => row,
            Err(denial) => return Ok(Err(denial)),
        };
        if row != facts.row {
            self.keep_tool_row(&begin.tool, &row)?;
        }
        if begin.limits.concurrency.is_some() {
            self.connection
                .prepare_cached("INSERT OR REPLACE INTO in_flight VALUES (?1, ?2, ?3, ?4, ?5)")?
                .execute(params![
                    begin.tool,
                    self.run,
                    begin.slot.to_string(),
                    self.owner.instance(),
                    self.at_ms
                ])?;
        }
        self.keep_effect(begin)?;
        Ok(Ok(()))
    }

    /// Keeps that an attempt of what is no read is under way.
    fn keep_effect(&self, begin: &Begin) -> rusqlite::Result<()> {
        if let Some(sinks) = begin.sinks {
            let standing = if begin.plain { "plain" } else { "keyed" };
            self.connection
                .prepare_cached(
                    "INSERT OR REPLACE INTO open_effects VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                )?
                .execute(params![
                    self.run,
                    begin.slot.to_string(),
                    begin.operation,
                    sinks.bytes(),
                    standing,
                    self.owner.instance(),
                    self.at_ms
                ])?;
        }
        Ok(())
    }

    fn tool_row(&self, tool: &str) -> rusqlite::Result<Option<ToolRow>> {
        if !self.occupied.admission && !self.remembers.get() {
            return Ok(None);
        }
        let text: Option<String> = self
            .connection
            .prepare_cached("SELECT row FROM admission WHERE tool = ?1")?
            .query_row([tool], |row| row.get(0))
            .optional()?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }

    fn keep_tool_row(&self, tool: &str, row: &ToolRow) -> rusqlite::Result<()> {
        self.remembers.set(true);
        let text = serde_json::to_string(row).unwrap_or_default();
        self.connection
            .prepare_cached("INSERT OR REPLACE INTO admission VALUES (?1, ?2)")?
            .execute([tool, text.as_str()])
            .map(|_| ())
    }

    fn stop(&self, begin: &Begin) -> rusqlite::Result<Option<Stop>> {
        if !self.occupied.stops {
            return Ok(None);
        }
        let mut query = self
            .connection
            .prepare_cached("SELECT scope, name, by, reason FROM stops")?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let (scope, name): (String, String) = (row.get(0)?, row.get(1)?);
            let binds = match scope.as_str() {
                "all" => true,
                "tool" => name == begin.tool || name == begin.operation,
                "playbook" => begin.playbook.as_deref() == Some(name.as_str()),
                "principal" => name == begin.principal,
                _ => false,
            };
            if binds {
                return stopped(&scope, &name, row).map(Some);
            }
        }
        Ok(None)
    }

    /// Another run that may have done the same: in doubt about it, or dead while it did it.
    fn doubt_on_target(&self, begin: &Begin) -> rusqlite::Result<Option<(String, String)>> {
        let Some(sinks) = begin.sinks else {
            return Ok(None);
        };
        let mut query = self.connection.prepare_cached(
            "SELECT run, slot, standing, owner FROM open_effects \
             WHERE operation = ?1 AND sinks = ?2 AND run <> ?3",
        )?;
        let mut rows = query.query(params![begin.operation, sinks.bytes(), self.run])?;
        while let Some(row) = rows.next()? {
            let (standing, owner): (String, String) = (row.get(2)?, row.get(3)?);
            let unknown = match standing.as_str() {
                "doubtful" => true,
                "plain" => !self.owner.lives(&owner),
                _ => false,
            };
            if unknown {
                return Ok(Some((row.get(0)?, row.get(1)?)));
            }
        }
        Ok(None)
    }

    fn living_in_flight(&self, tool: &str) -> rusqlite::Result<u64> {
        let mut query = self.connection.prepare_cached(
            "SELECT owner, count(*) FROM in_flight WHERE tool = ?1 GROUP BY owner",
        )?;
        let mut rows = query.query([tool])?;
        let mut living = 0;
        while let Some(row) = rows.next()? {
            let owner: String = row.get(0)?;
            if self.owner.lives(&owner) {
                living += row.get::<_, u64>(1)?;
            }
        }
        Ok(living)
    }

    fn end(&self, slot: &Slot, tool: &str) -> rusqlite::Result<()> {
        // Why of before: no attempt begins and ends in one append.
        if !self.occupied.in_flight {
            return Ok(());
        }
        self.connection
            .prepare_cached("DELETE FROM in_flight WHERE tool = ?1 AND run = ?2 AND slot = ?3")?
            .execute([tool, self.run, slot.to_string().as_str()])
            .map(|_| ())
    }

    /// Counts an end for or against the tool; true if its breaker opened by it.
    fn judge(
        &self,
        tool: &str,
        healthy: Option<bool>,
        breaker: Option<Breaker>,
    ) -> rusqlite::Result<bool> {
        let before = self.tool_row(tool)?;
        if before.is_none() && healthy != Some(false) {
            return Ok(false);
        }
        let before = before.unwrap_or_default();
        let (after, opened) = before.clone().after(healthy, breaker, self.now_ms);
        if after != before {
            self.keep_tool_row(tool, &after)?;
        }
        Ok(opened)
    }

    fn doubt(&self, slot: &Slot) -> rusqlite::Result<()> {
        self.connection
            .prepare_cached(
                "UPDATE open_effects SET standing = 'doubtful' WHERE run = ?1 AND slot = ?2",
            )?
            .execute([self.run, slot.to_string().as_str()])
            .map(|_| ())
    }

    fn settled(&self, slot: &Slot) -> rusqlite::Result<()> {
        self.forget_effect(slot, None)
    }

    /// Forgets an open effect. Why by its target, where that is known: the rows stand in the order
    /// of targets, and in no other.
    fn forget_effect(&self, slot: &Slot, target: Option<&CallTarget>) -> rusqlite::Result<()> {
        let slot = slot.to_string();
        let forgotten = match target {
            Some(CallTarget { operation, sinks }) => self
                .connection
                .prepare_cached(
                    "DELETE FROM open_effects \
                     WHERE operation = ?1 AND sinks = ?2 AND run = ?3 AND slot = ?4",
                )?
                .execute(params![operation, sinks.bytes(), self.run, slot])?,
            None => 0,
        };
        if forgotten == 0 {
            self.connection
                .prepare_cached("DELETE FROM open_effects WHERE run = ?1 AND slot = ?2")?
                .execute([self.run, slot.as_str()])?;
        }
        Ok(())
    }
}

/// Whether whatever begins before an attempt has no bearing on whether it may begin too.
fn is_uncounted(begin: &Begin) -> bool {
    let limits = &begin.limits;
    limits.concurrency.is_none() && limits.rate.is_none() && begin.budget.is_none()
}

fn stopped(scope: &str, name: &str, row: &Row<'_>) -> rusqlite::Result<Stop> {
    let what = match scope {
        "all" => "all runs".to_owned(),
        scope => format!("{scope} `{name}`"),
    };
    Ok(Stop {
        what,
        by: row.get(2)?,
        reason: row.get(3)?,
    })
}

/// What is remembered of a tool, for whoever looks at it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolStatus {
    /// Its breaker and its rate.
    pub row: ToolRow,
    /// Attempts in flight, where the tool has only so many places.
    pub in_flight: u64,
}

impl Store {
    /// The tools of which something is remembered.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn remembered_tools(&self) -> Result<Vec<(String, ToolRow)>, StoreError> {
        self.read(|connection| {
            let row = |row: &Row<'_>| {
                let text: String = row.get(1)?;
                Ok((row.get(0)?, serde_json::from_str(&text).unwrap_or_default()))
            };
            connection
                .prepare_cached("SELECT tool, row FROM admission ORDER BY tool")
                .and_then(|mut query| query.query_map([], row)?.collect())
                .map_err(StoreError::read)
        })
    }

    /// What is remembered of a tool.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn remembered(&self, tool: &str) -> Result<ToolStatus, StoreError> {
        self.read(|connection| remembered(connection, tool).map_err(StoreError::read))
    }
}

fn remembered(connection: &Connection, tool: &str) -> rusqlite::Result<ToolStatus> {
    let text: Option<String> = connection
        .query_row("SELECT row FROM admission WHERE tool = ?1", [tool], |row| {
            row.get(0)
        })
        .optional()?;
    let count = "SELECT count(*) FROM in_flight WHERE tool = ?1";
    Ok(ToolStatus {
        row: text
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default(),
        in_flight: connection.query_row(count, [tool], |row| row.get(0))?,
    })
}
