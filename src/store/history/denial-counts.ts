import { featureKey } from "../../domain/merge-blocks.ts";
import type { Rows } from "../denial-queries.ts";
import type { KnownFeature } from "./read.ts";

/** Denials of a feature in [start, end), epoch ms; null where nobody could see them. */
export type CountDenials = (feature: KnownFeature, start: number, end: number) => number | null;

/**
 * Counts denials for rollups, one question a server and range. Counted is what stayed denied, as the alert rule does:
 * "how many seats were missing" is asked, and a seat that another pool gave a second later was none. A user who tried
 * again counts once; where the manager counts denials and names no feature, no feature's are known.
 */
export function createDenialCounts(rows: Rows): CountDenials {
  let last: {
    readonly server: string;
    readonly start: number;
    readonly end: number;
    readonly counts: ReadonlyMap<string, number> | null;
  } | null = null;

  function count(server: string, start: number, end: number): ReadonlyMap<string, number> | null {
    const seen = rows.all(
      "SELECT 1 FROM denial_spans WHERE server_id = ? AND from_at < ? AND coalesce(to_at, ?) > ? LIMIT 1",
      ...([server, end, end, start] as const),
    );
    if (seen.length === 0) return null;
    const [cursor] = rows.all<{ kind: string | null }>(
      "SELECT json_extract(cursor, '$.kind') AS kind FROM denial_cursors WHERE server_id = ?",
      server,
    );
    if (cursor?.kind === "counters") return null;
    const counted = rows.all<{ daemon: string; feature: string; denials: number }>(
      `SELECT daemon, feature, count(*) AS denials FROM denials INDEXED BY denials_by_time
       WHERE at >= ? AND at < ? AND server_id = ? AND outcome = 'denied' AND feature <> '' GROUP BY daemon, feature`,
      ...([start, end, server] as const),
    );
    return new Map(counted.map(({ daemon, feature, denials }) => [featureKey(daemon, feature), denials]));
  }

  return ({ server, daemon, feature }, start, end) => {
    if (last === null || last.server !== server || last.start !== start || last.end !== end) {
      last = { server, start, end, counts: count(server, start, end) };
    }
    return last.counts === null ? null : (last.counts.get(featureKey(daemon, feature)) ?? 0);
  };
}
