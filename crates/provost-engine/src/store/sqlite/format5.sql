-- What format 5 adds to format 4: what runs wait for, a row each, written in the transaction of the
-- events that they follow from. Everything here can be computed again from these events.
CREATE TABLE waits (
    run         TEXT NOT NULL,
    n           INTEGER NOT NULL,  -- the order in which they are shown
    kind        TEXT NOT NULL,     -- `approval`, `answer`, `settlement` or `secret`
    digest      TEXT,              -- of the card or the question
    step        TEXT,
    item        INTEGER,           -- of a step that runs over a list
    operation   TEXT,
    effect      TEXT,
    risk        TEXT,
    requester   TEXT,
    planned_by  TEXT,
    asked       INTEGER NOT NULL,  -- milliseconds since 1970
    lapses      INTEGER,
    quorum      INTEGER,
    approved_by TEXT NOT NULL,     -- who said yes so far, a JSON list
    PRIMARY KEY (run, n)
) STRICT, WITHOUT ROWID;
-- The digest of a run's rows. Null: an older version wrote the run's row, so that there are none
-- and its events say what it waits for.
ALTER TABLE runs ADD COLUMN waits BLOB;
-- A stop of a run that is over binds nothing, and stood for ever.
DELETE FROM stops WHERE scope = 'run' AND name NOT IN (
    SELECT id FROM runs WHERE status IN
    ('planning', 'waiting_approval', 'waiting_answer', 'running', 'paused', 'in_doubt'));
