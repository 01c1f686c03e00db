-- What format 2 adds to format 1: what runs share, and what processes say to one another.
-- Nothing here is a fact of a run: the journal alone says what happened.

-- Effects that began and of which it is not settled whether they took place. A row is written
-- with the intent and goes with the outcome, so a process that dies leaves it.
CREATE TABLE open_effects (
    run       TEXT NOT NULL,
    slot      TEXT NOT NULL,      -- step, or `step[item]`
    operation TEXT NOT NULL,
    sinks     BLOB NOT NULL,      -- digest of the values at sinks
    standing  TEXT NOT NULL,      -- `keyed` or `plain` while in flight, else `doubtful`
    owner     TEXT NOT NULL,      -- instance that began it
    at_ms     INTEGER NOT NULL,
    PRIMARY KEY (run, slot)
) STRICT, WITHOUT ROWID;
CREATE INDEX open_effects_by_target ON open_effects (operation, sinks);

-- Attempts in flight of tools that allow only so many at once.
CREATE TABLE in_flight (
    tool  TEXT NOT NULL,
    run   TEXT NOT NULL,
    slot  TEXT NOT NULL,
    owner TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (tool, run, slot)
) STRICT, WITHOUT ROWID;

-- What admission remembers of a tool: its breaker and its rate.
CREATE TABLE admission (
    tool TEXT NOT NULL PRIMARY KEY,
    row  TEXT NOT NULL            -- JSON
) STRICT, WITHOUT ROWID;

-- Money and tokens that several runs share, by period.
CREATE TABLE budgets (
    name     TEXT NOT NULL,
    period   TEXT NOT NULL,       -- such as `2026-11-21`, or `` for ever
    money    INTEGER NOT NULL,    -- reserved and spent, in millionths
    tokens   INTEGER NOT NULL,
    PRIMARY KEY (name, period)
) STRICT, WITHOUT ROWID;

-- What a person stopped: read before every call, by every process.
CREATE TABLE stops (
    scope  TEXT NOT NULL,         -- `all`, `run`, `tool`, `playbook`, `principal`
    name   TEXT NOT NULL,
    by     TEXT NOT NULL,
    reason TEXT NOT NULL,
    at_ms  INTEGER NOT NULL,
    PRIMARY KEY (scope, name)
) STRICT, WITHOUT ROWID;

-- What people said to a run while another process held it, or for whoever takes it up next.
CREATE TABLE words (
    n     INTEGER PRIMARY KEY,
    run   TEXT NOT NULL,
    word  TEXT NOT NULL,          -- JSON, signed where the workspace asks for it
    at_ms INTEGER NOT NULL,
    taken TEXT                    -- null: not yet; else what became of it
) STRICT;
CREATE INDEX words_by_run ON words (run, taken);

-- What has to be told, until it was told.
CREATE TABLE notices (
    n       INTEGER PRIMARY KEY,
    id      TEXT NOT NULL UNIQUE, -- the same at every delivery
    run     TEXT NOT NULL,
    target  TEXT NOT NULL,        -- name of the `[notify.NAME]`
    notice  TEXT NOT NULL,        -- JSON
    due_ms  INTEGER NOT NULL,
    tries   INTEGER NOT NULL,
    done_ms INTEGER               -- null: not yet delivered
) STRICT;
CREATE INDEX notices_due ON notices (done_ms, due_ms);

-- The digest of the goal's words: finds an unfinished run of the same goal. Null: an older version
-- wrote the row.
ALTER TABLE runs ADD COLUMN goal_words BLOB;
CREATE INDEX runs_by_goal ON runs (goal_words, status);
-- Without the moment of the last event, which every commit moves.
DROP INDEX runs_by_status;
CREATE INDEX runs_by_status ON runs (status);
