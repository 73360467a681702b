-- Alerts, one row each from start to end. `detail` distinguishes subjects of one feature; `told` is JSON: when each
-- notification target last got a note. No reference to servers: an alert outlives its subject.
CREATE TABLE alerts (
  id INTEGER PRIMARY KEY NOT NULL,
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
CREATE INDEX alerts_firing ON alerts (id) WHERE resolved_at IS NULL;
CREATE INDEX alerts_by_end ON alerts (resolved_at) WHERE resolved_at IS NOT NULL;
CREATE INDEX alerts_by_silence ON alerts (silenced_until) WHERE silenced_until IS NOT NULL;
CREATE INDEX alerts_by_server ON alerts (server, id);
CREATE INDEX alerts_by_rule ON alerts (rule, id);

-- Subjects with problems in their last evaluations: `subject` and `body` are JSON.
CREATE TABLE alert_watches (
  subject TEXT PRIMARY KEY NOT NULL,
  body TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Normal state of a server (seats issued, unrecognized lines) as JSON, to detect changes across restarts.
CREATE TABLE alert_baselines (
  server TEXT PRIMARY KEY NOT NULL,
  body TEXT NOT NULL
) STRICT;

-- Queued notes for notification targets, deleted after delivery.
CREATE TABLE notifications (
  id INTEGER PRIMARY KEY NOT NULL,
  target TEXT NOT NULL,
  kind TEXT NOT NULL,
  at INTEGER NOT NULL,
  alert TEXT NOT NULL
) STRICT;
