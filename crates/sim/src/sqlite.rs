//! SQLite files that come out byte for byte the same.
//!
//! Owns how a generated database is written. Never opens a database it did not make. INVARIANT:
//! the bytes depend on the statements alone, not on the time, the machine or SQLite's version.

use std::io;

use rusqlite::Connection;

/// Where a database header keeps the version of the library that wrote it.
const WRITER_VERSION: std::ops::Range<usize> = 96..100;

/// Fills a new database and returns the bytes of its file.
pub fn build(fill: impl FnOnce(&Connection) -> rusqlite::Result<()>) -> io::Result<Vec<u8>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("built.db");
    vacuumed(fill, &path.to_string_lossy()).map_err(io::Error::other)?;
    let mut bytes = std::fs::read(&path)?;
    // Why: SQLite notes its version for people to read only; data must not change with it.
    if let Some(version) = bytes.get_mut(WRITER_VERSION) {
        version.fill(0);
    }
    Ok(bytes)
}

fn vacuumed(
    fill: impl FnOnce(&Connection) -> rusqlite::Result<()>,
    path: &str,
) -> rusqlite::Result<()> {
    let built = Connection::open_in_memory()?;
    built.execute_batch("PRAGMA page_size = 4096; PRAGMA encoding = 'UTF-8'; BEGIN;")?;
    fill(&built)?;
    built.execute_batch("COMMIT")?;
    built.execute("VACUUM INTO ?1", [path])?;
    Ok(())
}
