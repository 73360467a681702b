import type { Database } from "bun:sqlite";
import type { FeatureId } from "../domain/history.ts";
import type { UnmetRequest } from "../domain/stats/demand.ts";
import { NO_ROLLUP } from "../domain/stats/rollup.ts";
import type { Rows } from "../store/denial-queries.ts";
import { createDenialCounts } from "./denial-counts.ts";
import { createHolders } from "./holders.ts";
import { resolveRange } from "./range.ts";
import { createRollupReader } from "./rollup-reader.ts";
import { createOpenHours, createSampleReader } from "./sample-reader.ts";
import { createSessionReader } from "./session-reader.ts";
import type { FeatureFilter, HistorySource, KnownFeature, Reach } from "./source.ts";
import { DAY_MS, dayOfKey } from "./spans.ts";

/** History in one connection: a source that answers at once, and rows of any SELECT for lists. */
export type Reader = ReturnType<typeof createReader>;

export interface ReaderOptions {
  /** What lies behind has not been seen. Epoch ms. */
  readonly now: number;
  readonly checkpoint?: () => void;
}

/**
 * FlexNet's error numbers of a request for which no seat was left: all are in use, others wait in the queue, the rest is
 * reserved. Who may not use a feature at all asks for no seat. A log that tells no number is taken for the usual case.
 */
const NO_SEAT_CODES = "-4, -24, -101";

/**
 * The read side over a connection. What it remembers (names, what is open) holds for the state of the database that
 * it was made in: one reader a transaction.
 */
export function createReader(sqlite: Database, { now, checkpoint = () => {} }: ReaderOptions) {
  const all = <Row>(sql: string, ...parameters: (string | number | null)[]) =>
    sqlite.query<Row, (string | number | null)[]>(sql).all(...parameters);
  const sessionsFrom = () =>
    all<{ value: number }>("SELECT value FROM event_marks WHERE name = 'deleted_sessions'")[0]?.value ?? 0;
  const open = createOpenHours(sqlite);
  const samples = createSampleReader(sqlite, open, now);
  const holders = createHolders(sqlite);
  const denials = createDenialCounts({ all }, now);
  const { over, ...rollups } = createRollupReader(
    sqlite,
    samples,
    holders,
    open,
    denials,
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
    const { loose = null, samples: day = null, hours: hour = null } = first ?? {};
    const packed = day === null ? null : dayOfKey(day) * DAY_MS;
    const samplesFrom = packed === null || loose === null ? (packed ?? loose) : Math.min(packed, loose);
    const rolled = hour === null ? null : dayOfKey(hour) * DAY_MS;
    reached = { samplesFrom, rollupsFrom: rolled ?? samplesFrom };
    return reached;
  }

  function rollupsOf(features: readonly KnownFeature[], start: number, end: number, withUsers = false) {
    const range = resolveRange({ start, end }, reach());
    return over(features, range.start, range.end, withUsers);
  }

  let queued: { readonly key: string; readonly counts: ReadonlyMap<string, number> } | null = null;

  const reader = {
    ...samples,
    ...holders,
    ...rollups,
    ...createSessionReader(sqlite, { all }, now, checkpoint),
    reach,
    sessionsFrom,
    denials,
    all,
    features: (filter: FeatureFilter = {}) => listFeatures({ all }, filter),
    rollups: rollupsOf,
    /** The range of one feature: see `rollups`. */
    over: (feature: KnownFeature, start: number, end: number, withUsers?: boolean) =>
      rollupsOf([feature], start, end, withUsers)[0] ?? NO_ROLLUP,
    siteDays: (first: number, behind: number) =>
      new Map(
        all<{ day: number; data: Uint8Array }>(
          "SELECT day, data FROM site_days WHERE day >= ? AND day < ? AND data IS NOT NULL",
          ...[first, behind],
        ).map(({ day, data }) => [day, data]),
      ),
    queuedRequests(feature: FeatureId, start: number, end: number) {
      const key = `${start} ${end}`;
      if (queued?.key !== key) {
        const rows = all<FeatureId & { requests: number }>(
          `SELECT server_id AS server, daemon, feature, count(*) AS requests FROM denials INDEXED BY denials_by_time
           WHERE at >= ? AND at < ? AND outcome = 'queued' GROUP BY server_id, daemon, feature`,
          ...[start, end],
        );
        queued = { key, counts: new Map(rows.map((row) => [keyOf(row), row.requests])) };
      }
      return queued.counts.get(keyOf(feature)) ?? 0;
    },
    unmetRequests: ({ server, daemon, feature }: FeatureId, start: number, end: number) =>
      all<UnmetRequest>(
        `SELECT outcome, at, until, count FROM denials INDEXED BY denials_by_feature
         WHERE feature = ? AND at >= ? AND at < ? AND server_id = ? AND daemon = ? AND outcome IN ('denied', 'queued')
           AND (code IS NULL OR code IN (${NO_SEAT_CODES})) ORDER BY at, id`,
        ...[feature, start, end, server, daemon],
      ),
    loggedMs: (server: string, start: number, end: number) =>
      all<{ ms: number | null }>(
        `SELECT sum(min(coalesce(to_at, ?1), ?3) - max(from_at, ?2)) AS ms FROM denial_spans
         WHERE server_id = ?4 AND from_at < ?3 AND coalesce(to_at, ?1) > ?2`,
        ...[now, start, end, server],
      )[0]?.ms ?? 0,
  };
  return reader satisfies HistorySource;
}

function keyOf({ server, daemon, feature }: FeatureId): string {
  return `${server}\0${daemon}\0${feature}`;
}

function listFeatures({ all }: Rows, { servers, daemons, features }: FeatureFilter): KnownFeature[] {
  const lists = [
    ["server_id", servers],
    ["daemon", daemons],
    ["name", features],
  ] as const;
  const given = lists.flatMap(([column, values]) =>
    values == null ? [] : [{ where: `${column} IN (SELECT value FROM json_each(?))`, values }],
  );
  const where = given.length === 0 ? "" : `WHERE ${given.map((one) => one.where).join(" AND ")}`;
  return all<KnownFeature>(
    `SELECT id, server_id AS server, daemon, name AS feature FROM history_features ${where} ORDER BY server_id, daemon, name`,
    ...given.map(({ values }) => JSON.stringify(values)),
  );
}
