-- What answers over long ranges are made of, one row a UTC day (days since 1970-01-01). Each can be made again from the
-- other tables; `data` is null while that is done. Whatever changes a day's sources deletes its row.

-- The sessions that ended on the day, packed in the order of time.
CREATE TABLE session_days (
  day INTEGER PRIMARY KEY NOT NULL,
  data BLOB
) STRICT;

-- All features of all servers laid together, by quarters of an hour.
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

-- A session learnt late (imported, or ended at an earlier time) has its day packed again. Retention deletes whole days.
-- What ends now lies behind all days that are packed: that is looked at first.
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

-- Hours that are to be packed again change what the site had then.
CREATE TRIGGER history_opens_day AFTER INSERT ON history_open
BEGIN
  DELETE FROM site_days WHERE day = NEW.at / 86400000;
END;
CREATE TRIGGER history_reopens_day AFTER UPDATE ON history_open
BEGIN
  DELETE FROM site_days WHERE day = NEW.at / 86400000;
END;
