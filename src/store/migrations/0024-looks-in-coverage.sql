-- How many good readings a stretch of coverage holds; null for those that began before they were counted.
ALTER TABLE coverage ADD COLUMN looks INTEGER;
