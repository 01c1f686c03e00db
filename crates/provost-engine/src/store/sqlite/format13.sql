-- What format 13 adds to format 12: ways to a page of runs and of what waits, however many there are.
--
-- Indexes and no tables, so that nothing stands beside the events that could say something else.
-- For whom a run was begun, and by what it was planned, stand in its first event.
CREATE INDEX events_by_requester ON events (json_extract(payload, '$.principal.id'), run)
    WHERE seq = 1 AND json_valid(payload);
CREATE INDEX events_by_planner ON events (json_extract(payload, '$.planner.kind'), run)
    WHERE seq = 1 AND json_valid(payload);
CREATE INDEX events_by_playbook ON events (json_extract(payload, '$.planner.name'), run)
    WHERE seq = 1 AND json_valid(payload) AND json_extract(payload, '$.planner.kind') = 'playbook';
-- Runs that wait, and those whose rows an older version left out.
CREATE INDEX runs_that_wait ON runs (n) WHERE length(waits) > 0;
CREATE INDEX runs_without_waits ON runs (n) WHERE waits IS NULL;
CREATE INDEX waits_by_kind ON waits (kind);
