-- Sessions that began or ended by a clock that was doubted, and by how much, ms. See `Session.doubtMs`.
ALTER TABLE sessions ADD COLUMN doubt_ms INTEGER;
CREATE INDEX sessions_doubted ON sessions (id) WHERE doubt_ms IS NOT NULL;

-- A start days after the first sight proves that the clock was behind then: such a session counts from its start. A hub
-- gets the session again.
INSERT INTO fleet_outbox (kind, key) SELECT 'c', id FROM sessions
  WHERE started_at - first_seen_at > 86400000 AND (ended_at IS NULL OR ended_at >= started_at)
    AND EXISTS (SELECT 1 FROM fleet_marks);
UPDATE sessions SET first_seen_at = started_at, began_at = started_at, last_seen_at = max(last_seen_at, started_at)
  WHERE started_at - first_seen_at > 86400000 AND (ended_at IS NULL OR ended_at >= started_at);
