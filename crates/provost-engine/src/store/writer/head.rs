//! Where a run stands, as its row says it.

use provost_plan::digest::Digest;
use rusqlite::Row;

/// The row's number, its owner, its last event and that event's link.
pub(super) struct Head {
    pub(super) n: i64,
    pub(super) owner: Option<String>,
    pub(super) seq: u64,
    pub(super) link: Digest,
}

impl Head {
    /// Reads the columns `n, owner, head_seq, head`.
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            n: row.get(0)?,
            owner: row.get(1)?,
            seq: row.get(2)?,
            link: Digest::from_bytes(row.get(3)?),
        })
    }
}
