-- Unrecognized lines of each server's output, one row per change. Like samples, they hold within the coverage in
-- which they were read, which begins with one.
CREATE TABLE unparsed_counts (
  server_id TEXT NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
  at INTEGER NOT NULL,
  lines INTEGER NOT NULL,
  PRIMARY KEY (server_id, at)
) STRICT, WITHOUT ROWID;

-- Use of the storage file system, from the first to the last check with the same percentage (rounded down). Times
-- without checks have no row.
CREATE TABLE disk_fill (
  from_at INTEGER PRIMARY KEY NOT NULL,
  seen_at INTEGER NOT NULL,
  percent INTEGER NOT NULL
) STRICT;
