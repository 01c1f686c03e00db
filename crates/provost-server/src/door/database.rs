//! `.provost/server.db`: links, sessions, tokens, and a record of who came in.
//!
//! Owns the file (0600) and its tables. Knows no run, and stands beside the journal: whoever
//! removes it signs everybody out, and nothing else. INVARIANT: of a secret only its digest is
//! kept, and a link is spent once.

use std::fs::OpenOptions;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use provost_engine::clock::now_ms;
use rusqlite::{Connection, OptionalExtension as _, Row, TransactionBehavior, params};

use super::secret;

mod accounts;

/// The name of the file, inside the store.
pub const SERVER_FILE: &str = "server.db";
/// How long another process may hold the file.
const BUSY: Duration = Duration::from_secs(5);
/// For how long it is remembered who came in.
const LOG_KEPT_MS: i64 = 90 * 24 * 3_600_000;

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS links (
    digest TEXT PRIMARY KEY, person TEXT NOT NULL, ends_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS sessions (
    digest TEXT PRIMARY KEY, person TEXT NOT NULL, login TEXT NOT NULL,
    began_ms INTEGER NOT NULL, ends_ms INTEGER NOT NULL, seen_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS tokens (
    name TEXT PRIMARY KEY, digest TEXT NOT NULL UNIQUE, person TEXT NOT NULL,
    agent INTEGER NOT NULL, made_ms INTEGER NOT NULL, ends_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS logins (
    state TEXT PRIMARY KEY, browser TEXT NOT NULL, ends_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS accounts (
    issuer TEXT NOT NULL, subject TEXT NOT NULL, person TEXT NOT NULL,
    PRIMARY KEY (issuer, subject), UNIQUE (issuer, person)
) STRICT;
CREATE TABLE IF NOT EXISTS log (
    n INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, person TEXT NOT NULL, what TEXT NOT NULL
) STRICT;";

/// The database of who is there.
#[derive(Debug)]
pub struct Database {
    connection: Mutex<Connection>,
}

/// What the file holds: another one after each change of it, of whatever process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoginsRevision {
    others: i64,
    ours: u64,
}

/// The database cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// The file.
    #[error("`{SERVER_FILE}` cannot be used: {0}")]
    File(String),
    /// The system has no randomness.
    #[error("no secret could be drawn: {0}")]
    Random(String),
    /// Too many logins are under way.
    #[error("too many logins are under way")]
    Logins,
    /// A token of this name is there.
    #[error("there is a token `{0}` already")]
    TokenExists(String),
}

impl From<rusqlite::Error> for DatabaseError {
    fn from(error: rusqlite::Error) -> Self {
        Self::File(error.to_string())
    }
}

/// A session as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSession {
    /// The digest of its secret.
    pub digest: String,
    /// Whose it is.
    pub person: String,
    /// How they signed in.
    pub login: String,
    /// When it began, in milliseconds since 1970.
    pub began_ms: i64,
    /// When it ends.
    pub ends_ms: i64,
    /// When it was last used, within a minute.
    pub seen_ms: i64,
}

/// A token as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredToken {
    /// Its name.
    pub name: String,
    /// For whom it speaks.
    pub person: String,
    /// Whether as an agent of theirs.
    pub is_agent: bool,
    /// When it was made, in milliseconds since 1970.
    pub made_ms: i64,
    /// When it ends.
    pub ends_ms: i64,
}

impl Database {
    /// Opens the file in the store at `dir`, and makes it where there is none.
    ///
    /// # Errors
    /// [`DatabaseError`] if the file cannot be written.
    pub fn open(dir: &Path) -> Result<Self, DatabaseError> {
        let path = dir.join(SERVER_FILE);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options
            .open(&path)
            .map_err(|error| DatabaseError::File(error.to_string()))?;
        let connection = Connection::open(&path)?;
        connection.busy_timeout(BUSY)?;
        connection.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA journal_mode = WAL;")?;
        connection.execute_batch(SCHEMA)?;
        let database = Self {
            connection: Mutex::new(connection),
        };
        let old = now_ms().saturating_sub(LOG_KEPT_MS);
        database
            .lock()
            .execute("DELETE FROM log WHERE at_ms < ?1", [old])?;
        Ok(database)
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// What is kept under a name.
    ///
    /// # Errors
    /// [`DatabaseError`] if the file cannot be read.
    pub fn meta(&self, key: &str) -> Result<Option<String>, DatabaseError> {
        let connection = self.lock();
        let mut query = connection.prepare_cached("SELECT value FROM meta WHERE key = ?1")?;
        Ok(query.query_row([key], |row| row.get(0)).optional()?)
    }

    /// Keeps a text under a name.
    ///
    /// # Errors
    /// [`DatabaseError`] if the file cannot be written.
    pub fn set_meta(&self, key: &str, value: &str) -> Result<(), DatabaseError> {
        self.lock().execute(
            "INSERT INTO meta VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2",
            [key, value],
        )?;
        Ok(())
    }

    /// A key of this server's own, drawn once.
    ///
    /// # Errors
    /// [`DatabaseError`] if none can be drawn or kept.
    pub fn key(&self) -> Result<String, DatabaseError> {
        let drawn = secret::draw().map_err(DatabaseError::Random)?;
        self.lock().execute(
            "INSERT INTO meta VALUES ('key', ?1) ON CONFLICT (key) DO NOTHING",
            [&drawn],
        )?;
        Ok(self.meta("key")?.unwrap_or(drawn))
    }

    /// Makes a one-time link for a person, and gives its code.
    ///
    /// # Errors
    /// [`DatabaseError`] if it cannot be kept.
    pub fn invite(&self, person: &str, ends_ms: i64) -> Result<String, DatabaseError> {
        let code = secret::draw().map_err(DatabaseError::Random)?;
        let connection = self.lock();
        connection.execute("DELETE FROM links WHERE ends_ms < ?1", [now_ms()])?;
        connection.execute(
            "INSERT INTO links VALUES (?1, ?2, ?3)",
            params![secret::digest(&code), person, ends_ms],
        )?;
        Ok(code)
    }

    /// Spends a link: gives whose it is, once.
    ///
    /// # Errors
    /// [`DatabaseError`] if the file cannot be written.
    pub fn spend(&self, code: &str) -> Result<Option<String>, DatabaseError> {
        let connection = self.lock();
        let mut query = connection.prepare_cached(
            "DELETE FROM links WHERE digest = ?1 AND ends_ms > ?2 RETURNING person",
        )?;
        let values = params![secret::digest(code), now_ms()];
        Ok(query.query_row(values, |row| row.get(0)).optional()?)
    }

    /// Begins a session, and gives its secret.
    ///
    /// # Errors
    /// [`DatabaseError`] if it cannot be kept.
    pub fn begin(&self, person: &str, login: &str, ends_ms: i64) -> Result<String, DatabaseError> {
        let drawn = secret::draw().map_err(DatabaseError::Random)?;
        let now = now_ms();
        self.lock().execute(
            "INSERT INTO sessions VALUES (?1, ?2, ?3, ?4, ?5, ?4)",
            params![secret::digest(&drawn), person, login, now, ends_ms],
        )?;
        Ok(drawn)
    }

    /// The session of this secret, unless it ended.
    ///
    /// # Errors
    /// [`DatabaseError`] if the file cannot be read.
    pub fn session(&self, secret: &str) -> Result<Option<StoredSession>, DatabaseError> {
        let connection = self.lock();
        let mut query = connection.prepare_cached(
            "SELECT digest, person, login, began_ms, ends_ms, seen_ms FROM sessions \
             WHERE digest = ?1 AND ends_ms > ?2",
        )?;
        let values = params![secret::digest(secret), now_ms()];
        Ok(query.query_row(values, session).optional()?)
    }

    /// When the session of this digest ends, if it has not.
    ///
    /// # Errors
    /// [`DatabaseError`] if the file cannot be read.
    pub fn session_ends(&self, digest: &str) -> Result<Option<i64>, DatabaseError> {
        let sql = "SELECT ends_ms FROM sessions WHERE digest = ?1 AND ends_ms > ?2";
        self.ends(sql, digest)
    }

    /// When the token of this name ends, if it has not.
    ///
    /// # Errors
    /// [`DatabaseError`] if the file cannot be read.
    pub fn token_ends(&self, name: &str) -> Result<Option<i64>, DatabaseError> {
        self.ends(
            "SELECT ends_ms FROM tokens WHERE name = ?1 AND ends_ms > ?2",
            name,
        )
    }

    fn ends(&self, sql: &str, of: &str) -> Result<Option<i64>, DatabaseError> {
        let connection = self.lock();
        let mut query = connection.prepare_cached(sql)?;
        let ends = query.query_row(params![of, now_ms()], |row| row.get(0));
        Ok(ends.optional()?)
    }

    /// What tells this content of the file from every other while it is open.
    ///
    /// # Errors
    /// [`DatabaseError`] if the file cannot be read.
    pub fn revision(&self) -> Result<LoginsRevision, DatabaseError> {
        let connection = self.lock();
        let mut query = connection.prepare_cached("PRAGMA data_version")?;
        Ok(LoginsRevision {
            // Why both: SQLite counts commits of others in one and rows of our own in the other.
            others: query.query_row([], |row| row.get(0))?,
            ours: connection.total_changes(),
        })
    }

    /// Notes that a session is in use.
    ///
    /// # Errors
    /// [`DatabaseError`] if the file cannot be written.
    pub fn see(&self, digest: &str) -> Result<(), DatabaseError> {
        self.lock().execute(
            "UPDATE sessions SET seen_ms = ?2 WHERE digest = ?1",
            params![digest, now_ms()],
        )?;
        Ok(())
    }

    /// The sessions that have not ended: a person's, or all.
    ///
    /// # Errors
    /// [`DatabaseError`] if the file cannot be read.
    pub fn sessions(&self, of: Option<&str>) -> Result<Vec<StoredSession>, DatabaseError> {
        let connection = self.lock();
        let mut query = connection.prepare_cached(
            "SELECT digest, person, login, began_ms, ends_ms, seen_ms FROM sessions \
             WHERE ends_ms > ?1 AND (?2 IS NULL OR person = ?2) ORDER BY began_ms",
        )?;
        let rows = query.query_map(params![now_ms(), of], session)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Ends sessions: one of a person, all of a person, or all.
    ///
    /// # Errors
    /// [`DatabaseError`] if the file cannot be written.
    pub fn end(&self, of: Option<&str>, digest: Option<&str>) -> Result<usize, DatabaseError> {
        Ok(self.lock().execute(
            "DELETE FROM sessions WHERE (?1 IS NULL OR person = ?1) \
             AND (?2 IS NULL OR digest = ?2)",
            params![of, digest],
        )?)
    }

    /// Makes a token and gives it; it is shown this once.
    ///
    /// # Errors
    /// [`DatabaseError::TokenExists`] if its name is taken by one that counts.
    pub fn new_token(&self, token: &StoredToken) -> Result<String, DatabaseError> {
        let drawn = format!("provost_{}", secret::draw().map_err(DatabaseError::Random)?);
        let mut connection = self.lock();
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        tx.execute("DELETE FROM tokens WHERE ends_ms <= ?1", [now_ms()])?;
        let made = tx.execute(
            "INSERT INTO tokens VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING",
            params![
                token.name,
                secret::digest(&drawn),
                token.person,
                token.is_agent,
                token.made_ms,
                token.ends_ms
            ],
        )?;
        if made == 0 {
            return Err(DatabaseError::TokenExists(token.name.clone()));
        }
        tx.commit()?;
        Ok(drawn)
    }

    /// The token that this text is, unless it ended.
    ///
    /// # Errors
    /// [`DatabaseError`] if the file cannot be read.
    pub fn token(&self, text: &str) -> Result<Option<StoredToken>, DatabaseError> {
        let connection = self.lock();
        let mut query = connection.prepare_cached(
            "SELECT name, person, agent, made_ms, ends_ms FROM tokens \
             WHERE digest = ?1 AND ends_ms > ?2",
        )?;
        let values = params![secret::digest(text), now_ms()];
        Ok(query.query_row(values, token).optional()?)
    }

    /// The tokens that have not ended: those for a person, or all.
    ///
    /// # Errors
    /// [`DatabaseError`] if the file cannot be read.
    pub fn tokens(&self, of: Option<&str>) -> Result<Vec<StoredToken>, DatabaseError> {
        let connection = self.lock();
        let mut query = connection.prepare_cached(
            "SELECT name, person, agent, made_ms, ends_ms FROM tokens \
             WHERE ends_ms > ?1 AND (?2 IS NULL OR person = ?2) ORDER BY name",
        )?;
        let rows = query.query_map(params![now_ms(), of], token)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Ends a token: gives whether there was one.
    ///
    /// # Errors
    /// [`DatabaseError`] if the file cannot be written.
    pub fn revoke(&self, name: &str, of: Option<&str>) -> Result<bool, DatabaseError> {
        let ended = self.lock().execute(
            "DELETE FROM tokens WHERE name = ?1 AND (?2 IS NULL OR person = ?2)",
            params![name, of],
        )?;
        Ok(ended > 0)
    }

    /// Notes who did what at the door.
    ///
    /// # Errors
    /// [`DatabaseError`] if the file cannot be written.
    pub fn note(&self, person: &str, what: &str) -> Result<(), DatabaseError> {
        self.lock().execute(
            "INSERT INTO log (at_ms, person, what) VALUES (?1, ?2, ?3)",
            params![now_ms(), person, what],
        )?;
        Ok(())
    }
}

fn session(row: &Row<'_>) -> rusqlite::Result<StoredSession> {
    Ok(StoredSession {
        digest: row.get(0)?,
        person: row.get(1)?,
        login: row.get(2)?,
        began_ms: row.get(3)?,
        ends_ms: row.get(4)?,
        seen_ms: row.get(5)?,
    })
}

fn token(row: &Row<'_>) -> rusqlite::Result<StoredToken> {
    Ok(StoredToken {
        name: row.get(0)?,
        person: row.get(1)?,
        is_agent: row.get(2)?,
        made_ms: row.get(3)?,
        ends_ms: row.get(4)?,
    })
}
