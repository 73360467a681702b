import type { Database } from "bun:sqlite";
import { NO_ROLLUP } from "../../domain/rollup.ts";
import { createDenialCounts } from "./denial-counts.ts";
import { createHolders, type Holders } from "./holders.ts";
import { createOpenHours } from "./open-hours.ts";
import { reachedRange } from "./reach.ts";
import type { FeatureFilter, HistoryRead, KnownFeature, Reach } from "./read.ts";
import { createRollupReader, type RollupReader } from "./rollup-reader.ts";
import { createSampleReader, type SampleReader } from "./sample-reader.ts";
import { DAY_MS, dayOfKey } from "./spans.ts";

export interface ReaderOptions {
  /** What lies behind has not been seen. Epoch ms. */
  readonly now: number;
  readonly checkpoint?: () => void;
}

export interface Reader extends HistoryRead, SampleReader, Holders, Pick<RollupReader, "fromSamples"> {}

/**
 * The read side over a connection. What it remembers (names, what is open) holds for the state of the database that
 * it was made in: one reader a transaction.
 */
export function createReader(sqlite: Database, { now, checkpoint = () => {} }: ReaderOptions): Reader {
  const firstKeys = sqlite.query<{ loose: number | null; samples: number | null; hours: number | null }, []>(
    `SELECT (SELECT min(at) FROM samples) AS loose, (SELECT min(key) FROM sample_days) AS samples,
       (SELECT min(key) FROM rollup_hours) AS hours`,
  );
  const all = <Row>(sql: string, ...parameters: (string | number | null)[]) =>
    sqlite.query<Row, (string | number | null)[]>(sql).all(...parameters);
  const sessionsFrom = () =>
    sqlite.query<{ value: number }, []>("SELECT value FROM event_marks WHERE name = 'deleted_sessions'").get()
      ?.value ?? 0;
  const open = createOpenHours(sqlite);
  const samples = createSampleReader(sqlite, open, now);
  const holders = createHolders(sqlite);
  const countDenials = createDenialCounts({ all }, now);
  const rollups = createRollupReader(sqlite, {
    samples,
    holders,
    open,
    countDenials,
    checkpoint,
    sessionsFrom,
  });
  let reached: Reach | null = null;

  function reach(): Reach {
    if (reached !== null) return reached;
    const { loose = null, samples: day = null, hours: hour = null } = firstKeys.get() ?? {};
    const packed = day === null ? null : dayOfKey(day) * DAY_MS;
    const samplesFrom = packed === null || loose === null ? (packed ?? loose) : Math.min(packed, loose);
    const rolled = hour === null ? null : dayOfKey(hour) * DAY_MS;
    reached = { samplesFrom, rollupsFrom: rolled ?? samplesFrom };
    return reached;
  }

  return {
    ...samples,
    ...holders,
    reach,
    now,
    sessionsFrom,
    denials: countDenials,
    all,
    checkpoint,

    hours: rollups.hours,
    days: rollups.days,
    fromSamples: rollups.fromSamples,
    features: (filter = {}) => listFeatures(sqlite, filter),
    over(feature, start, end, withUsers = false) {
      const range = reachedRange({ start, end }, reach());
      return rollups.over([feature], range.start, range.end, withUsers)[0] ?? NO_ROLLUP;
    },
    overMany(features, start, end, withUsers = false) {
      const range = reachedRange({ start, end }, reach());
      return rollups.over(features, range.start, range.end, withUsers);
    },
  };
}

function listFeatures(sqlite: Database, { servers, daemons, features }: FeatureFilter): KnownFeature[] {
  const lists = [
    ["server_id", servers],
    ["daemon", daemons],
    ["name", features],
  ] as const;
  const given = lists.flatMap(([column, values]) =>
    values === undefined ? [] : [{ where: `${column} IN (SELECT value FROM json_each(?))`, values }],
  );
  const where = given.length === 0 ? "" : `WHERE ${given.map((one) => one.where).join(" AND ")}`;
  return sqlite
    .query<KnownFeature, string[]>(
      `SELECT id, server_id AS server, daemon, name AS feature FROM history_features ${where} ORDER BY server_id, daemon, name`,
    )
    .all(...given.map(({ values }) => JSON.stringify(values)));
}
