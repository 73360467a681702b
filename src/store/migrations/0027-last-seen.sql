-- Users and hosts that have held seats of a server, and when last (epoch ms); who still holds some is in `sessions`.
CREATE TABLE last_seen (
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  server_id TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (kind, name, server_id)
) STRICT, WITHOUT ROWID;

INSERT INTO last_seen
  SELECT 'user', user, server_id, max(iif(end_reason = 'checkin', ended_at, last_seen_at))
  FROM sessions WHERE ended_at IS NOT NULL GROUP BY user, server_id;
INSERT INTO last_seen
  SELECT 'host', host, server_id, max(iif(end_reason = 'checkin', ended_at, last_seen_at))
  FROM sessions WHERE ended_at IS NOT NULL AND host IS NOT NULL GROUP BY host, server_id;

CREATE TRIGGER sessions_last_seen AFTER INSERT ON sessions WHEN NEW.ended_at IS NOT NULL
BEGIN
  INSERT INTO last_seen
    SELECT kind, name, NEW.server_id, iif(NEW.end_reason = 'checkin', NEW.ended_at, NEW.last_seen_at)
    FROM (SELECT 'user' AS kind, NEW.user AS name UNION ALL SELECT 'host', NEW.host) WHERE name IS NOT NULL
    ON CONFLICT DO UPDATE SET at = max(at, excluded.at);
END;
CREATE TRIGGER sessions_last_seen_at_end AFTER UPDATE ON sessions WHEN NEW.ended_at IS NOT NULL
BEGIN
  INSERT INTO last_seen
    SELECT kind, name, NEW.server_id, iif(NEW.end_reason = 'checkin', NEW.ended_at, NEW.last_seen_at)
    FROM (SELECT 'user' AS kind, NEW.user AS name UNION ALL SELECT 'host', NEW.host) WHERE name IS NOT NULL
    ON CONFLICT DO UPDATE SET at = max(at, excluded.at);
END;
-- Retention deletes the oldest sessions first: whose last one goes is forgotten.
CREATE TRIGGER sessions_forgotten AFTER DELETE ON sessions
BEGIN
  DELETE FROM last_seen
    WHERE server_id = OLD.server_id AND at <= OLD.ended_at
      AND (kind, name) IN (VALUES ('user', OLD.user), ('host', OLD.host));
END;
