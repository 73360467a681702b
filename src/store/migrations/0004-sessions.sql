-- A checkout over its life, one row. Open sessions have no end; `last_seen_at` of an open one is only kept up when a
-- reading lacks it: else it is the time of the feature's last good reading.
CREATE TABLE sessions (
  id INTEGER PRIMARY KEY NOT NULL,
  server_id TEXT NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
  daemon TEXT NOT NULL,
  feature TEXT NOT NULL,
  user TEXT NOT NULL,
  host TEXT,
  display TEXT,
  qualifier TEXT,
  version TEXT,
  count INTEGER NOT NULL,
  handle TEXT,
  started_at INTEGER,
  began_at INTEGER NOT NULL,
  first_seen_at INTEGER NOT NULL,
  last_seen_at INTEGER NOT NULL,
  ended_at INTEGER,
  end_reason TEXT
) STRICT;
CREATE INDEX sessions_open ON sessions (server_id) WHERE ended_at IS NULL;
CREATE INDEX sessions_by_end ON sessions (ended_at) WHERE ended_at IS NOT NULL;
