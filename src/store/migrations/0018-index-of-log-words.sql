-- Words of log lines, one row per run of lines: each distinct word once, folded like search words. A full-text index
-- merged its parts within the commit of a line: for up to 0.2 s on inserts, for up to 3 s on deletes. Lines without a
-- row are searched one by one; existing ones are indexed in the background.
DROP TABLE log_words;
CREATE TABLE log_words (
  from_id INTEGER PRIMARY KEY NOT NULL,
  through_id INTEGER NOT NULL,
  words TEXT NOT NULL
) STRICT;

-- Other events surround log lines in the table: a replay, a search and retention read one kind.
CREATE INDEX events_by_type ON events (type, id);
