-- Small, precious data in a separate file. `secret_hash` is the SHA-256 of the secret. Revoked keys stay, so that
-- their owners get a clear answer.
CREATE TABLE api_keys (
  id TEXT PRIMARY KEY NOT NULL,
  name TEXT NOT NULL,
  role TEXT NOT NULL,
  secret_hash BLOB NOT NULL,
  anonymize INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER,
  daily_quota INTEGER,
  monthly_quota INTEGER,
  requests_per_minute INTEGER,
  CHECK (length(secret_hash) = 32)
) STRICT, WITHOUT ROWID;
CREATE INDEX api_keys_by_name ON api_keys (name);

-- Secrets of this installation, created once and readable by everyone who can read the file.
CREATE TABLE secrets (
  name TEXT PRIMARY KEY NOT NULL,
  value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Counters: the highest reserved event id, the last published change of keys, and the number of changes of keys and
-- secrets.
CREATE TABLE event_marks (
  name TEXT PRIMARY KEY NOT NULL,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Second copies of rows of licmond.db, in case it must be replaced: alerts that fire or are silenced. Their ids are
-- never reused (AUTOINCREMENT), even after licmond.db has deleted them.
CREATE TABLE alerts (
  id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
  rule TEXT NOT NULL,
  severity TEXT NOT NULL,
  server TEXT,
  daemon TEXT,
  feature TEXT,
  detail TEXT,
  message TEXT NOT NULL,
  value REAL,
  threshold REAL,
  started_at INTEGER NOT NULL,
  resolved_at INTEGER,
  acknowledged_at INTEGER,
  acknowledged_by TEXT,
  comment TEXT,
  silenced_until INTEGER,
  told TEXT NOT NULL
) STRICT;

CREATE TABLE alert_watches (
  subject TEXT PRIMARY KEY NOT NULL,
  body TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE notifications (
  id INTEGER PRIMARY KEY NOT NULL,
  target TEXT NOT NULL,
  kind TEXT NOT NULL,
  at INTEGER NOT NULL,
  alert TEXT NOT NULL
) STRICT;

-- The newest lines of the audit trail.
CREATE TABLE events (
  id INTEGER PRIMARY KEY NOT NULL,
  at INTEGER NOT NULL,
  type TEXT NOT NULL,
  level TEXT,
  source TEXT,
  server TEXT,
  body TEXT NOT NULL
) STRICT;
