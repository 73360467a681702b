-- Keys and secrets are in state.db: they were moved there before this step. When a key was last used stays here.
CREATE TABLE key_uses (
  key_id TEXT PRIMARY KEY NOT NULL,
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO key_uses SELECT id, last_used_at FROM api_keys WHERE last_used_at IS NOT NULL;
DROP TABLE api_keys;
DROP TABLE secrets;
DELETE FROM event_marks WHERE name IN ('reserved', 'keys_told', 'changes');
