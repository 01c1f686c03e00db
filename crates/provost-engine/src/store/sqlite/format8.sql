-- What format 8 adds to format 7: the way from a call to the events of equal ones. It is an index and
-- no table, so that nothing stands beside the events that could say something else.
CREATE INDEX events_by_call ON events (
    json_extract(payload, '$.args_digest'),
    json_extract(payload, '$.operation'),
    at_ms
) WHERE kind = 'AttemptStarted' AND json_valid(payload)
    AND json_extract(payload, '$.read') = 0;
-- How often the call was made before that a run waits to be allowed; of several, the most.
ALTER TABLE waits ADD COLUMN repeats INTEGER NOT NULL DEFAULT 0;
