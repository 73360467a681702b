import type { Rows } from "../../store/denial-queries.ts";
import type { HistorySource } from "../source.ts";

/** Names that the stored history knows. */
export interface KnownNames {
  readonly daemons: ReadonlySet<string>;
  readonly features: ReadonlySet<string>;
}

/**
 * Every daemon and feature of counts, sessions and denials. Sessions are stepped through by their index, one look a
 * feature: there may be millions.
 */
export function knownNames(read: Rows & Pick<HistorySource, "checkpoint">): KnownNames {
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
  let last: Identity | undefined = NOTHING;
  while (last !== undefined) {
    read.checkpoint();
    if (last !== NOTHING) note(last);
    last = nextIdentity(read, last);
  }
  return { daemons, features };
}

const NOTHING: Identity = { server: "", daemon: "", feature: "" };

/** The next one in the order of the index. A comparison of all three at once would read every row of the last one. */
function nextIdentity(read: Rows, last: Identity): Identity | undefined {
  const { server, daemon, feature } = last;
  const next = (where: string, ...values: string[]) =>
    read.all<Identity>(
      `SELECT server_id AS server, daemon, feature FROM sessions INDEXED BY sessions_by_feature
       WHERE ended_at IS NOT NULL AND ${where} ORDER BY server_id, daemon, feature LIMIT 1`,
      ...values,
    )[0];
  return (
    next("server_id = ? AND daemon = ? AND feature > ?", server, daemon, feature) ??
    next("server_id = ? AND daemon > ?", server, daemon) ??
    next("server_id > ?", server)
  );
}

interface Identity {
  readonly server: string;
  readonly daemon: string;
  readonly feature: string;
}
