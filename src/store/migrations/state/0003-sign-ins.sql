-- Signed-in browsers. `token_hash` is the SHA-256 of the cookie's secret. `key_id` is the id of a key, or of a socket
-- whose caller made the link; `role` null means the key's. `expires_at` null means that only idle time ends it.
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
