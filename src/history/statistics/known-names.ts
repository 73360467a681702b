import type { Rows } from "../../store/denial-queries.ts";

/** The next session in the order of the index, by where it differs from a known one. */
const next = (where: string) =>
  `(SELECT id FROM sessions INDEXED BY sessions_by_feature WHERE ended_at IS NOT NULL AND ${where}
    ORDER BY server_id, daemon, feature LIMIT 1)`;
/**
 * Every daemon and feature of counts, sessions and denials. Sessions are stepped through by their index, one look a
 * feature: there may be millions. A comparison of all three names at once would read every row of the last one.
 */
const EVERY_NAME = `WITH RECURSIVE ended (server, daemon, feature) AS (
    SELECT '', '', ''
    UNION ALL
    SELECT sessions.server_id, sessions.daemon, sessions.feature FROM ended JOIN sessions ON sessions.id = coalesce(
      ${next("server_id = ended.server AND daemon = ended.daemon AND feature > ended.feature")},
      ${next("server_id = ended.server AND daemon > ended.daemon")},
      ${next("server_id > ended.server")}))
  SELECT daemon, feature FROM ended
  UNION SELECT daemon, feature FROM sessions WHERE ended_at IS NULL
  UNION SELECT daemon, feature FROM denials
  UNION SELECT daemon, name FROM history_features`;

export function knownNames({ all }: Rows) {
  const rows = all<{ daemon: string; feature: string }>(EVERY_NAME);
  const set = (names: readonly string[]) => new Set(names.filter((name) => name !== ""));
  return {
    daemons: set(rows.map(({ daemon }) => daemon)),
    features: set(rows.map(({ feature }) => feature)),
  };
}
