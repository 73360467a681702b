-- One table of derived days, and one mark for those that must be made again.
DROP TRIGGER denials_open_history;
DROP TRIGGER denials_reopen_history;
DROP TRIGGER history_opens_day;
DROP TRIGGER history_reopens_day;
DROP TRIGGER sessions_open_day;
DROP TRIGGER sessions_reopen_day;
DROP TRIGGER history_features_counted;

-- `key` is (kind × 2^26 + day) × 2^24 + feature: with columns of their own the table would be 1.7 times as large. The
-- days of samples, most of the data, keep their keys and are not copied.
ALTER TABLE sample_days RENAME TO packed_days;
ALTER TABLE packed_days ADD COLUMN kind TEXT
  AS (CASE key >> 50 WHEN 0 THEN 'samples' WHEN 1 THEN 'hours' WHEN 2 THEN 'rollups' WHEN 3 THEN 'held' ELSE 'site' END);
ALTER TABLE packed_days ADD COLUMN day INTEGER AS (key >> 24 & 67108863);
-- 0 in the days of all features together: `held` and `site`.
ALTER TABLE packed_days ADD COLUMN feature_id INTEGER AS (key & 16777215);
INSERT INTO packed_days (key, data) SELECT (1 << 50) + key, data FROM rollup_hours ORDER BY key;
INSERT INTO packed_days (key, data) SELECT (2 << 50) + key, data FROM rollup_days ORDER BY key;
INSERT INTO packed_days (key, data)
  SELECT (3 << 50) + (day << 24), data FROM session_days WHERE data IS NOT NULL ORDER BY day;
INSERT INTO packed_days (key, data)
  SELECT (4 << 50) + (day << 24), data FROM site_days WHERE data IS NOT NULL ORDER BY day;

-- Hours and days, by their start, whose packed rows of a kind are missing or outdated. `hub` marks days whose packed
-- rows the hub must get, `hub_rows` days whose other rows it must get, too; -86400000 stands for rows without a day.
-- `touched` is 0 while the rows are made, unless they change meanwhile.
CREATE TABLE dirty (
  kind TEXT NOT NULL,
  at INTEGER NOT NULL,
  touched INTEGER NOT NULL,
  PRIMARY KEY (kind, at)
) STRICT, WITHOUT ROWID;
INSERT INTO dirty SELECT iif(span = 3600000, 'hours', 'rollups'), at, 1 FROM history_open;
INSERT INTO dirty SELECT DISTINCT 'site', at / 86400000 * 86400000, 1 FROM history_open;
INSERT INTO dirty SELECT 'hub', day * 86400000, 1 FROM fleet_days;
INSERT INTO dirty SELECT 'hub_rows', day * 86400000, 1 FROM fleet_days WHERE whole = 1;
WITH RECURSIVE days (day) AS (
  SELECT (SELECT min(key) >> 24 FROM packed_days WHERE key < 1 << 50) UNION ALL SELECT day + 1 FROM days WHERE day < unixepoch() / 86400
)
INSERT OR IGNORE INTO dirty SELECT 'site', day * 86400000, 1 FROM days
  WHERE day IS NOT NULL AND day NOT IN (SELECT day FROM site_days WHERE data IS NOT NULL);
WITH RECURSIVE days (day) AS (
  SELECT max((SELECT min(first_seen_at) FROM sessions) / 86400000,
    ifnull((SELECT value + 86399999 FROM event_marks WHERE name = 'deleted_sessions'), 0) / 86400000)
  UNION ALL SELECT day + 1 FROM days WHERE day < unixepoch() / 86400
)
INSERT INTO dirty SELECT 'held', day * 86400000, 1 FROM days
  WHERE day IS NOT NULL AND day NOT IN (SELECT day FROM session_days WHERE data IS NOT NULL);

DROP TABLE rollup_hours;
DROP TABLE rollup_days;
DROP TABLE session_days;
DROP TABLE site_days;
DROP TABLE history_open;
DROP TABLE fleet_days;

CREATE TRIGGER denials_added AFTER INSERT ON denials
BEGIN
  INSERT INTO dirty VALUES ('hours', NEW.at / 3600000 * 3600000, 1), ('rollups', NEW.at / 86400000 * 86400000, 1)
    ON CONFLICT DO UPDATE SET touched = 1 WHERE touched = 0;
END;
CREATE TRIGGER denials_changed AFTER UPDATE OF at, outcome ON denials
  WHEN NEW.at <> OLD.at OR NEW.outcome <> OLD.outcome
BEGIN
  INSERT INTO dirty VALUES ('hours', NEW.at / 3600000 * 3600000, 1), ('rollups', NEW.at / 86400000 * 86400000, 1),
      ('hours', OLD.at / 3600000 * 3600000, 1), ('rollups', OLD.at / 86400000 * 86400000, 1)
    ON CONFLICT DO UPDATE SET touched = 1 WHERE touched = 0;
END;

CREATE TRIGGER sessions_added AFTER INSERT ON sessions
BEGIN
  INSERT INTO dirty VALUES ('held', NEW.first_seen_at / 86400000 * 86400000, 1)
    ON CONFLICT DO UPDATE SET touched = 1 WHERE touched = 0;
END;
-- New sessions begin after all packed days, which is checked first.
CREATE TRIGGER sessions_added_late AFTER INSERT ON sessions
  WHEN (3 << 50) + (NEW.first_seen_at / 86400000 << 24) <= (SELECT max(key) FROM packed_days WHERE key < 4 << 50)
BEGIN
  INSERT INTO dirty SELECT 'held', day * 86400000, 1 FROM packed_days
    WHERE key >= (3 << 50) + (NEW.first_seen_at / 86400000 << 24)
      AND key < iif(NEW.ended_at IS NULL, 4 << 50,
        (3 << 50) + (max(NEW.ended_at, NEW.first_seen_at) / 86400000 + 1 << 24))
    ON CONFLICT DO UPDATE SET touched = 1 WHERE touched = 0;
END;
-- A session that was open when a day was packed held its seats for the rest of the day, which a later end does not
-- change.
CREATE TRIGGER sessions_changed AFTER UPDATE ON sessions
  WHEN (3 << 50) + (min(OLD.first_seen_at, NEW.first_seen_at) / 86400000 << 24)
    <= (SELECT max(key) FROM packed_days WHERE key < 4 << 50)
BEGIN
  INSERT INTO dirty SELECT 'held', day * 86400000, 1 FROM packed_days
    WHERE key >= (3 << 50) + (iif(
        NEW.count <> OLD.count OR NEW.first_seen_at <> OLD.first_seen_at OR OLD.ended_at IS NOT NULL,
        min(OLD.first_seen_at, NEW.first_seen_at),
        min(NEW.ended_at, iif(NEW.end_reason IS 'checkin', NEW.ended_at, NEW.last_seen_at))) / 86400000 << 24)
      AND key < iif(OLD.ended_at IS NULL OR NEW.ended_at IS NULL, 4 << 50,
        (3 << 50) + (max(OLD.ended_at, NEW.ended_at, OLD.first_seen_at, NEW.first_seen_at) / 86400000 + 1 << 24))
    ON CONFLICT DO UPDATE SET touched = 1 WHERE touched = 0;
END;

-- Another unit changes the sums of all days.
CREATE TRIGGER history_features_counted AFTER UPDATE OF unit, seat_group ON history_features
  WHEN NEW.unit <> OLD.unit OR NEW.seat_group IS NOT OLD.seat_group
BEGIN
  INSERT INTO dirty SELECT 'site', day * 86400000, 1 FROM packed_days WHERE key >= 4 << 50
    ON CONFLICT DO UPDATE SET touched = 1 WHERE touched = 0;
END;
