-- What format 12 adds to format 11: what is counted of each run that is over.
--
-- A cache of what its events say, written in the transaction of its end. A row counts as long as
-- the run has no later event and the formulas are those of the version that reads it.
CREATE TABLE run_facts (
    run      INTEGER NOT NULL PRIMARY KEY,  -- as in `runs.n`
    seq      INTEGER NOT NULL,              -- the last event that is counted
    formulas INTEGER NOT NULL,              -- the version of the formulas
    facts    TEXT NOT NULL                  -- JSON
) STRICT;
