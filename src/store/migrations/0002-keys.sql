-- API keys. `secret_hash` is the SHA-256 of the secret. Revoked keys stay, so that their owners get a clear answer.
CREATE TABLE api_keys (
  id TEXT PRIMARY KEY NOT NULL,
  name TEXT NOT NULL,
  role TEXT NOT NULL,
  secret_hash BLOB NOT NULL,
  anonymize INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER,
  last_used_at INTEGER,
  daily_quota INTEGER,
  monthly_quota INTEGER,
  requests_per_minute INTEGER,
  CHECK (length(secret_hash) = 32)
) STRICT, WITHOUT ROWID;

CREATE INDEX api_keys_by_name ON api_keys (name);
