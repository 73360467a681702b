-- Secrets of this installation, created once and readable by everyone who can read the database.
CREATE TABLE secrets (
  name TEXT PRIMARY KEY NOT NULL,
  value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
