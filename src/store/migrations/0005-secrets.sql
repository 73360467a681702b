-- Secrets of this installation, made once: whoever has the database has them.
CREATE TABLE secrets (
  name TEXT PRIMARY KEY NOT NULL,
  value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
