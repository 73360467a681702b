-- A feature is a name of one daemon of one server. Hosts keep the case in which the tool printed them, and a session
-- counts from the reading that first had it. The packed days are made again from the sessions.
DELETE FROM session_days;
DELETE FROM session_names;
DROP TABLE session_features;
CREATE TABLE session_features (
  id INTEGER PRIMARY KEY NOT NULL,
  server_id TEXT NOT NULL,
  daemon TEXT NOT NULL,
  name TEXT NOT NULL
) STRICT;
