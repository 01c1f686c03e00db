-- What format 10 changes in format 9: each write changes two pages less.
--
-- Of an intent to write, a short number of its call, by which equal calls are found. An index over
-- the payload itself would be parsed and grow with each write.
DROP INDEX IF EXISTS events_by_call;
ALTER TABLE events ADD COLUMN call INTEGER;
CREATE INDEX events_by_number ON events (call, at_ms) WHERE call IS NOT NULL;
-- Open effects stand in the order of what they reach, and in no other.
ALTER TABLE open_effects RENAME TO open_effects_9;
CREATE TABLE open_effects (
    run       TEXT NOT NULL,
    slot      TEXT NOT NULL,      -- step, or `step[item]`
    operation TEXT NOT NULL,
    sinks     BLOB NOT NULL,      -- digest of the values at sinks
    standing  TEXT NOT NULL,      -- `keyed` or `plain` while in flight, else `doubtful`
    owner     TEXT NOT NULL,      -- instance that began it
    at_ms     INTEGER NOT NULL,
    PRIMARY KEY (operation, sinks, run, slot)
) STRICT, WITHOUT ROWID;
INSERT INTO open_effects SELECT * FROM open_effects_9;
DROP TABLE open_effects_9;
