import { type FeatureId, featureIdKey } from "../domain/history.ts";
import type { UnmetRequest } from "../domain/stats/demand.ts";
import { NO_SEAT_CODES } from "../domain/words.ts";
import type { Rows } from "../store/conditions.ts";

/**
 * Caches the answers of `ask` by range, because a query about a whole site needs the same answer for
 * thousands of features.
 */
export function oncePerRange<Answer>(ask: (start: number, end: number) => Answer) {
  const answers = new Map<string, Answer>();
  return (start: number, end: number): Answer =>
    answers.getOrInsertComputed(`${start} ${end}`, () => ask(start, end));
}

/** `from` is a table with a condition whose parameters are the start and end of a range. */
export function createFeatureCounts({ all }: Rows, from: string, count = "count(*)") {
  const countsIn = oncePerRange((start, end) => {
    const sql = `SELECT server_id AS server, daemon, feature, ${count} AS count FROM ${from} GROUP BY 1, 2, 3`;
    const rows = all<FeatureId & { readonly count: number }>(sql, start, end);
    return new Map(rows.map((row) => [featureIdKey(row), row.count]));
  });
  return (feature: FeatureId, start: number, end: number): number =>
    countsIn(start, end).get(featureIdKey(feature)) ?? 0;
}

/** Maximum number of lookups that count a single feature; after that, all features are counted at once. */
const FEW = 8;

/** Retries count once. If the manager reports only a counter, every request counts. */
const REQUESTS = "sum(iif(user = '' AND host IS NULL, attempts, 1))";

export function createOutcomeCounts(rows: Rows, outcome: "denied" | "queued") {
  const where = `at >= ?1 AND at < ?2 AND outcome = '${outcome}'`;
  const ofAll = createFeatureCounts(rows, `denials INDEXED BY denials_by_time WHERE ${where}`, REQUESTS);
  let asked = 0;
  return (of: FeatureId, start: number, end: number): number => {
    if (++asked > FEW) return ofAll(of, start, end);
    const [row] = rows.all<{ count: number | null }>(
      `SELECT ${REQUESTS} AS count FROM denials INDEXED BY denials_by_feature
       WHERE feature = ?3 AND server_id = ?4 AND daemon = ?5 AND ${where}`,
      start,
      end,
      of.feature,
      of.server,
      of.daemon,
    );
    return row?.count ?? 0;
  };
}

export function createDenialReader(rows: Rows, now: number) {
  const seenIn = oncePerRange((start, end) => {
    const servers = rows.all<{ server: string }>(
      `SELECT DISTINCT server_id AS server FROM denial_spans WHERE from_at < ? AND coalesce(to_at, ?) > ? AND server_id
         NOT IN (SELECT server_id FROM denial_cursors WHERE json_extract(cursor, '$.kind') = 'counters'
           AND json_extract(cursor, '$.byFeature') IS NOT TRUE)`,
      end,
      now,
      start,
    );
    return new Set(servers.map(({ server }) => server));
  });
  const countOf = createOutcomeCounts(rows, "denied");
  return {
    /**
     * Counts stored denials of a feature in a range; null if denials could not be seen, e.g. in the future.
     * Only `denied` counts, as in the alert rule: a seat that another pool granted a second later was not
     * missing. Retries count once. If the manager counts denials without naming features, no feature's
     * denials are known. Rollups keep the counts for longer than denials are stored.
     */
    denials: (feature: FeatureId, start: number, end: number): number | null =>
      seenIn(start, end).has(feature.server) ? countOf(feature, start, end) : null,
    queuedRequests: createOutcomeCounts(rows, "queued"),
    unmetRequests: ({ server, daemon, feature }: FeatureId, start: number, end: number) =>
      rows.all<UnmetRequest>(
        `SELECT outcome, at, until, count FROM denials INDEXED BY denials_by_feature
         WHERE feature = ?1 AND at >= ?2 AND at < ?3 AND server_id = ?4 AND daemon = ?5
           AND outcome IN ('denied', 'queued') AND (code IS NULL OR code IN (${NO_SEAT_CODES.join(", ")})) ORDER BY at, id`,
        feature,
        start,
        end,
        server,
        daemon,
      ),
    loggedMs: (server: string, start: number, end: number) =>
      rows.all<{ ms: number | null }>(
        `SELECT sum(min(coalesce(to_at, ?1), ?3) - max(from_at, ?2)) AS ms FROM denial_spans
         WHERE server_id = ?4 AND from_at < ?3 AND coalesce(to_at, ?1) > ?2`,
        now,
        start,
        end,
        server,
      )[0]?.ms ?? 0,
  };
}

const next = (where: string) =>
  `(SELECT id FROM sessions INDEXED BY sessions_by_feature WHERE ended_at IS NOT NULL AND ${where}
    ORDER BY server_id, daemon, feature LIMIT 1)`;
/**
 * All daemons and features of counts, sessions and denials. There may be millions of sessions, so their
 * index is walked with one lookup per feature. Comparing all three names at once would read every row of
 * the last feature.
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
