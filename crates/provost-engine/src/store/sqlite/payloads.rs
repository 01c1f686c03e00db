//! Pruning payloads: the texts of runs that are over go, and their chain stays.
//!
//! Owns which runs may lose them, and the record of it in the log of the workspace: where the chain
//! of the run ended, how, what it spent, and the calls that took effect. Never touches a header or
//! a link. INVARIANT: a payload that is gone counts as pruned only under a record that names the
//! end of its run, and no run is pruned that may go on by itself.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::digest::Digest;
use provost_run::call::Slot;
use provost_run::earlier::{CallKey, Writes};
use provost_run::open_effects::OpenEffects;
use provost_run::outcome::Landing;
use provost_run::spending::Spending;
use provost_run::statement::Credential;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Row, params};
use serde::{Deserialize, Serialize};

use super::budgets::{self, Budgets};
use super::log::{self, LogEvent, Logged};
use super::read::{self, EventRow, RunFilter, RunRow};
use super::{Change, Changed, JOURNAL_FILE, Store, StoreError, effects};
use crate::limits::{BUSY_WAIT, PRUNED_RUNS_MAX};

/// What stands in the place of a goal whose text was pruned.
pub const PRUNED_GOAL: &str = "(pruned)";

/// What the log of the workspace keeps of a run whose payloads were pruned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrunedRun {
    run: String,
    /// Its last event, and the link of that.
    seq: u64,
    link: Digest,
    status: String,
    /// Whether its statements needed a signature, or a login.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    signed: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    vouched: bool,
    /// Money in millionths and tokens, by day.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    spent: BTreeMap<String, (u64, u64)>,
    /// The writes that took effect, or may have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    calls: Vec<PrunedCall>,
}

/// A write of such a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PrunedCall {
    slot: Slot,
    operation: String,
    args: Digest,
    at_ms: i64,
    landing: Landing,
}

impl PrunedCall {
    fn key(&self) -> CallKey {
        CallKey {
            operation: self.operation.clone(),
            args: self.args,
        }
    }
}

impl PrunedRun {
    /// The run.
    #[must_use]
    pub fn run(&self) -> &str {
        &self.run
    }

    /// How it ended.
    pub(super) fn status(&self) -> &str {
        &self.status
    }

    /// Whether its statements needed at least this credential.
    pub(super) fn requires(&self, least: Credential) -> bool {
        match least {
            Credential::Nothing => true,
            Credential::Login => self.signed || self.vouched,
            Credential::Signature => self.signed,
        }
    }

    /// Whether the chain of the run ends where it was pruned.
    pub(super) fn ends_at(&self, seq: u64, link: &Digest) -> bool {
        (self.seq, &self.link) == (seq, link)
    }

    /// What is wrong with a run that does not end there, or with an event of it.
    pub(super) fn broken(&self, seq: u64, reason: &str) -> StoreError {
        StoreError::ChainBroken {
            run: self.run.clone(),
            seq,
            reason: reason.to_owned(),
        }
    }

    /// Checks an event of the run, whose header was checked.
    pub(super) fn check(&self, event: &EventRow) -> Result<(), StoreError> {
        match event.payload {
            None => Ok(()),
            Some(_) => Err(self.broken(event.seq, "its payload was pruned, and is there")),
        }
    }

    /// Checks where the chain of the run ends.
    pub(super) fn check_end(&self, seq: u64, link: &Digest) -> Result<(), StoreError> {
        match self.ends_at(seq, link) {
            true => Ok(()),
            false => Err(self.broken(seq, "the run was pruned at another event")),
        }
    }

    /// Adds what it spent.
    pub(super) fn spend(&self, budgets: &mut Budgets) {
        for (day, (money, tokens)) in &self.spent {
            let month = day.get(..7).unwrap_or_default();
            for period in [day.as_str(), month, ""] {
                let sums = budgets.entry(period.to_owned()).or_default();
                sums.0 = sums.0.saturating_add(*money);
                sums.1 = sums.1.saturating_add(*tokens);
            }
        }
    }

    /// The writes that took effect, or may have.
    pub(super) fn writes(&self) -> Writes {
        let mut writes = Writes::default();
        for call in &self.calls {
            writes.keep(call.slot.clone(), call.key(), call.at_ms, call.landing);
        }
        writes
    }

    /// The numbers by which these are found.
    pub(super) fn numbers(&self) -> BTreeSet<i64> {
        self.calls.iter().map(|call| call.key().short()).collect()
    }
}

/// The runs whose payloads were pruned, and when.
pub(super) type PrunedRuns = BTreeMap<String, (PrunedRun, i64)>;

/// What the log says was pruned.
pub(super) fn told(log: &[Logged]) -> PrunedRuns {
    let mut told = PrunedRuns::new();
    for logged in log {
        if let LogEvent::PayloadsPruned { runs, at_ms } = &logged.event {
            let runs = runs
                .iter()
                .map(|run| (run.run.clone(), (run.clone(), *at_ms)));
            told.extend(runs);
        }
    }
    told
}

/// The same of a journal. Why a look first: the log of one that was never pruned is not read.
pub(super) fn of(connection: &Connection) -> Result<PrunedRuns, StoreError> {
    let any: bool = connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM events WHERE run = ?1 AND kind = 'PayloadsPruned')",
        )
        .and_then(|mut query| query.query_row([log::NUMBER], |row| row.get(0)))
        .map_err(StoreError::read)?;
    match any {
        true => Ok(told(&log::read(connection)?)),
        false => Ok(PrunedRuns::new()),
    }
}

/// Why a run cannot be read of which a payload is gone.
pub(super) fn why_gone(connection: &Connection, head: &RunRow, gone: StoreError) -> StoreError {
    match of(connection) {
        Ok(pruned) => match pruned.get(&head.id) {
            Some((run, at_ms)) if run.ends_at(head.head_seq, &head.head) => {
                StoreError::PayloadsPruned {
                    run: head.id.clone(),
                    at: jiff::Timestamp::from_millisecond(*at_ms).unwrap_or_default(),
                }
            }
            _ => gone,
        },
        Err(error) => error,
    }
}

/// A run that may be pruned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedRun {
    /// What the log would keep of it.
    pub kept: PrunedRun,
    /// The place of its first event in the order of the commits.
    pub began: i64,
    /// The commit of its last event.
    pub ended: u64,
    n: i64,
    owner: Option<String>,
}

impl EndedRun {
    /// Whether its statements needed a credential.
    #[must_use]
    pub fn needs_credential(&self) -> bool {
        self.kept.requires(Credential::Login)
    }
}

/// What pruning payloads dropped, or would drop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrunedPayloads {
    /// Runs.
    pub runs: u64,
    /// Their events.
    pub events: u64,
    /// The bytes of these.
    pub bytes: u64,
}

/// Where a run stands whose payloads were pruned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrunedPlace {
    /// The run.
    pub run: String,
    /// The commit of its last event.
    pub ended: u64,
    /// The commit of the record.
    pub pruned: u64,
}

/// Runs that are over, by the kinds of their events, and of which nothing waits for anybody.
const OVER: &str = "SELECT runs.n, id, head_seq, head, status, owner, \
     (SELECT n FROM events WHERE run = runs.n AND seq = 1), \
     (SELECT commit_n FROM events WHERE run = runs.n AND seq = head_seq) FROM runs \
     WHERE updated_at < ?1 AND due_ms IS NULL \
     AND EXISTS (SELECT 1 FROM events WHERE run = runs.n AND seq = 1 AND payload IS NOT NULL) \
     AND (SELECT max(seq) FROM events WHERE run = runs.n AND kind = 'RunEnded') \
       > (SELECT coalesce(max(seq), 0) FROM events \
          WHERE run = runs.n AND kind = 'UndoRequested') \
     AND id NOT IN (SELECT run FROM waits) AND id NOT IN (SELECT run FROM open_effects) \
     AND id NOT IN (SELECT run FROM posted_statements WHERE taken IS NULL) \
     AND id NOT IN (SELECT run FROM notices WHERE done_ms IS NULL)";

impl Store {
    /// Runs that were over before `before_ms`, whose payloads may go.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn ended_runs(&self, before_ms: i64) -> Result<Vec<EndedRun>, StoreError> {
        self.read(|connection| {
            let tx = connection.unchecked_transaction();
            let tx = tx.map_err(StoreError::read)?;
            let mut query = tx.prepare(OVER).map_err(StoreError::read)?;
            let rows = query.query_map([before_ms], ended_run);
            let rows: Vec<EndedRun> = rows.and_then(Iterator::collect).map_err(StoreError::read)?;
            let unfinished = RunFilter::unfinished().statuses;
            let mut found = Vec::new();
            for run in rows {
                let lives = run.owner.as_deref().is_some_and(|owner| self.lives(owner));
                if !lives && !unfinished.contains(&run.kept.status) {
                    found.extend(with_record(&tx, run)?);
                }
            }
            Ok(found)
        })
    }

    /// What pruning the payloads of these runs drops.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn payloads_of(&self, runs: &[EndedRun]) -> Result<PrunedPayloads, StoreError> {
        self.read_rows(|connection| {
            runs.iter().try_fold(PrunedPayloads::default(), |sum, run| {
                let one = size_of(connection, run.n)?;
                Ok(PrunedPayloads {
                    runs: sum.runs + 1,
                    events: sum.events + one.events,
                    bytes: sum.bytes + one.bytes,
                })
            })
        })
    }

    /// Drops the payloads of these runs, as far as nothing happened to them since they were found;
    /// with whether the file was written anew, so that no page of it keeps their bytes.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read or written.
    pub fn prune_payloads(
        &self,
        runs: Vec<EndedRun>,
        now_ms: i64,
    ) -> Result<(PrunedPayloads, bool), StoreError> {
        let mut pruned = PrunedPayloads::default();
        if !runs.is_empty() {
            let prune = Change::PrunePayloads {
                runs,
                at_ms: now_ms,
            };
            if let Changed::PrunedPayloads(dropped) = self.change(prune).wait()? {
                pruned = dropped;
            }
        }
        // Why also where nothing went now: the last time another process may have held the file.
        let rewritten = self.pruned_runs()?.is_empty() || self.rewrite().is_ok();
        Ok((pruned, rewritten))
    }

    /// Writes the file anew. Why: pages that were split keep copies of what stood on them, which
    /// nothing overwrites.
    fn rewrite(&self) -> Result<(), rusqlite::Error> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(self.dir.join(JOURNAL_FILE), flags)?;
        connection.busy_timeout(BUSY_WAIT)?;
        connection.execute_batch("VACUUM")?;
        drop(connection);
        self.empty_log()
    }

    /// The runs whose payloads were pruned, in the order of their ids.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn pruned_runs(&self) -> Result<Vec<PrunedPlace>, StoreError> {
        self.read(places)
    }

    /// Whether a process that may drive a run lives.
    fn lives(&self, owner: &str) -> bool {
        match &self.writer {
            Some(writer) => writer.owner.instance() != owner && writer.owner.lives(owner),
            None => false,
        }
    }
}

fn ended_run(row: &Row<'_>) -> rusqlite::Result<EndedRun> {
    Ok(EndedRun {
        n: row.get(0)?,
        owner: row.get(5)?,
        began: row.get(6)?,
        ended: row.get(7)?,
        kept: PrunedRun {
            run: row.get(1)?,
            seq: row.get(2)?,
            link: Digest::from_bytes(row.get(3)?),
            status: row.get(4)?,
            signed: false,
            vouched: false,
            spent: BTreeMap::new(),
            calls: Vec::new(),
        },
    })
}

/// The same with what its events tell; none of a run with an effect that is open.
fn with_record(connection: &Connection, run: EndedRun) -> Result<Option<EndedRun>, StoreError> {
    let EndedRun { mut kept, n, .. } = run.clone();
    let (mut budgets, mut spending) = (Budgets::new(), Spending::default());
    let (mut open, mut writes) = (OpenEffects::default(), Writes::default());
    read::each_event(connection, n, &run.kept.run, |row| {
        budgets::apply(&mut spending, &mut budgets, row, &kept.run)?;
        effects::apply(&mut open, row, &kept.run)?;
        if Writes::KINDS.contains(&row.kind.as_str()) {
            writes.apply(&row.event(&kept.run)?, row.at_ms);
        }
        if row.kind == "RunCreated" {
            let created = row.payload(&kept.run)?;
            let is = |name: &str| created.get(name).and_then(serde_json::Value::as_bool);
            kept.signed = is("signed").unwrap_or_default();
            kept.vouched = is("vouched").unwrap_or_default();
        }
        Ok(())
    })?;
    if !open.open().is_empty() {
        return Ok(None);
    }
    let is_day = |period: &str| period.len() == "2026-01-01".len();
    kept.spent = budgets.into_iter().filter(|(day, _)| is_day(day)).collect();
    let landed = writes.landed().map(|(slot, key, write)| PrunedCall {
        slot: slot.clone(),
        operation: key.operation.clone(),
        args: key.args,
        at_ms: write.at,
        landing: write.landing,
    });
    kept.calls = landed.collect();
    Ok(Some(EndedRun { kept, ..run }))
}

fn size_of(connection: &Connection, n: i64) -> rusqlite::Result<PrunedPayloads> {
    connection
        .prepare_cached(
            "SELECT count(*), coalesce(sum(length(CAST(payload AS BLOB))), 0) FROM events \
             WHERE run = ?1",
        )?
        .query_row([n], |row| {
            Ok(PrunedPayloads {
                runs: 1,
                events: row.get(0)?,
                bytes: row.get(1)?,
            })
        })
}

/// Drops the payloads inside the transaction that is open; what is answered, and what the log says
/// of it.
pub(super) fn drop_texts(
    connection: &Connection,
    runs: Vec<EndedRun>,
    at_ms: i64,
) -> rusqlite::Result<(Changed, Vec<LogEvent>)> {
    // Why: freed pages keep their bytes otherwise.
    connection.query_row("PRAGMA secure_delete = ON", [], |_| Ok(()))?;
    let (mut sum, mut dropped) = (PrunedPayloads::default(), Vec::new());
    for run in runs {
        // Why again: it may have gone on, or somebody may hold it, since it was found.
        let is_same: bool = connection
            .prepare_cached(&format!(
                "SELECT EXISTS (SELECT 1 FROM ({OVER}) WHERE id = ?2 AND head_seq = ?3 \
                 AND head = ?4 AND owner IS ?5)"
            ))?
            .query_row(
                params![
                    i64::MAX,
                    run.kept.run,
                    run.kept.seq,
                    run.kept.link.bytes(),
                    run.owner
                ],
                |row| row.get(0),
            )?;
        if !is_same {
            continue;
        }
        let one = size_of(connection, run.n)?;
        drop_texts_of(connection, &run)?;
        sum.runs += 1;
        sum.events += one.events;
        sum.bytes += one.bytes;
        dropped.push(run.kept);
    }
    connection.query_row("PRAGMA secure_delete = OFF", [], |_| Ok(()))?;
    let logged = dropped.chunks(PRUNED_RUNS_MAX);
    let logged = logged.map(|runs| LogEvent::PayloadsPruned {
        runs: runs.to_vec(),
        at_ms,
    });
    Ok((Changed::PrunedPayloads(sum), logged.collect()))
}

/// Takes the texts of a run out of every table.
fn drop_texts_of(connection: &Connection, run: &EndedRun) -> rusqlite::Result<()> {
    let numbers = run.kept.numbers();
    let mut query =
        connection.prepare_cached("SELECT n, call FROM events WHERE run = ?1 AND call NOT NULL")?;
    let found = query.query_map([run.n], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let found: Vec<(i64, i64)> = found.collect::<rusqlite::Result<_>>()?;
    for (n, _) in found.iter().filter(|(_, call)| !numbers.contains(call)) {
        connection
            .prepare_cached("UPDATE events SET call = NULL WHERE n = ?1")?
            .execute([n])?;
    }
    connection
        .prepare_cached("UPDATE events SET payload = NULL WHERE run = ?1")?
        .execute([run.n])?;
    connection
        .prepare_cached(
            "UPDATE runs SET goal = ?2, goal_words = NULL, owner = NULL, \
             requester = NULL, planner = NULL, playbook = NULL, \
             summary = CASE WHEN json_valid(summary) \
             THEN json_remove(summary, '$.message') ELSE '{}' END WHERE n = ?1",
        )?
        .execute(params![run.n, PRUNED_GOAL])?;
    for table in ["notices", "posted_statements"] {
        connection.execute(
            &format!("DELETE FROM {table} WHERE run = ?1"),
            [&run.kept.run],
        )?;
    }
    Ok(())
}

/// Whether a payload of a run is gone, whoever took it.
pub(super) fn is_gone(connection: &Connection, n: i64) -> rusqlite::Result<bool> {
    let gone = connection
        .prepare_cached("SELECT payload IS NULL FROM events WHERE run = ?1 AND seq = 1")?
        .query_row([n], |row| row.get(0))
        .optional()?;
    Ok(gone.unwrap_or_default())
}

/// A record, without its moment.
#[derive(Deserialize)]
struct Record {
    runs: Vec<PrunedRun>,
}

fn places(connection: &Connection) -> Result<Vec<PrunedPlace>, StoreError> {
    if of(connection)?.is_empty() {
        return Ok(Vec::new());
    }
    let mut records = connection
        .prepare(
            "SELECT payload, commit_n FROM events \
             WHERE run = ?1 AND kind = 'PayloadsPruned' ORDER BY seq",
        )
        .map_err(StoreError::read)?;
    let records = records.query_map([log::NUMBER], |row| Ok((row.get(0)?, row.get(1)?)));
    let records: Vec<(String, u64)> = records
        .and_then(Iterator::collect)
        .map_err(StoreError::read)?;
    let mut ends = connection
        .prepare(
            "SELECT commit_n FROM events JOIN runs ON runs.n = events.run AND seq = head_seq \
             WHERE id = ?1",
        )
        .map_err(StoreError::read)?;
    let mut places = BTreeMap::new();
    for (payload, pruned) in records {
        let Ok(Record { runs }) = serde_json::from_str(&payload) else {
            continue;
        };
        for PrunedRun { run, .. } in runs {
            let ended = ends.query_row([&run], |row| row.get(0)).optional();
            if let Some(ended) = ended.map_err(StoreError::read)? {
                let place = PrunedPlace {
                    run: run.clone(),
                    ended,
                    pruned,
                };
                places.insert(run, place);
            }
        }
    }
    Ok(places.into_values().collect())
}
