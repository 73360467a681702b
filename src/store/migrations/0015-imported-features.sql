-- Features known only from imported logs are features too, so that they can be requested by name.
INSERT OR IGNORE INTO history_features (server_id, daemon, name)
  SELECT DISTINCT server_id, daemon, feature FROM sessions WHERE id < 0;
INSERT OR IGNORE INTO history_features (server_id, daemon, name)
  SELECT DISTINCT server_id, daemon, feature FROM sessions WHERE id IN (SELECT session_id FROM imported_sessions);
INSERT OR IGNORE INTO history_features (server_id, daemon, name)
  SELECT DISTINCT server_id, daemon, feature FROM denials WHERE feature <> '';
