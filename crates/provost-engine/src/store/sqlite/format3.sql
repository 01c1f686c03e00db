-- What format 3 adds to format 2: which bytes of evidence were dropped. Their digests stay, here
-- and in the events that name them, so the chains still hold and nobody takes them for lost.
CREATE TABLE pruned (
    digest BLOB NOT NULL PRIMARY KEY,
    media  TEXT NOT NULL,
    size   INTEGER NOT NULL,      -- bytes that were dropped
    at_ms  INTEGER NOT NULL       -- when
) STRICT, WITHOUT ROWID;
