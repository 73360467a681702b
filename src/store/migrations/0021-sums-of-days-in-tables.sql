-- What sessions held, by UTC days (days since 1970-01-01): instead of packed days, which are made again in the background.
DROP TRIGGER sessions_open_day;
DROP TRIGGER sessions_reopen_day;
DROP TABLE session_days;
DROP TABLE session_names;
DROP TABLE session_features;

-- Small ids of the names in `session_days`: of users, hosts, daemons and servers, and of features.
CREATE TABLE session_names (
  id INTEGER PRIMARY KEY NOT NULL,
  name TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE session_features (
  id INTEGER PRIMARY KEY NOT NULL,
  server_id TEXT NOT NULL,
  daemon TEXT NOT NULL,
  name TEXT NOT NULL,
  UNIQUE (server_id, daemon, name)
) STRICT;

-- Whose sums and peaks are there as the sessions have it: `made` is 0 while they are made. What changes a day's sessions
-- deletes its row.
CREATE TABLE session_days_made (
  day INTEGER PRIMARY KEY NOT NULL,
  made INTEGER NOT NULL
) STRICT;

-- Who held seats of what on the day, and on which host; host 0 = the tool printed none.
CREATE TABLE session_days (
  day INTEGER NOT NULL,
  feature INTEGER NOT NULL,
  user INTEGER NOT NULL,
  host INTEGER NOT NULL,
  PRIMARY KEY (day, feature, user, host)
) STRICT, WITHOUT ROWID;

-- The sums of the day by one key of usage each (`user`, `host`, `feature`, `daemon`, `server`); `name` is the id of a name
-- or of a feature. Hours and sessions add up over days, of the sessions those that were `begun` on the day; peaks do not
-- add up over names, so that there is a row for each key. Hosts that differ in case are one.
CREATE TABLE session_sums (
  day INTEGER NOT NULL,
  key TEXT NOT NULL,
  name INTEGER NOT NULL,
  seat_ms INTEGER NOT NULL,
  sessions INTEGER NOT NULL,
  begun INTEGER NOT NULL,
  peak INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  PRIMARY KEY (day, key, name)
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
