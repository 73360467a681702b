-- A manager may print a holder without a name.
ALTER TABLE sessions ALTER COLUMN user DROP NOT NULL;

-- The unit of a feature's counts, and the seat group that it shares with others of its server (null = none).
ALTER TABLE history_features ADD COLUMN unit TEXT NOT NULL DEFAULT 'seats';
ALTER TABLE history_features ADD COLUMN seat_group TEXT;
-- The sums of the site's days are made again where a feature turns out to be counted otherwise.
CREATE TRIGGER history_features_counted AFTER UPDATE OF unit, seat_group ON history_features
  WHEN NEW.unit <> OLD.unit OR NEW.seat_group IS NOT OLD.seat_group
BEGIN
  DELETE FROM site_days;
END;
