-- Seats held by sessions on each UTC day (days since 1970-01-01), in a new packed form: rebuilt in the background.
DROP TRIGGER sessions_open_day;
DROP TRIGGER sessions_reopen_day;
DELETE FROM session_days;
DROP TABLE session_names;
DROP TABLE session_features;

-- Seats held of each feature on a day whose row in `session_days` has data.
CREATE TABLE held_days (
  day INTEGER NOT NULL,
  server_id TEXT NOT NULL,
  daemon TEXT NOT NULL,
  feature TEXT NOT NULL,
  seat_ms INTEGER NOT NULL,
  PRIMARY KEY (day, server_id, daemon, feature)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER sessions_open_day AFTER INSERT ON sessions
  WHEN NEW.first_seen_at / 86400000 <= (SELECT max(day) FROM session_days)
BEGIN
  DELETE FROM session_days WHERE day >= NEW.first_seen_at / 86400000
    AND (NEW.ended_at IS NULL OR day <= max(NEW.ended_at, NEW.first_seen_at) / 86400000);
END;
-- A session that was open when a day was packed held its seats for the rest of the day, which a later end does not
-- change.
CREATE TRIGGER sessions_reopen_day AFTER UPDATE ON sessions
  WHEN min(OLD.first_seen_at, NEW.first_seen_at) / 86400000 <= (SELECT max(day) FROM session_days)
    AND (NEW.count <> OLD.count OR NEW.first_seen_at <> OLD.first_seen_at OR OLD.ended_at IS NOT NULL
      OR min(NEW.ended_at, iif(NEW.end_reason IS 'checkin', NEW.ended_at, NEW.last_seen_at)) / 86400000
        <= (SELECT max(day) FROM session_days))
BEGIN
  DELETE FROM session_days WHERE day >= min(OLD.first_seen_at, NEW.first_seen_at) / 86400000
    AND (OLD.ended_at IS NULL OR NEW.ended_at IS NULL
      OR day <= max(OLD.ended_at, NEW.ended_at, OLD.first_seen_at, NEW.first_seen_at) / 86400000);
END;
