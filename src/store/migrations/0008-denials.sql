-- Denied requests, one row for repeated attempts of a user. Feature and user are '' if the manager only counts
-- denials. `told` is 0 while the outcome may still change within seconds and the event is not sent yet.
CREATE TABLE denials (
  id INTEGER PRIMARY KEY NOT NULL,
  server_id TEXT NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
  daemon TEXT NOT NULL,
  feature TEXT NOT NULL,
  user TEXT NOT NULL,
  host TEXT,
  at INTEGER NOT NULL,
  until INTEGER NOT NULL,
  count INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  reason TEXT,
  code INTEGER,
  outcome TEXT NOT NULL,
  told INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX denials_once ON denials (server_id, feature, user, daemon, at);
CREATE INDEX denials_by_time ON denials (at);
CREATE INDEX denials_by_feature ON denials (feature, at);
CREATE INDEX denials_by_user ON denials (user, at);
CREATE INDEX denials_by_end ON denials (until);
CREATE INDEX denials_untold ON denials (id) WHERE told = 0;

-- When denials of a server could be seen. Outside of these spans denials are unknown, not zero. A span without end is
-- ongoing.
CREATE TABLE denial_spans (
  id INTEGER PRIMARY KEY NOT NULL,
  server_id TEXT NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
  from_at INTEGER NOT NULL,
  to_at INTEGER
) STRICT;
CREATE INDEX denial_spans_by_server ON denial_spans (server_id, from_at);

-- How far each server's source of denials was read: a place in a log, or the last counters. JSON.
CREATE TABLE denial_cursors (
  server_id TEXT PRIMARY KEY NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
  cursor TEXT NOT NULL
) STRICT;

-- Sessions from old logs, by a hash of their content: importing a log twice adds no second row.
CREATE TABLE imported_sessions (
  session_id INTEGER PRIMARY KEY NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  hash INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX imported_sessions_once ON imported_sessions (hash);
