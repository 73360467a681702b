-- The words of log lines, one row for a run of them: each different word once, folded as a search folds it. A full-text
-- index merged its parts within the commit of a line: for up to 0.2 s when lines came, for up to 3 s when they went.
-- Lines without a row are searched one by one; existing ones get theirs in the background.
DROP TABLE log_words;
CREATE TABLE log_words (
  from_id INTEGER PRIMARY KEY NOT NULL,
  through_id INTEGER NOT NULL,
  words TEXT NOT NULL
) STRICT;

-- Log lines lie between other events: a replay, a search and retention look for one kind.
CREATE INDEX events_by_type ON events (type, id);
