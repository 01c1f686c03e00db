//! The whole-store check: both chains, every row and all evidence, in one walk.
//!
//! Owns nothing but the walk; what a link covers stands in `chain`, what a signed head says in
//! `heads`. Never writes and never trusts an index: events are read in the order of the commits.
//! INVARIANT: a change, a swap or a removal of any event under a commit that is still there is
//! found, and so is evidence that an event names and that is gone without having been pruned.

use std::collections::{BTreeMap, HashSet};

use provost_plan::digest::{Digest, Domain};
use provost_run::open_effects::OpenEffects;
use provost_run::spending::Spending;
use rusqlite::{Connection, Rows};
use serde::Deserialize;

use super::StoreError;
use super::budgets::{self, Budgets};
use super::effects::{self, OpenEffectRow};
use super::payloads::{self, PrunedRuns};
use super::read::{self, EVENT_COLUMNS, EventRow, RunFilter, RunRow};
use super::recorded_statements::KINDS;
use super::{file_size, guard, log, prune};
use crate::store::chain::{CommitEntries, GENESIS};

/// What was found in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The name of the store.
    pub store: String,
    /// Events.
    pub events: u64,
    /// Commits.
    pub commits: u64,
    /// Runs.
    pub runs: u64,
    /// Pieces of evidence whose bytes are there.
    pub evidence: u64,
    /// Pieces of evidence whose bytes were pruned.
    pub pruned: u64,
    /// Runs whose payloads were pruned.
    pub pruned_runs: u64,
    /// The link of the last commit.
    pub head: Digest,
    /// Rows beside the events that were put right before a first call, in words.
    pub restored: Vec<String>,
    /// What was not looked at, in words.
    pub not_checked: Vec<String>,
}

pub(super) fn verify(connection: &Connection) -> Result<Verified, StoreError> {
    let tx = connection
        .unchecked_transaction()
        .map_err(StoreError::read)?;
    file_size::check(&tx)?;
    let mut walk = VerifyWalk {
        store: read::store_name(&tx)?,
        present: check_evidence(&tx)?,
        pruned: prune::pruned(&tx)?,
        pruned_runs: payloads::of(&tx)?,
        events: 0,
        open: OpenEffectRow::new(),
        budgets: Budgets::new(),
        commits: 0,
        head: GENESIS,
        runs: BTreeMap::new(),
    };
    walk.chains(&tx)?;
    // Why: the log's own check says where it ends.
    walk.runs.remove(log::RUN);
    let runs = read::runs(&tx, &RunFilter::default())?;
    for run in &runs {
        let facts = walk.runs.remove(&run.id);
        let facts = facts.unwrap_or_else(VerifiedFacts::before_the_first);
        read::check_head(run, facts.seq, &facts.link)?;
        if let Some((kept, _)) = walk.pruned_runs.get(&run.id) {
            kept.check_end(facts.seq, &facts.link)?;
            if facts.ended.is_none() {
                return Err(kept.broken(facts.seq, "it was pruned, and is not over"));
            }
            kept.spend(&mut walk.budgets);
        }
        facts.check_row(run)?;
        walk.open.extend(effects::of_run(&facts.effects, &run.id));
    }
    let listed: HashSet<&str> = runs.iter().map(|run| run.id.as_str()).collect();
    let mut kept = walk.pruned_runs.values();
    if let Some((kept, _)) = kept.find(|(kept, _)| !listed.contains(kept.run())) {
        return Err(kept.broken(0, "it was pruned, and is not listed"));
    }
    let log = guard::differences(&tx, &walk.open, &walk.budgets)?;
    check_file(&tx)?;
    let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    Ok(Verified {
        events: walk.events,
        commits: walk.commits,
        runs: count(runs.len()),
        evidence: count(walk.present.len()),
        pruned: count(walk.pruned.difference(&walk.present).count()),
        head: walk.head,
        store: walk.store,
        pruned_runs: count(walk.pruned_runs.len()),
        not_checked: not_checked(log.is_some(), read::format(&tx)?, walk.pruned_runs.len()),
        restored: log.as_deref().map(log::restored).unwrap_or_default(),
    })
}

/// What the walk does not look at; nothing of a table that guards effects, unless it is `logged`
/// nowhere.
fn not_checked(logged: bool, format: i64, pruned: usize) -> Vec<String> {
    let gone = (pruned > 0).then(|| {
        let runs = if pruned == 1 { "run" } else { "runs" };
        format!(
            "what {pruned} {runs} did whose texts were pruned, and who said what to them: their \
             chains hold, and nothing judges their content again"
        )
    });
    let older = (!logged).then_some(
        "which evidence was pruned, and what is stopped: this journal is of an older format, \
         without a log of either, and `pruned` and `stops` are trusted as stored",
    );
    let uncounted = (format < 7).then_some(
        "what was spent of the shared budget: this journal is of an older format, whose `budgets` \
         does not count what no budget bounded",
    );
    let never = [
        "goal, summary, owner and due moment in the listing of runs, and what it says they wait \
         for (`waits`): they show, and decide nothing",
        "the media types stored with evidence: its digests cover its bytes",
        "breakers, rates and places (`admission`, `in_flight`), owners and moments in \
         `open_effects`, notices, schedules, and waiting statements, which are verified when a run \
         receives them",
        "what is counted of runs (`run_facts`): `doctor --recount` counts it anew from the events",
    ];
    let all = older.into_iter().chain(uncounted).chain(never);
    gone.into_iter().chain(all.map(str::to_owned)).collect()
}

/// What the events of one run say of it.
struct VerifiedFacts {
    seq: u64,
    link: Digest,
    began_ms: i64,
    last_ms: i64,
    /// Status of the last `RunEnded`.
    ended: Option<String>,
    /// Whether that is the last event.
    is_over: bool,
    /// The questions that were answered.
    answered: HashSet<Digest>,
    effects: OpenEffects,
    spending: Spending,
}

impl VerifiedFacts {
    fn before_the_first() -> Self {
        Self {
            seq: 0,
            link: GENESIS,
            began_ms: 0,
            last_ms: 0,
            ended: None,
            is_over: false,
            answered: HashSet::new(),
            effects: OpenEffects::default(),
            spending: Spending::default(),
        }
    }

    /// Takes in the header of an event whose payload was pruned.
    fn pruned_event(&mut self, event: &EventRow, status: &str) {
        self.is_over = event.kind == "RunEnded";
        match event.kind.as_str() {
            "RunEnded" => self.ended = Some(status.to_owned()),
            "UndoRequested" => self.ended = None,
            _ => {}
        }
        (self.seq, self.link, self.last_ms) = (event.seq, event.link, event.at_ms);
    }

    /// Whether the row of the listing tells what the events tell.
    fn check_row(&self, row: &RunRow) -> Result<(), StoreError> {
        let broken = |reason: &str| StoreError::RowBroken {
            run: row.id.clone(),
            reason: reason.to_owned(),
        };
        if (row.created_at_ms, row.updated_at_ms) != (self.began_ms, self.last_ms) {
            return Err(broken("its moments are not those of its events"));
        }
        let listed_as_over = !RunFilter::unfinished().statuses.contains(&row.status);
        if (self.is_over || listed_as_over) && self.ended.as_deref() != Some(&row.status) {
            let events = self.ended.as_deref().unwrap_or("not over");
            return Err(broken(&format!(
                "it is listed as {}, and its events say {events}",
                row.status
            )));
        }
        Ok(())
    }
}

struct VerifyWalk {
    store: String,
    present: HashSet<Digest>,
    pruned: HashSet<Digest>,
    pruned_runs: PrunedRuns,
    events: u64,
    commits: u64,
    head: Digest,
    runs: BTreeMap<String, VerifiedFacts>,
    /// Effects that are open, of the runs that were listed.
    open: OpenEffectRow,
    /// What all runs reserved and spent.
    budgets: Budgets,
}

impl VerifyWalk {
    fn chains(&mut self, connection: &Connection) -> Result<(), StoreError> {
        let mut commits = connection
            .prepare("SELECT n, events, link FROM commits ORDER BY n")
            .map_err(StoreError::read)?;
        let mut events = connection
            .prepare(&format!(
                "SELECT {EVENT_COLUMNS}, commit_n, \
                 CASE events.run WHEN {} THEN '{}' ELSE runs.id END FROM events \
                 LEFT JOIN runs ON runs.n = events.run ORDER BY events.n",
                log::NUMBER,
                log::RUN
            ))
            .map_err(StoreError::read)?;
        let mut events = events.query([]).map_err(StoreError::read)?;
        let mut commits = commits.query([]).map_err(StoreError::read)?;
        let mut next = read_next(&mut events)?;
        while let Some(row) = commits.next().map_err(StoreError::read)? {
            let n: u64 = row.get(0).map_err(StoreError::read)?;
            let counted: usize = row.get(1).map_err(StoreError::read)?;
            let stored: [u8; 32] = row.get(2).map_err(StoreError::read)?;
            if n != self.commits + 1 {
                return Err(broken(self.commits + 1, "it is not there"));
            }
            let mut entries = CommitEntries::new();
            while let Some((event, commit, run)) = next.take_if(|(_, commit, _)| *commit <= n) {
                if commit != n {
                    return Err(broken(commit, "an event of it stands elsewhere"));
                }
                let Some(run) = run else {
                    return Err(broken(n, "an event of it is of a run that is not listed"));
                };
                self.event(&event, &run)?;
                entries.push(&run, event.seq, &event.link);
                next = read_next(&mut events)?;
            }
            if entries.len() != counted {
                let reason = format!("it had {counted} events and has {}", entries.len());
                return Err(broken(n, &reason));
            }
            let link = entries.link(&self.store, &self.head, n);
            if *link.bytes() != stored {
                return Err(broken(n, "its events are not those that were committed"));
            }
            self.head = link;
            self.commits = n;
        }
        match next {
            Some((_, commit, _)) => Err(broken(commit, "it is not there")),
            None => Ok(()),
        }
    }

    fn event(&mut self, event: &EventRow, run: &str) -> Result<(), StoreError> {
        if !self.runs.contains_key(run) {
            let first = VerifiedFacts {
                began_ms: event.at_ms,
                ..VerifiedFacts::before_the_first()
            };
            self.runs.insert(run.to_owned(), first);
        }
        let Some(facts) = self.runs.get_mut(run) else {
            return Ok(());
        };
        event.check(run, facts.seq, &facts.link)?;
        if let Some((kept, _)) = self.pruned_runs.get(run) {
            kept.check(event)?;
            facts.pruned_event(event, kept.status());
            self.events += 1;
            return Ok(());
        }
        // Why an error: only a record in the log takes a payload away.
        event.payload(run)?;
        let said = PayloadFields::of(event);
        for digest in said.evidence() {
            let Ok(digest) = digest.parse::<Digest>() else {
                continue;
            };
            // Why an answer too: versions before this one named the question as its evidence, and
            // the answer itself stands in the event.
            let is_kept = self.present.contains(&digest) || self.pruned.contains(&digest);
            if !is_kept && !facts.answered.contains(&digest) {
                return Err(StoreError::EvidenceMissing {
                    digest: digest.to_string(),
                    run: run.to_owned(),
                    seq: event.seq,
                });
            }
        }
        let answered = said.question.and_then(|digest| digest.parse().ok());
        facts.answered.extend::<Option<Digest>>(answered);
        facts.is_over = event.kind == "RunEnded";
        // Why: it is active again, and may not be listed as over.
        if event.kind == "UndoRequested" {
            facts.ended = None;
        }
        if let (true, Some(status)) = (facts.is_over, said.status) {
            facts.ended = Some(status.to_owned());
        }
        (facts.seq, facts.link, facts.last_ms) = (event.seq, event.link, event.at_ms);
        self.events += 1;
        budgets::apply(&mut facts.spending, &mut self.budgets, event, run)?;
        effects::apply(&mut facts.effects, event, run)
    }
}

/// The little that the check reads out of payloads. Fields of other kinds and versions are passed
/// over: what an event means is the machine's.
#[derive(Default, Deserialize)]
struct PayloadFields<'a> {
    #[serde(borrow, default)]
    evidence: Option<&'a str>,
    #[serde(borrow, default)]
    request: Option<&'a str>,
    #[serde(borrow, default)]
    question: Option<&'a str>,
    #[serde(borrow, default)]
    status: Option<&'a str>,
    #[serde(borrow, default)]
    rights: Option<&'a str>,
    #[serde(borrow, default)]
    said: Option<SaidOf<'a>>,
}

/// What stands behind a statement.
#[derive(Deserialize)]
struct SaidOf<'a> {
    #[serde(borrow, default)]
    rights: Option<&'a str>,
}

impl<'a> PayloadFields<'a> {
    fn of(event: &'a EventRow) -> Self {
        let tells = [
            "RunCreated",
            "AttemptEnded",
            "ObservationMade",
            "PlanRequested",
            "QuestionAnswered",
            "RunEnded",
        ];
        match &event.payload {
            Some(payload)
                if tells.contains(&event.kind.as_str()) || KINDS.contains(&event.kind.as_str()) =>
            {
                serde_json::from_str(payload).unwrap_or_default()
            }
            _ => Self::default(),
        }
    }

    /// The evidence that it names.
    fn evidence(&self) -> impl Iterator<Item = &'a str> {
        let of_statement = self.said.as_ref().and_then(|said| said.rights);
        let own = [self.evidence, self.request, self.rights, of_statement];
        own.into_iter().flatten()
    }
}

type Next = Option<(EventRow, u64, Option<String>)>;

fn read_next(events: &mut Rows<'_>) -> Result<Next, StoreError> {
    let Some(row) = events.next().map_err(StoreError::read)? else {
        return Ok(None);
    };
    let event = EventRow::read(row).map_err(StoreError::read)?;
    let commit = row.get(7).map_err(StoreError::read)?;
    let run = row.get(8).map_err(StoreError::read)?;
    Ok(Some((event, commit, run)))
}

fn broken(commit: u64, reason: &str) -> StoreError {
    StoreError::CommitBroken {
        commit,
        reason: reason.to_owned(),
    }
}

/// The digests whose bytes are there, each checked against its bytes.
fn check_evidence(connection: &Connection) -> Result<HashSet<Digest>, StoreError> {
    let mut query = connection
        .prepare("SELECT digest, bytes FROM evidence")
        .map_err(StoreError::read)?;
    let mut rows = query.query([]).map_err(StoreError::read)?;
    let mut present = HashSet::new();
    while let Some(row) = rows.next().map_err(StoreError::read)? {
        let digest = Digest::from_bytes(row.get(0).map_err(StoreError::read)?);
        let bytes = row
            .get_ref(1)
            .map_err(StoreError::read)?
            .as_blob()
            .map_err(|error| StoreError::Failed {
                reason: error.to_string(),
            })?;
        if Digest::of_bytes(Domain::Evidence, bytes) != digest {
            return Err(StoreError::EvidenceBroken {
                digest: digest.to_string(),
            });
        }
        present.insert(digest);
    }
    Ok(present)
}

/// What the database itself finds wrong with its file: an index that leads astray, a lost page.
fn check_file(connection: &Connection) -> Result<(), StoreError> {
    let said: String = connection
        .query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
        .map_err(StoreError::read)?;
    if said == "ok" {
        return Ok(());
    }
    Err(StoreError::Damaged {
        reason: said
            .trim_start_matches("*** in database main ***")
            .trim()
            .to_owned(),
    })
}
