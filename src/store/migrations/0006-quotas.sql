-- Requests of each key in its last UTC day and month, by the starts of these. No reference to api_keys: one key that
-- is gone must not keep the counts of the others from being written.
CREATE TABLE quota_counts (
  key_id TEXT PRIMARY KEY NOT NULL,
  day_at INTEGER NOT NULL,
  day_count INTEGER NOT NULL,
  month_at INTEGER NOT NULL,
  month_count INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
