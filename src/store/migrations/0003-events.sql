-- Published events by id. Log lines have the columns by which they are filtered; `body` is the whole event as JSON.
-- `at` is the time of the event: the id, or less while ids are ahead of the clock.
CREATE TABLE events (
  id INTEGER PRIMARY KEY NOT NULL,
  at INTEGER NOT NULL,
  type TEXT NOT NULL,
  level TEXT,
  source TEXT,
  server TEXT,
  body TEXT NOT NULL
) STRICT;
CREATE INDEX events_by_level ON events (level, id) WHERE level IN ('warn', 'error');
CREATE INDEX events_by_source ON events (source, id) WHERE source IS NOT NULL;
CREATE INDEX events_by_server ON events (server, id) WHERE server IS NOT NULL;

-- Words of log lines (message and metadata values). The text itself is in `events`.
CREATE VIRTUAL TABLE log_words USING fts5 (words, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2');

-- Number of stored log lines by hour, updated with every insert and delete to avoid counting.
CREATE TABLE log_counts (
  hour INTEGER NOT NULL,
  level TEXT NOT NULL,
  source TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (hour, level, source)
) STRICT, WITHOUT ROWID;

-- Counters stored with the events: the highest reserved id, the newest deleted ids, the size of the log.
CREATE TABLE event_marks (
  name TEXT PRIMARY KEY NOT NULL,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Ranges of ids that were published but could not be stored.
CREATE TABLE event_holes (
  from_id INTEGER PRIMARY KEY NOT NULL,
  to_id INTEGER NOT NULL
) STRICT;
