-- The journal, format 2. The number stands in `PRAGMA user_version`.
CREATE TABLE meta (
    key   TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- One row a run. Everything but `owner` can be computed again from its events.
CREATE TABLE runs (
    n          INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    owner      TEXT,              -- instance whose lock file says whether it lives; null: nobody
    created_at INTEGER NOT NULL,  -- milliseconds since 1970
    updated_at INTEGER NOT NULL,
    status     TEXT NOT NULL,
    goal       TEXT NOT NULL,
    summary    TEXT NOT NULL,     -- JSON shown by `runs`
    head_seq   INTEGER NOT NULL,  -- last event and its link
    head       BLOB NOT NULL
) STRICT;
CREATE INDEX runs_by_status ON runs (status, updated_at);

-- One row a group commit that carried events or a barrier.
CREATE TABLE commits (
    n      INTEGER PRIMARY KEY,
    events INTEGER NOT NULL,
    link   BLOB NOT NULL          -- digest over the previous link, n and [run, seq, link] of its events
) STRICT;

-- A `payload` that is null was taken from outside; `digest` stays, so it is missed.
CREATE TABLE events (
    n       INTEGER PRIMARY KEY,  -- order of the commit chain
    run     INTEGER NOT NULL,
    seq     INTEGER NOT NULL,     -- from 1, without gaps
    commit_n INTEGER NOT NULL,
    at_ms   INTEGER NOT NULL,
    kind    TEXT NOT NULL,
    version INTEGER NOT NULL,
    payload TEXT,                 -- canonical JSON
    digest  BLOB NOT NULL,        -- of the payload
    link    BLOB NOT NULL,        -- digest over the previous link, the header and `digest`
    UNIQUE (run, seq)
) STRICT;

-- Bytes behind observations, once each, after redaction.
CREATE TABLE evidence (
    digest BLOB NOT NULL PRIMARY KEY,
    media  TEXT NOT NULL,
    bytes  BLOB NOT NULL
) STRICT;
