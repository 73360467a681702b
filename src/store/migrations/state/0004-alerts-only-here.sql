-- All alerts, with their watches and notes, are in this file.
CREATE INDEX alerts_firing ON alerts (id) WHERE resolved_at IS NULL;
CREATE INDEX alerts_by_end ON alerts (resolved_at) WHERE resolved_at IS NOT NULL;
CREATE INDEX alerts_by_silence ON alerts (silenced_until) WHERE silenced_until IS NOT NULL;
CREATE INDEX alerts_by_server ON alerts (server, id);
CREATE INDEX alerts_by_rule ON alerts (rule, id);

-- Normal state of a server (seats issued, unrecognized lines) as JSON, to detect changes across restarts.
CREATE TABLE alert_baselines (
  server TEXT PRIMARY KEY NOT NULL,
  body TEXT NOT NULL
) STRICT;
