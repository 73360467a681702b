-- Lines of each server's output that no rule knew, one row a change; like samples they hold within the coverage in
-- which they were read, which begins with one.
CREATE TABLE unparsed_counts (
  server_id TEXT NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
  at INTEGER NOT NULL,
  lines INTEGER NOT NULL,
  PRIMARY KEY (server_id, at)
) STRICT, WITHOUT ROWID;

-- How full the storage's file system was seen, from the first look to the last that saw as many whole percent
-- (rounded down). No row covers time in which nobody looked.
CREATE TABLE disk_fill (
  from_at INTEGER PRIMARY KEY NOT NULL,
  seen_at INTEGER NOT NULL,
  percent INTEGER NOT NULL
) STRICT;
