-- What format 6 adds to format 5: no table. The events of run 0, which no row of `runs` lists, are the
-- log of the workspace: what people stopped, let go on and pruned. `stops` and `pruned` follow from
-- it; its last event and that event's link stand in `meta` under `log`. What stood in both tables
-- before is written into the log once.
-- A single run is no scope any more: its pause is a statement to it.
DELETE FROM stops WHERE scope = 'run';
