-- Every license server that was ever configured: history outlives the config.
CREATE TABLE servers (
  id TEXT PRIMARY KEY NOT NULL,
  manager TEXT NOT NULL,
  address TEXT NOT NULL,
  name TEXT NOT NULL,
  first_seen INTEGER NOT NULL,
  last_configured INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The last picture of each server. `head` is JSON: all but the features, and the hashes of the parts that hold these.
CREATE TABLE pictures (
  server_id TEXT PRIMARY KEY NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
  saved_at INTEGER NOT NULL,
  head TEXT NOT NULL
) STRICT;

-- Runs of a picture's rows, named by their content, so that what did not change is not written again.
CREATE TABLE picture_parts (
  server_id TEXT NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
  hash TEXT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (server_id, hash)
) STRICT;

-- Client hosts learnt from each server's output, as a JSON array.
CREATE TABLE known_hosts (
  server_id TEXT PRIMARY KEY NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
  hosts TEXT NOT NULL
) STRICT;
