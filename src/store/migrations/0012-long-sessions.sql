-- Sessions of more than a day: what overlaps a range long ago ended within it, within a day after it, or is one of these.
-- Without them every session that ended since would be looked at.
CREATE INDEX sessions_long ON sessions (server_id, daemon, feature, ended_at, began_at)
  WHERE ended_at - began_at > 86400000;
