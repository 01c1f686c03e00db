-- What format 13 adds to format 12: ways to a page of runs and of what waits, however many there are.
--
-- Runs that wait, and those whose rows an older version left out.
CREATE INDEX runs_that_wait ON runs (n) WHERE length(waits) > 0;
CREATE INDEX runs_without_waits ON runs (n) WHERE waits IS NULL;
CREATE INDEX waits_by_kind ON waits (kind);
