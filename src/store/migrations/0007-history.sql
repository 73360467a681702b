-- History of features' counts. Times are epoch ms; days are days since 1970-01-01 UTC.

-- A small id for each (server, daemon, feature).
CREATE TABLE history_features (
  id INTEGER PRIMARY KEY NOT NULL,
  server_id TEXT NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
  daemon TEXT NOT NULL,
  name TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX history_features_by_name ON history_features (server_id, daemon, name);

-- A small id for each user's name.
CREATE TABLE history_users (
  id INTEGER PRIMARY KEY NOT NULL,
  name TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX history_users_by_name ON history_users (name);

-- When a server was read without a break: [from_at, until_at). `read_at` is the last reading; `running` is 1 while
-- another reading in time can continue the row.
CREATE TABLE coverage (
  server_id TEXT NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
  from_at INTEGER NOT NULL,
  read_at INTEGER NOT NULL,
  until_at INTEGER NOT NULL,
  running INTEGER NOT NULL,
  PRIMARY KEY (server_id, from_at)
) STRICT, WITHOUT ROWID;

-- Counts of hours that are not packed yet, one row per change; `used` is null if the feature was not read. A coverage
-- begins with a row for each feature that was read.
CREATE TABLE samples (
  feature_id INTEGER NOT NULL,
  at INTEGER NOT NULL,
  total INTEGER,
  used INTEGER,
  reserved INTEGER,
  queued INTEGER,
  unlimited INTEGER NOT NULL,
  PRIMARY KEY (feature_id, at)
) STRICT, WITHOUT ROWID;

-- Packed history, one row per feature and day; `key` is day × 2^24 + feature, so that days are written in sequence.
CREATE TABLE sample_days (
  key INTEGER PRIMARY KEY NOT NULL,
  data BLOB NOT NULL
) STRICT;
CREATE TABLE rollup_hours (
  key INTEGER PRIMARY KEY NOT NULL,
  data BLOB NOT NULL
) STRICT;
CREATE TABLE rollup_days (
  key INTEGER PRIMARY KEY NOT NULL,
  data BLOB NOT NULL
) STRICT;

-- Hours (`span` 3600000) and days (86400000) to pack or roll up, again or for the first time. `touches` records
-- changes made meanwhile.
CREATE TABLE history_open (
  span INTEGER NOT NULL,
  at INTEGER NOT NULL,
  touches INTEGER NOT NULL,
  PRIMARY KEY (span, at)
) STRICT, WITHOUT ROWID;

-- Finds holders of a feature's seats in a range from the index alone: sessions that ended later and were seen before
-- its end. Open sessions are left out, because `sessions_open` finds them: a short session then touches one page, not
-- three.
CREATE INDEX sessions_by_feature ON sessions (server_id, daemon, feature, ended_at, first_seen_at)
  WHERE ended_at IS NOT NULL;
