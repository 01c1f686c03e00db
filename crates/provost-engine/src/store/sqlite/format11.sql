-- What format 11 adds to format 10: when each schedule is due.
--
-- A moment is taken off by moving `due_ms`, after the run of that moment was begun under an id that
-- follows from the moment: a process that dies between the two begins nothing twice.
CREATE TABLE schedules (
    name     TEXT NOT NULL PRIMARY KEY,
    timing   TEXT NOT NULL,       -- as provost.toml said when `due_ms` was computed
    due_ms   INTEGER NOT NULL,    -- milliseconds since 1970
    last_ms  INTEGER,             -- the moment for which a run was last begun
    last_run TEXT,                -- that run
    said     TEXT                 -- why the last moment began none
) STRICT, WITHOUT ROWID;
