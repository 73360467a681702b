import type { FeatureId } from "../domain/history.ts";
import { featureKey } from "../domain/polls/feature-picture.ts";
import type { Rows } from "../store/denial-queries.ts";

/** Denials of a feature in [start, end), epoch ms; null where nobody could see them, as in what is still to come. */
export type CountDenials = (feature: FeatureId, start: number, end: number) => number | null;

/** Ranges remembered at once: a question about a whole site has two, its first and its last part of an hour. */
const MAX_RANGES = 64;

/**
 * Counts denials for rollups, one question a range for all servers: they lie side by side in the index by time. Counted
 * is what stayed denied, as the alert rule does: "how many seats were missing" is asked, and a seat that another pool
 * gave a second later was none. A user who tried again counts once; where the manager counts denials and names no
 * feature, no feature's are known.
 */
export function createDenialCounts(rows: Rows, now: number): CountDenials {
  const ranges = new Map<string, OfRange>();
  let counters: ReadonlySet<string> | null = null;

  /** Servers whose manager counts denials and names no feature. */
  function countersOnly(): ReadonlySet<string> {
    counters ??= new Set(
      rows
        .all<{ server: string }>(
          "SELECT server_id AS server FROM denial_cursors WHERE json_extract(cursor, '$.kind') = 'counters'",
        )
        .map(({ server }) => server),
    );
    return counters;
  }

  function ofRange(start: number, end: number): OfRange {
    const key = `${start} ${end}`;
    const known = ranges.get(key);
    if (known !== undefined) return known;
    const seen = rows.all<{ server: string }>(
      "SELECT DISTINCT server_id AS server FROM denial_spans WHERE from_at < ? AND coalesce(to_at, ?) > ?",
      ...([end, now, start] as const),
    );
    const counted = rows.all<{ server: string; daemon: string; feature: string; denials: number }>(
      `SELECT server_id AS server, daemon, feature, count(*) AS denials FROM denials INDEXED BY denials_by_time
       WHERE at >= ? AND at < ? AND outcome = 'denied' AND feature <> '' GROUP BY server_id, daemon, feature`,
      ...([start, end] as const),
    );
    const found: OfRange = {
      seen: new Set(seen.map(({ server }) => server).filter((server) => !countersOnly().has(server))),
      counts: new Map(
        counted.map(({ server, daemon, feature, denials }) => [keyOf(server, daemon, feature), denials]),
      ),
    };
    if (ranges.size >= MAX_RANGES) ranges.clear();
    ranges.set(key, found);
    return found;
  }

  return ({ server, daemon, feature }, start, end) => {
    const { seen, counts } = ofRange(start, end);
    return seen.has(server) ? (counts.get(keyOf(server, daemon, feature)) ?? 0) : null;
  };
}

interface OfRange {
  readonly seen: ReadonlySet<string>;
  readonly counts: ReadonlyMap<string, number>;
}

function keyOf(server: string, daemon: string, feature: string): string {
  return `${server}\0${featureKey(daemon, feature)}`;
}
