-- Sums for answers over long ranges, one row per UTC day (days since 1970-01-01). They can be rebuilt from other
-- tables; `data` is null meanwhile. Any change of a day's sources deletes its row.

-- Sessions that ended on the day, packed in time order.
CREATE TABLE session_days (
  day INTEGER PRIMARY KEY NOT NULL,
  data BLOB
) STRICT;

-- Sums over all features of all servers, by 15 minutes.
CREATE TABLE site_days (
  day INTEGER PRIMARY KEY NOT NULL,
  data BLOB
) STRICT;

-- Small ids of the names in `session_days`: of users and of hosts (in lower case), and of features of a server.
CREATE TABLE session_names (
  id INTEGER PRIMARY KEY NOT NULL,
  name TEXT NOT NULL
) STRICT;
CREATE TABLE session_features (
  id INTEGER PRIMARY KEY NOT NULL,
  server_id TEXT NOT NULL,
  name TEXT NOT NULL
) STRICT;

-- A session imported later, or given an earlier end, has its day packed again. Retention deletes whole days. Sessions
-- that end now are after all packed days, which is checked first.
CREATE TRIGGER sessions_open_day AFTER INSERT ON sessions
  WHEN NEW.ended_at / 86400000 <= (SELECT max(day) FROM session_days)
BEGIN
  DELETE FROM session_days WHERE day = NEW.ended_at / 86400000;
END;
CREATE TRIGGER sessions_reopen_day AFTER UPDATE ON sessions
  WHEN min(ifnull(NEW.ended_at, OLD.ended_at), ifnull(OLD.ended_at, NEW.ended_at)) / 86400000
    <= (SELECT max(day) FROM session_days)
BEGIN
  DELETE FROM session_days WHERE day IN (NEW.ended_at / 86400000, OLD.ended_at / 86400000);
END;

-- Hours that must be packed again invalidate the site's day.
CREATE TRIGGER history_opens_day AFTER INSERT ON history_open
BEGIN
  DELETE FROM site_days WHERE day = NEW.at / 86400000;
END;
CREATE TRIGGER history_reopens_day AFTER UPDATE ON history_open
BEGIN
  DELETE FROM site_days WHERE day = NEW.at / 86400000;
END;
