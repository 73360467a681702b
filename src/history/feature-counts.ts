import type { FeatureId } from "../domain/history.ts";
import type { UnmetRequest } from "../domain/stats/demand.ts";
import type { Rows } from "../store/conditions.ts";

/** What one statement says of a range, remembered: a question about a whole site asks it for thousands of features. */
export function oncePerRange<Answer>(ask: (start: number, end: number) => Answer) {
  const answers = new Map<string, Answer>();
  return (start: number, end: number): Answer =>
    answers.getOrInsertComputed(`${start} ${end}`, () => ask(start, end));
}

/**
 * Counts rows by feature, or adds them up. `from` is a table with its condition, which binds the start of a range and its
 * end.
 */
export function createFeatureCounts({ all }: Rows, from: string, count = "count(*)") {
  const keyOf = ({ server, daemon, feature }: FeatureId) => `${server}\0${daemon}\0${feature}`;
  const countsIn = oncePerRange((start, end) => {
    const sql = `SELECT server_id AS server, daemon, feature, ${count} AS count FROM ${from} GROUP BY 1, 2, 3`;
    const rows = all<FeatureId & { readonly count: number }>(sql, start, end);
    return new Map(rows.map((row) => [keyOf(row), row.count]));
  });
  return (feature: FeatureId, start: number, end: number): number =>
    countsIn(start, end).get(keyOf(feature)) ?? 0;
}

/** So many features are counted one by one; of more, all are counted at once. */
const FEW = 8;

/** Who tried again counts once; of requests that a manager only counts each one does. */
const REQUESTS = "sum(iif(user = '' AND host IS NULL, attempts, 1))";

/** Counts denials of an outcome by feature. */
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

/**
 * FlexNet's error numbers of a request for which no seat was left: all are in use, others wait in the queue, the rest is
 * reserved. A user who may not use a feature at all asks for no seat. A log without a number is taken for the usual case.
 */
const NO_SEAT_CODES = "-4, -24, -101";

/** The part of the source that is about denials. */
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
     * Counts denials of a feature in a range, as they are stored; null where they could not be seen, as in what is still
     * to come. What stayed denied counts, as in the alert rule: the question is how many seats were missing, and a seat
     * that another pool gave a second later was not. A user who tried again counts once. Where the manager counts denials
     * and names no feature, no feature's are known. Rollups know them for longer.
     */
    denials: (feature: FeatureId, start: number, end: number): number | null =>
      seenIn(start, end).has(feature.server) ? countOf(feature, start, end) : null,
    /** How many requests of a feature got a place in the queue, by the log. */
    queuedRequests: createOutcomeCounts(rows, "queued"),
    /** Requests that found no seat, in the order of time. */
    unmetRequests: ({ server, daemon, feature }: FeatureId, start: number, end: number) =>
      rows.all<UnmetRequest>(
        `SELECT outcome, at, until, count FROM denials INDEXED BY denials_by_feature
         WHERE feature = ?1 AND at >= ?2 AND at < ?3 AND server_id = ?4 AND daemon = ?5
           AND outcome IN ('denied', 'queued') AND (code IS NULL OR code IN (${NO_SEAT_CODES})) ORDER BY at, id`,
        feature,
        start,
        end,
        server,
        daemon,
      ),
    /** For how long of a range a server's log was read, ms. */
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
