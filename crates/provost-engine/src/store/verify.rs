//! The whole-store check: both chains and all evidence, in one walk.
//!
//! Owns nothing but the walk; what a link covers stands in `chain`. INVARIANT: a change, a swap
//! or a removal of any event under a commit that is still there is found.

use std::collections::BTreeMap;

use provost_plan::digest::{Digest, Domain};
use rusqlite::{Connection, Rows};

use super::StoreError;
use super::chain::{CommitEntries, GENESIS};
use super::read::{self, EVENT_COLUMNS, EventRow, RunFilter};

/// What was found in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Events.
    pub events: u64,
    /// Events among them whose body was erased.
    pub erased: u64,
    /// Commits.
    pub commits: u64,
    /// Runs.
    pub runs: u64,
    /// Pieces of evidence.
    pub evidence: u64,
    /// The link of the last commit.
    pub head: Digest,
    /// What was not looked at, in words.
    pub not_checked: Vec<String>,
}

pub(super) fn verify(connection: &Connection) -> Result<Verified, StoreError> {
    let tx = connection
        .unchecked_transaction()
        .map_err(StoreError::read)?;
    let mut walk = Walk::default();
    walk.chains(&tx)?;
    let runs = read::runs(&tx, &RunFilter::default())?;
    for run in &runs {
        let (seq, link) = walk.heads.get(&run.id).copied().unwrap_or((0, GENESIS));
        read::check_head(run, seq, &link)?;
    }
    let evidence = check_evidence(&tx)?;
    Ok(Verified {
        events: walk.events,
        erased: walk.erased,
        commits: walk.commits,
        runs: u64::try_from(runs.len()).unwrap_or(u64::MAX),
        evidence,
        head: walk.head.unwrap_or(GENESIS),
        not_checked: vec![
            "whether the last commits were cut off together with their events: only a head kept \
             elsewhere shows that"
                .to_owned(),
            "status and summary in the listing: they are computed from the events".to_owned(),
        ],
    })
}

#[derive(Default)]
struct Walk {
    events: u64,
    erased: u64,
    commits: u64,
    head: Option<Digest>,
    heads: BTreeMap<String, (u64, Digest)>,
}

impl Walk {
    fn chains(&mut self, connection: &Connection) -> Result<(), StoreError> {
        let store: String = connection
            .query_row("SELECT value FROM meta WHERE key = 'store'", [], |row| {
                row.get(0)
            })
            .map_err(StoreError::read)?;
        let mut commits = connection
            .prepare("SELECT n, events, link FROM commits ORDER BY n")
            .map_err(StoreError::read)?;
        let mut events = connection
            .prepare(&format!(
                "SELECT {EVENT_COLUMNS}, commit_n, coalesce(runs.id, ''), events.n FROM events \
                 LEFT JOIN runs ON runs.n = events.run ORDER BY events.n"
            ))
            .map_err(StoreError::read)?;
        let mut events = events.query([]).map_err(StoreError::read)?;
        let mut commits = commits.query([]).map_err(StoreError::read)?;
        let mut next = read_next(&mut events)?;
        while let Some(row) = commits.next().map_err(StoreError::read)? {
            let n: u64 = row.get(0).map_err(StoreError::read)?;
            let stored: [u8; 32] = row.get(2).map_err(StoreError::read)?;
            if n != self.commits + 1 {
                return Err(broken(self.commits + 1, "it is not there"));
            }
            let mut entries = CommitEntries::new();
            while let Some((event, commit, run)) = next.take_if(|(_, commit, _)| *commit <= n) {
                if commit != n {
                    return Err(broken(commit, "an event of it stands elsewhere"));
                }
                self.event(&event, &run)?;
                entries.push(&run, event.seq, &event.link);
                next = read_next(&mut events)?;
            }
            let previous = self.head.unwrap_or(GENESIS);
            let link = entries.link(&store, &previous, n);
            if *link.bytes() != stored {
                return Err(broken(n, "its events are not those that were committed"));
            }
            self.head = Some(link);
            self.commits = n;
        }
        match next {
            Some((_, commit, _)) => Err(broken(commit, "it is not there")),
            None => Ok(()),
        }
    }

    fn event(&mut self, event: &EventRow, run: &str) -> Result<(), StoreError> {
        let (seq, link) = self.heads.get(run).copied().unwrap_or((0, GENESIS));
        event.check(run, seq, &link)?;
        self.events += 1;
        self.erased += u64::from(event.payload.is_none());
        self.heads.insert(run.to_owned(), (event.seq, event.link));
        Ok(())
    }
}

type Next = Option<(EventRow, u64, String)>;

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

fn check_evidence(connection: &Connection) -> Result<u64, StoreError> {
    let mut query = connection
        .prepare("SELECT digest, bytes FROM evidence")
        .map_err(StoreError::read)?;
    let mut rows = query.query([]).map_err(StoreError::read)?;
    let mut count = 0;
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
        count += 1;
    }
    Ok(count)
}
