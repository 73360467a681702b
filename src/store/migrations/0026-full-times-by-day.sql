-- When each feature was full on the days in `site_days`, packed. Those days are made again in the background.
ALTER TABLE site_days ADD COLUMN full_times BLOB;
DELETE FROM site_days;
