-- Browsers that are signed in. `token_hash` is SHA-256 of what the cookie proves itself with. `key_id` is a key's id, or that
-- of a socket whose caller made the link; `role` is null where it is the key's. `expires_at` null = when it is idle too long.
CREATE TABLE sign_ins (
  id TEXT PRIMARY KEY NOT NULL,
  token_hash BLOB NOT NULL,
  key_id TEXT NOT NULL,
  role TEXT,
  stay INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER NOT NULL,
  expires_at INTEGER,
  browser TEXT,
  CHECK (length(token_hash) = 32)
) STRICT, WITHOUT ROWID;
