import type { HistoryRead } from "../history/read.ts";

/** Names that the stored history knows. */
export interface KnownNames {
  readonly daemons: ReadonlySet<string>;
  readonly features: ReadonlySet<string>;
}

/**
 * Every daemon and feature of counts, sessions and denials. Sessions are stepped through by their index, one look a
 * feature: there may be millions.
 */
export function knownNames(read: Pick<HistoryRead, "all" | "checkpoint">): KnownNames {
  const daemons = new Set<string>();
  const features = new Set<string>();
  const note = ({ daemon, feature }: { readonly daemon: string; readonly feature: string }) => {
    if (daemon !== "") daemons.add(daemon);
    if (feature !== "") features.add(feature);
  };
  const tables = [
    "SELECT daemon, name AS feature FROM history_features",
    "SELECT DISTINCT daemon, feature FROM denials",
    "SELECT DISTINCT daemon, feature FROM sessions WHERE ended_at IS NULL",
  ];
  for (const sql of tables) read.all<Identity>(sql).forEach(note);
  let last: Identity | undefined;
  do {
    read.checkpoint();
    [last] = read.all<Identity>(
      `SELECT server_id AS server, daemon, feature FROM sessions INDEXED BY sessions_by_feature
       WHERE ended_at IS NOT NULL AND (server_id, daemon, feature) > (?, ?, ?)
       ORDER BY server_id, daemon, feature LIMIT 1`,
      ...[last?.server ?? "", last?.daemon ?? "", last?.feature ?? ""],
    );
    if (last !== undefined) note(last);
  } while (last !== undefined);
  return { daemons, features };
}

interface Identity {
  readonly server: string;
  readonly daemon: string;
  readonly feature: string;
}
