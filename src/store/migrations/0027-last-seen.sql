-- When users and hosts were last seen, by server, as far as the packed days of the second table say.
CREATE TABLE last_seen (
  id INTEGER PRIMARY KEY NOT NULL CHECK (id = 1),
  data BLOB NOT NULL
) STRICT;
CREATE TABLE last_seen_days (day INTEGER PRIMARY KEY NOT NULL) STRICT;

CREATE TRIGGER session_days_open_last_seen AFTER DELETE ON session_days
BEGIN
  DELETE FROM last_seen_days WHERE day = OLD.day;
END;
