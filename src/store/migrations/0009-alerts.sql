-- Alerts, one row each from its start to its end. `detail` tells subjects of one feature apart; `told` is JSON: when
-- each notification target was last told of it. No reference to servers: an alert outlives what it was about.
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

-- Subjects that were not well at their last looks: `subject` and `body` are JSON.
CREATE TABLE alert_watches (
  subject TEXT PRIMARY KEY NOT NULL,
  body TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What is usual for a server (seats issued, unknown lines), as JSON: a change while nobody looked is one too.
CREATE TABLE alert_baselines (
  server TEXT PRIMARY KEY NOT NULL,
  body TEXT NOT NULL
) STRICT;

-- What is still to be told to notification targets; deleted once a receiver has taken it.
CREATE TABLE notifications (
  id INTEGER PRIMARY KEY NOT NULL,
  target TEXT NOT NULL,
  kind TEXT NOT NULL,
  at INTEGER NOT NULL,
  alert TEXT NOT NULL
) STRICT;
