//! Pruning: the bytes of old evidence go, their digests stay.
//!
//! Owns the judgment on what may go. Never touches an event. INVARIANT: evidence that any run
//! names which is unfinished or younger stays, also where such a run names it while pruning goes
//! on; what went is written down in the transaction that drops it.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use provost_plan::digest::Digest;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Row, params};
use serde::{Deserialize, Serialize};

use super::log::{self, LogEvent, Logged};
use super::read::{self, RunFilter};
use super::{Change, Changed, JOURNAL_FILE, Store, StoreError};
use crate::limits::{BUSY_WAIT, PRUNED_PIECES_MAX};

/// What pruning dropped, or would drop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Runs that ended early enough.
    pub runs: u64,
    /// Pieces of evidence dropped.
    pub pieces: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Pieces of those runs that stay, because another run names them too.
    pub shared: u64,
}

/// What may go, as of one moment.
struct PruneCandidates {
    found: Pruned,
    digests: BTreeSet<Digest>,
    /// The last event that was looked at.
    through: i64,
}

impl Store {
    /// What [`Store::prune`] would drop.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn prunable(&self, before_ms: i64) -> Result<Pruned, StoreError> {
        Ok(self
            .read(|connection| candidates(connection, &Old::Before(before_ms)))?
            .found)
    }

    /// What [`Store::prune_of`] would drop.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn prunable_of(&self, runs: &BTreeSet<String>) -> Result<Pruned, StoreError> {
        let found = self.read(|connection| candidates(connection, &Old::These(runs)))?;
        Ok(found.found)
    }

    /// Drops the bytes of evidence that only these runs name, which are over.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read or written.
    pub fn prune_of(&self, runs: &BTreeSet<String>, now_ms: i64) -> Result<Pruned, StoreError> {
        self.prune_old(&Old::These(runs), now_ms)
    }

    /// Drops the bytes of evidence that only runs name which ended before `before_ms`.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read or written.
    pub fn prune(&self, before_ms: i64, now_ms: i64) -> Result<Pruned, StoreError> {
        self.prune_old(&Old::Before(before_ms), now_ms)
    }

    fn prune_old(&self, old: &Old<'_>, now_ms: i64) -> Result<Pruned, StoreError> {
        let mut candidates = self.read(|connection| candidates(connection, old))?;
        if candidates.digests.is_empty() {
            return Ok(candidates.found);
        }
        let prune = Change::Prune {
            digests: std::mem::take(&mut candidates.digests),
            through: candidates.through,
            at_ms: now_ms,
        };
        let changed = self.change(prune).wait()?;
        // Why ignored: the bytes are gone from the tables; the log empties with the next
        // checkpoint, if somebody reads just now.
        let _ = self.empty_log();
        let (pieces, bytes) = match changed {
            Changed::Pruned { pieces, bytes } => (pieces, bytes),
            _ => (0, 0),
        };
        Ok(Pruned {
            pieces,
            bytes,
            ..candidates.found
        })
    }

    /// Moves the log into the file, so that dropped bytes are not left in it.
    pub(super) fn empty_log(&self) -> Result<(), rusqlite::Error> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(self.dir.join(JOURNAL_FILE), flags)?;
        connection.busy_timeout(BUSY_WAIT)?;
        // Why: moving pages overwrites them, and the free ones must be overwritten as well.
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
    }
}

/// Which runs are old.
enum Old<'a> {
    /// Those that ended before this moment, in milliseconds since 1970.
    Before(i64),
    /// These.
    These(&'a BTreeSet<String>),
}

fn candidates(connection: &Connection, which: &Old<'_>) -> Result<PruneCandidates, StoreError> {
    let tx = connection
        .unchecked_transaction()
        .map_err(StoreError::read)?;
    let unfinished = RunFilter::unfinished().statuses;
    let rows = read::runs(&tx, &RunFilter::default())?;
    let old: HashSet<String> = rows
        .into_iter()
        .filter(|row| match which {
            Old::Before(before_ms) => row.updated_at_ms < *before_ms,
            Old::These(runs) => runs.contains(&row.id),
        })
        .filter(|row| !unfinished.contains(&row.status))
        .map(|row| row.id)
        .collect();
    let (mut may_go, mut stays) = (BTreeSet::new(), BTreeSet::new());
    let mut rights = BTreeSet::new();
    let mut through = 0;
    {
        let mut query = tx
            .prepare(
                "SELECT events.n, runs.id, payload FROM events JOIN runs ON runs.n = events.run \
                 ORDER BY events.n",
            )
            .map_err(StoreError::read)?;
        let mut events = query.query([]).map_err(StoreError::read)?;
        while let Some(row) = events.next().map_err(StoreError::read)? {
            through = row.get(0).map_err(StoreError::read)?;
            let run: String = row.get(1).map_err(StoreError::read)?;
            let payload: Option<String> = row.get(2).map_err(StoreError::read)?;
            let payload = payload.unwrap_or_default();
            // Why always: by them is judged, whenever the journal is read, who could say what.
            rights.extend(digests_after(&payload, "\"rights\":\""));
            let named = if old.contains(&run) {
                &mut may_go
            } else {
                &mut stays
            };
            named.extend(digests_in(&payload));
        }
    }
    let mut found = Pruned {
        runs: u64::try_from(old.len()).unwrap_or(u64::MAX),
        ..Pruned::default()
    };
    let mut digests = BTreeSet::new();
    for digest in may_go.into_iter().filter(|digest| !rights.contains(digest)) {
        let Some(size) = size_of(&tx, &digest).map_err(StoreError::read)? else {
            continue;
        };
        if stays.contains(&digest) {
            found.shared += 1;
        } else {
            found.pieces += 1;
            found.bytes += size;
            digests.insert(digest);
        }
    }
    Ok(PruneCandidates {
        found,
        digests,
        through,
    })
}

fn size_of(connection: &Connection, digest: &Digest) -> rusqlite::Result<Option<u64>> {
    connection
        .prepare_cached("SELECT length(bytes) FROM evidence WHERE digest = ?1")?
        .query_row([digest.bytes()], |row| row.get(0))
        .optional()
}

/// Every digest that a text names.
fn digests_in(text: &str) -> impl Iterator<Item = Digest> + '_ {
    digests_after(text, "")
}

/// Every digest that stands in a text after these words.
fn digests_after<'t>(text: &'t str, words: &str) -> impl Iterator<Item = Digest> + 't {
    const PREFIX: &str = "sha256:";
    let words = format!("{words}{PREFIX}");
    let starts: Vec<usize> = text.match_indices(&words).map(|(at, _)| at).collect();
    let skipped = words.len() - PREFIX.len();
    starts.into_iter().filter_map(move |at| {
        let at = at + skipped;
        text.get(at..at + PREFIX.len() + 64)?.parse().ok()
    })
}

/// Drops what may still go; what is answered, and what the log says of it.
pub(super) fn drop_unnamed(
    connection: &Connection,
    digests: BTreeSet<Digest>,
    through: i64,
    at_ms: i64,
) -> rusqlite::Result<(Changed, Vec<LogEvent>)> {
    let dropped = drop_bytes(connection, digests, through, at_ms)?;
    let bytes = dropped.iter().map(|piece| piece.size).sum();
    let pieces = u64::try_from(dropped.len()).unwrap_or(u64::MAX);
    Ok((Changed::Pruned { pieces, bytes }, logged(&dropped, at_ms)))
}

/// Drops what may still go inside the transaction that is open; what went.
fn drop_bytes(
    connection: &Connection,
    mut digests: BTreeSet<Digest>,
    through: i64,
    now_ms: i64,
) -> rusqlite::Result<Vec<PruneBatch>> {
    {
        // Why again: a run may have gone on, or begun, since the look; what it names stays.
        let mut query = connection.prepare(
            "SELECT payload FROM events \
             WHERE run IN (SELECT DISTINCT run FROM events WHERE n > ?1 AND run <> ?2)",
        )?;
        let mut rows = query.query([through, log::NUMBER])?;
        while let Some(row) = rows.next()? {
            let payload: Option<String> = row.get(0)?;
            for digest in digests_in(payload.as_deref().unwrap_or_default()) {
                digests.remove(&digest);
            }
        }
    }
    // Why: freed pages keep their bytes otherwise.
    connection.query_row("PRAGMA secure_delete = ON", [], |_| Ok(()))?;
    let mut pieces = Vec::new();
    for digest in &digests {
        let Some(piece) = piece_of(connection, digest)? else {
            continue;
        };
        connection
            .prepare_cached("INSERT OR REPLACE INTO pruned VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![digest.bytes(), piece.media, piece.size, now_ms])?;
        connection
            .prepare_cached("DELETE FROM evidence WHERE digest = ?1")?
            .execute([digest.bytes()])?;
        pieces.push(piece);
    }
    connection.query_row("PRAGMA secure_delete = OFF", [], |_| Ok(()))?;
    Ok(pieces)
}

/// A piece of evidence whose bytes were dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PruneBatch {
    digest: Digest,
    media: String,
    size: u64,
}

fn piece_of(connection: &Connection, digest: &Digest) -> rusqlite::Result<Option<PruneBatch>> {
    connection
        .prepare_cached("SELECT media, length(bytes) FROM evidence WHERE digest = ?1")?
        .query_row([digest.bytes()], |row| {
            Ok(PruneBatch {
                digest: *digest,
                media: row.get(0)?,
                size: row.get(1)?,
            })
        })
        .optional()
}

/// What the log of the workspace has of pieces, so many in each event.
fn logged(pieces: &[PruneBatch], at_ms: i64) -> Vec<LogEvent> {
    let pieces = pieces.chunks(PRUNED_PIECES_MAX);
    let logged = pieces.map(|pieces| LogEvent::EvidencePruned {
        pieces: pieces.to_vec(),
        at_ms,
    });
    logged.collect()
}

/// What the log says was dropped, and when.
pub(super) type Dropped = BTreeMap<Digest, (PruneBatch, i64)>;

/// What the log says was dropped.
pub(super) fn told(log: &[Logged]) -> Dropped {
    let mut dropped = Dropped::new();
    for logged in log {
        if let LogEvent::EvidencePruned { pieces, at_ms } = &logged.event {
            let pieces = pieces
                .iter()
                .map(|piece| (piece.digest, (piece.clone(), *at_ms)));
            dropped.extend(pieces);
        }
    }
    dropped
}

fn row(row: &Row<'_>) -> rusqlite::Result<(Digest, (PruneBatch, i64))> {
    let piece = PruneBatch {
        digest: Digest::from_bytes(row.get(0)?),
        media: row.get(1)?,
        size: row.get(2)?,
    };
    Ok((piece.digest, (piece, row.get(3)?)))
}

fn rows(connection: &Connection) -> rusqlite::Result<Dropped> {
    connection
        .prepare("SELECT digest, media, size, at_ms FROM pruned")?
        .query_map([], row)?
        .collect()
}

fn words(digest: &Digest, what: &str) -> String {
    format!("pruned ({digest} {what})")
}

/// Where the table does not tell what the log tells, in words; none if it does.
pub(super) fn difference(
    connection: &Connection,
    told: &Dropped,
) -> Result<Option<String>, StoreError> {
    let rows = rows(connection).map_err(StoreError::read)?;
    for (digest, row) in &rows {
        match told.get(digest) {
            Some(dropped) if row == dropped => {}
            Some(_) => return Ok(Some(words(digest, "stands otherwise there"))),
            None => return Ok(Some(words(digest, "was made up"))),
        }
    }
    let missing = told.keys().find(|digest| !rows.contains_key(*digest));
    Ok(missing.map(|digest| words(digest, "is missing there")))
}

/// Refuses a journal from which bytes are gone that a row was made up for: nothing puts them back.
pub(super) fn refuse_lost(connection: &Connection, told: &Dropped) -> Result<(), StoreError> {
    for digest in rows(connection).map_err(StoreError::read)?.keys() {
        let is_there = size_of(connection, digest).map_err(StoreError::read)?;
        if !told.contains_key(digest) && is_there.is_none() {
            let tables = vec![words(digest, "was made up")];
            return Err(StoreError::TablesDiffer { tables });
        }
    }
    Ok(())
}

/// Makes the table tell what the log tells, inside the transaction that is open; what it told
/// otherwise, in words.
pub(super) fn restore(connection: &Connection, told: &Dropped) -> rusqlite::Result<Vec<String>> {
    let rows = rows(connection)?;
    let mut restored = Vec::new();
    for digest in rows.keys().filter(|digest| !told.contains_key(*digest)) {
        connection.execute("DELETE FROM pruned WHERE digest = ?1", [digest.bytes()])?;
        restored.push(words(digest, "was made up"));
    }
    for (digest, dropped) in told {
        let how = match rows.get(digest) {
            Some(row) if row == dropped => continue,
            Some(_) => "stood otherwise there",
            None => "was missing there",
        };
        let (piece, at_ms) = dropped;
        connection.execute(
            "INSERT OR REPLACE INTO pruned VALUES (?1, ?2, ?3, ?4)",
            params![digest.bytes(), piece.media, piece.size, at_ms],
        )?;
        restored.push(words(digest, how));
    }
    Ok(restored)
}

/// What an older journal says was dropped, for its log.
pub(super) fn carried(connection: &Connection) -> rusqlite::Result<Vec<LogEvent>> {
    let mut by_moment = BTreeMap::<i64, Vec<PruneBatch>>::new();
    for (piece, at_ms) in rows(connection)?.into_values() {
        by_moment.entry(at_ms).or_default().push(piece);
    }
    let logged = |(at_ms, pieces): (i64, Vec<PruneBatch>)| logged(&pieces, at_ms);
    Ok(by_moment.into_iter().flat_map(logged).collect())
}

/// The digests whose bytes were dropped.
pub(super) fn pruned(connection: &Connection) -> Result<HashSet<Digest>, StoreError> {
    if !read::has_table(connection, "pruned")? {
        return Ok(HashSet::new());
    }
    connection
        .prepare("SELECT digest FROM pruned")
        .and_then(|mut query| {
            query
                .query_map([], |row| Ok(Digest::from_bytes(row.get(0)?)))?
                .collect()
        })
        .map_err(StoreError::read)
}

/// Whether the bytes of `digest` were dropped.
pub(super) fn is_pruned(connection: &Connection, digest: &Digest) -> Result<bool, StoreError> {
    if !read::has_table(connection, "pruned")? {
        return Ok(false);
    }
    connection
        .query_row(
            "SELECT count(*) FROM pruned WHERE digest = ?1",
            [digest.bytes()],
            |row| row.get::<_, i64>(0).map(|count| count == 1),
        )
        .map_err(StoreError::read)
}

#[cfg(test)]
mod tests {
    use super::digests_in;

    #[test]
    fn digests_are_found_wherever_they_stand() {
        let one = format!("sha256:{}", "0a".repeat(32));
        let text = format!("{{\"a\":\"{one}\",\"b\":\"see {one}é\",\"c\":\"sha256:00\"}} sha256:");
        assert_eq!(digests_in(&text).count(), 2);
        assert!(digests_in(&text).all(|digest| digest.to_string() == one));
    }
}
