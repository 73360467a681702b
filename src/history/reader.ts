import type { Database } from "bun:sqlite";
import type { FeatureId } from "../domain/history.ts";
import type { UnmetRequest } from "../domain/stats/demand.ts";
import { createDenialCounts, createOutcomeCounts } from "./feature-counts.ts";
import { allOf, oneOf } from "./filters.ts";
import { resolveRange } from "./range.ts";
import { createRollupReader } from "./rollup-reader.ts";
import { createSampleReader, createUnsettled } from "./sample-reader.ts";
import { createSessionReader } from "./session-reader.ts";
import type { HistorySource, KnownFeature, Named, Reach } from "./source.ts";
import { DAY_MS, dayOfKey } from "./spans.ts";

/** History in one connection: a source that answers at once, and rows of any SELECT for lists. */
export type Reader = ReturnType<typeof createReader>;

/**
 * FlexNet's error numbers of a request for which no seat was left: all are in use, others wait in the queue, the rest is
 * reserved. A user who may not use a feature at all asks for no seat. A log without a number is taken for the usual case.
 */
const NO_SEAT_CODES = "-4, -24, -101";

/**
 * The read side over a connection. What it remembers (names, what is open) holds for the state of the database that
 * it was made in: one reader a transaction. What lies behind `now` (epoch ms) has not been seen.
 */
export function createReader(
  sqlite: Database,
  { now, checkpoint = () => {} }: { readonly now: number; readonly checkpoint?: () => void },
) {
  /** Each statement is prepared once: `query` of the database itself remembers twenty. */
  const statements = new Map<string, ReturnType<Database["query"]>>();
  function prepared(sql: string) {
    const statement = statements.get(sql) ?? sqlite.query(sql);
    statements.set(sql, statement);
    return statement;
  }
  const all = <Row>(sql: string, ...parameters: (string | number | null)[]) =>
    prepared(sql).all(...parameters) as Row[];
  const rows = { all };
  const sessionsFrom = () =>
    all<{ value: number }>("SELECT value FROM event_marks WHERE name = 'deleted_sessions'")[0]?.value ?? 0;
  const open = createUnsettled(rows);
  const samples = createSampleReader(rows, open, now);
  const sessions = createSessionReader(rows, now, checkpoint);
  const denials = createDenialCounts(rows, now);
  const { hours, days, over } = createRollupReader(
    rows,
    samples.series,
    sessions.users,
    denials,
    open,
    sessionsFrom,
    checkpoint,
  );
  let reached: Reach | null = null;

  function reach(): Reach {
    if (reached !== null) return reached;
    const [first] = all<{ loose: number | null; samples: number | null; hours: number | null }>(
      `SELECT (SELECT min(at) FROM samples) AS loose, (SELECT min(key) FROM sample_days) AS samples,
         (SELECT min(key) FROM rollup_hours) AS hours`,
    );
    const begin = (key: number | null | undefined) => (key == null ? null : dayOfKey(key) * DAY_MS);
    const sampled = [begin(first?.samples), first?.loose ?? null].filter((at) => at !== null);
    const samplesFrom = sampled.length === 0 ? null : Math.min(...sampled);
    reached = { samplesFrom, rollupsFrom: begin(first?.hours) ?? samplesFrom };
    return reached;
  }

  const reader = {
    ...samples,
    ...sessions,
    now,
    checkpoint,
    all,
    reach,
    sessionsFrom,
    denials,
    hours,
    days,
    features({ servers, daemons, features }: Partial<Named> = {}) {
      const { sql, values } = allOf([
        oneOf("server_id", servers),
        oneOf("daemon", daemons),
        oneOf("name", features),
      ]);
      return all<KnownFeature>(
        `SELECT id, server_id AS server, daemon, name AS feature FROM history_features WHERE ${sql}
         ORDER BY server_id, daemon, name`,
        ...values,
      );
    },
    rollups(features: readonly KnownFeature[], start: number, end: number, withUsers = false) {
      const range = resolveRange({ start, end }, reach());
      return over(features, range.start, range.end, withUsers);
    },
    siteDays: (first: number, behind: number) =>
      new Map(
        all<{ day: number; data: Uint8Array }>(
          "SELECT day, data FROM site_days WHERE day >= ? AND day < ? AND data IS NOT NULL",
          first,
          behind,
        ).map(({ day, data }) => [day, data]),
      ),
    queuedRequests: createOutcomeCounts(rows, "queued"),
    unmetRequests: ({ server, daemon, feature }: FeatureId, start: number, end: number) =>
      all<UnmetRequest>(
        `SELECT outcome, at, until, count FROM denials INDEXED BY denials_by_feature
         WHERE feature = ?1 AND at >= ?2 AND at < ?3 AND server_id = ?4 AND daemon = ?5
           AND outcome IN ('denied', 'queued') AND (code IS NULL OR code IN (${NO_SEAT_CODES})) ORDER BY at, id`,
        feature,
        start,
        end,
        server,
        daemon,
      ),
    loggedMs: (server: string, start: number, end: number) =>
      all<{ ms: number | null }>(
        `SELECT sum(min(coalesce(to_at, ?1), ?3) - max(from_at, ?2)) AS ms FROM denial_spans
         WHERE server_id = ?4 AND from_at < ?3 AND coalesce(to_at, ?1) > ?2`,
        now,
        start,
        end,
        server,
      )[0]?.ms ?? 0,
  };
  return reader satisfies HistorySource;
}
