-- What sessions held, by UTC days (days since 1970-01-01): instead of packed days. The sums are made in the background.
DROP TRIGGER sessions_open_day;
DROP TRIGGER sessions_reopen_day;
DROP TABLE session_days;
DROP TABLE session_names;
DROP TABLE session_features;

-- The days whose sums agree with the sessions: `made` is 0 while the sums are made. A change of a day's sessions deletes
-- its row.
CREATE TABLE session_days_made (
  day INTEGER PRIMARY KEY NOT NULL,
  made INTEGER NOT NULL
) STRICT;

-- What was held on a day. `key` is the name that a row sums up (`user`, `host`, `feature`, `daemon`, `server`; a feature has
-- its server and its daemon too), and the other names are empty. Hours and sessions add up over days, of the sessions
-- those that were `begun` on the day. Peaks do not add up over names, so that each key has rows of its own, and neither do
-- distinct users: the rows whose key is empty have all five names. An empty host is one that the tool did not print; hosts
-- that differ in case are one.
CREATE TABLE usage_days (
  day INTEGER NOT NULL,
  key TEXT NOT NULL,
  feature TEXT NOT NULL,
  server_id TEXT NOT NULL,
  daemon TEXT NOT NULL,
  user TEXT NOT NULL,
  host TEXT NOT NULL,
  seat_ms INTEGER NOT NULL,
  sessions INTEGER NOT NULL,
  begun INTEGER NOT NULL,
  peak INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  PRIMARY KEY (day, key, feature, server_id, daemon, user, host)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER sessions_open_day AFTER INSERT ON sessions
  WHEN NEW.first_seen_at / 86400000 <= (SELECT max(day) FROM session_days_made)
BEGIN
  DELETE FROM session_days_made WHERE day >= NEW.first_seen_at / 86400000
    AND (NEW.ended_at IS NULL OR day <= max(NEW.ended_at, NEW.first_seen_at) / 86400000);
END;
-- A session that was open when a day was made held its seats to the end of the day: that stays so where it ends later.
CREATE TRIGGER sessions_reopen_day AFTER UPDATE ON sessions
  WHEN min(OLD.first_seen_at, NEW.first_seen_at) / 86400000 <= (SELECT max(day) FROM session_days_made)
    AND (NEW.count <> OLD.count OR NEW.first_seen_at <> OLD.first_seen_at OR OLD.ended_at IS NOT NULL
      OR min(NEW.ended_at, iif(NEW.end_reason IS 'checkin', NEW.ended_at, NEW.last_seen_at)) / 86400000
        <= (SELECT max(day) FROM session_days_made))
BEGIN
  DELETE FROM session_days_made WHERE day >= min(OLD.first_seen_at, NEW.first_seen_at) / 86400000
    AND (OLD.ended_at IS NULL OR NEW.ended_at IS NULL
      OR day <= max(OLD.ended_at, NEW.ended_at, OLD.first_seen_at, NEW.first_seen_at) / 86400000);
END;
