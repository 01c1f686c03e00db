-- What format 4 adds to format 3: when somebody has to look at a run next, so that one that only
-- waits is a row and nothing else; and why a notice could not be delivered.
ALTER TABLE runs ADD COLUMN due_ms INTEGER; -- null: only a person's word moves it
UPDATE runs SET due_ms = updated_at
WHERE status IN ('planning', 'running', 'waiting_approval', 'waiting_answer', 'in_doubt');
CREATE INDEX runs_by_due ON runs (due_ms) WHERE due_ms IS NOT NULL;
ALTER TABLE notices ADD COLUMN said TEXT;   -- null: nothing went wrong
