-- The days of the site hold when each feature was full, too. They are made again in the background.
DELETE FROM site_days;
