import type { FeatureId } from "../domain/history.ts";
import type { Rows } from "../store/denial-queries.ts";

/** What one statement says of a range, remembered: a question about a whole site asks it for thousands of features. */
export function oncePerRange<Answer>(ask: (start: number, end: number) => Answer) {
  const answers = new Map<string, Answer>();
  return (start: number, end: number): Answer => {
    const range = `${start} ${end}`;
    const known = answers.get(range);
    if (known !== undefined) return known;
    const answer = ask(start, end);
    answers.set(range, answer);
    return answer;
  };
}

/** Counts rows by feature. `from` is a table with its condition, which binds the start of a range and its end. */
export function createFeatureCounts({ all }: Rows, from: string) {
  const keyOf = ({ server, daemon, feature }: FeatureId) => `${server}\0${daemon}\0${feature}`;
  const countsIn = oncePerRange((start, end) => {
    const rows = all<FeatureId & { readonly count: number }>(
      `SELECT server_id AS server, daemon, feature, count(*) AS count FROM ${from}
       GROUP BY server_id, daemon, feature`,
      start,
      end,
    );
    return new Map(rows.map((row) => [keyOf(row), row.count]));
  });
  return (feature: FeatureId, start: number, end: number): number =>
    countsIn(start, end).get(keyOf(feature)) ?? 0;
}

/** So many features are counted one by one; of more, all are counted at once. */
const FEW = 8;

/** Counts denials of an outcome by feature. */
export function createOutcomeCounts(rows: Rows, outcome: "denied" | "queued") {
  const where = `at >= ?1 AND at < ?2 AND outcome = '${outcome}'`;
  const ofAll = createFeatureCounts(rows, `denials INDEXED BY denials_by_time WHERE ${where}`);
  let asked = 0;
  return (of: FeatureId, start: number, end: number): number => {
    if (++asked > FEW) return ofAll(of, start, end);
    const [row] = rows.all<{ count: number }>(
      `SELECT count(*) AS count FROM denials INDEXED BY denials_by_feature
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
 * Counts denials of a feature in a range; null where they could not be seen, as in what is still to come. What stayed
 * denied counts, as in the alert rule: the question is how many seats were missing, and a seat that another pool gave a
 * second later was not. A user who tried again counts once. Where the manager counts denials and names no feature, no
 * feature's are known.
 */
export function createDenialCounts(rows: Rows, now: number) {
  const seenIn = oncePerRange((start, end) => {
    const servers = rows.all<{ server: string }>(
      `SELECT DISTINCT server_id AS server FROM denial_spans WHERE from_at < ? AND coalesce(to_at, ?) > ? AND server_id
         NOT IN (SELECT server_id FROM denial_cursors WHERE json_extract(cursor, '$.kind') = 'counters')`,
      end,
      now,
      start,
    );
    return new Set(servers.map(({ server }) => server));
  });
  const countOf = createOutcomeCounts(rows, "denied");
  return (feature: FeatureId, start: number, end: number): number | null =>
    seenIn(start, end).has(feature.server) ? countOf(feature, start, end) : null;
}
