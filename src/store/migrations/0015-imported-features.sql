-- Features that only imported logs tell of are features too: whoever asks for one by its name is told what is known.
INSERT OR IGNORE INTO history_features (server_id, daemon, name)
  SELECT DISTINCT server_id, daemon, feature FROM sessions WHERE id < 0;
INSERT OR IGNORE INTO history_features (server_id, daemon, name)
  SELECT DISTINCT server_id, daemon, feature FROM sessions WHERE id IN (SELECT session_id FROM imported_sessions);
INSERT OR IGNORE INTO history_features (server_id, daemon, name)
  SELECT DISTINCT server_id, daemon, feature FROM denials WHERE feature <> '';
