-- What format 14 changes in format 13: an event is written without a look at its text.
--
-- Indexes over the text of first events made each append open them, compute them, and copy each
-- page that it changed. What a run began with stands beside it instead, and `audit verify` holds it
-- against the first event.
DROP INDEX IF EXISTS events_by_requester;
DROP INDEX IF EXISTS events_by_planner;
DROP INDEX IF EXISTS events_by_playbook;
ALTER TABLE runs ADD COLUMN requester TEXT;  -- whom it acts for
ALTER TABLE runs ADD COLUMN planner TEXT;    -- the kind of planner it began with
ALTER TABLE runs ADD COLUMN playbook TEXT;   -- the playbook, if that is its kind
UPDATE runs SET (requester, planner, playbook) = (
    SELECT json_extract(payload, '$.principal.id'), json_extract(payload, '$.planner.kind'),
        CASE WHEN json_extract(payload, '$.planner.kind') = 'playbook'
            THEN json_extract(payload, '$.planner.name') END
    FROM events WHERE events.run = runs.n AND seq = 1 AND json_valid(payload)
);
CREATE INDEX runs_by_requester ON runs (requester);
CREATE INDEX runs_by_planner ON runs (planner);
CREATE INDEX runs_by_playbook ON runs (playbook) WHERE playbook IS NOT NULL;
