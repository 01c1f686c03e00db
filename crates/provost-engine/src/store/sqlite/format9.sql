-- What format 9 changes in format 8: the table of posted statements has the name of what it holds.
ALTER TABLE words RENAME TO posted_statements;
ALTER TABLE posted_statements RENAME COLUMN word TO statement;
DROP INDEX words_by_run;
CREATE INDEX posted_statements_by_run ON posted_statements (run, taken);
