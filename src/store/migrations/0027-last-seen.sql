-- When users and hosts were last seen, by server, as far as the packed days say that are marked with `seen`.
CREATE TABLE last_seen (
  id INTEGER PRIMARY KEY NOT NULL CHECK (id = 1),
  data BLOB NOT NULL
) STRICT;

-- A day that is packed again begins with 0.
ALTER TABLE session_days ADD COLUMN seen INTEGER NOT NULL DEFAULT 0;
