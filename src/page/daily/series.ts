import type { StatsRecord } from "../../domain/history-records.ts";
import { isSeats, poolOf, sharedSets } from "../../domain/polls/seat-groups.ts";
import { type Bucket, isGap, stretches } from "../series.ts";

export interface Day {
  readonly servers: ReadonlyMap<string, readonly Bucket[]>;
  /** Seats of all servers together. If a server has no reading at a time, its last reading counts. */
  readonly site: readonly Bucket[];
  readonly until: number;
  readonly coverage: number;
}

type Series = Pick<StatsRecord, "server" | "feature" | "series" | "total" | "unit" | "seatGroup">;

/** Adds up the seats of features by server. Features without a limit and tokens are left out. */
export function dayOf(features: readonly Series[], until: number): Day {
  const limited = features.filter((each) => each.total !== null && isSeats(each));
  const byServer = Map.groupBy(limited, ({ server }) => server);
  const servers = new Map([...byServer].map(([server, of]) => [server, togetherOf(of)]));
  const last = new Map<string, Bucket>();
  let seen = 0;
  const [times = []] = servers.values();
  const site = times.map(({ at }, place) => {
    const before = seen;
    for (const [server, buckets] of servers) {
      const bucket = buckets[place];
      if (bucket === undefined || bucket.used === null) continue;
      last.set(server, bucket);
      seen++;
    }
    return sumOf(at, seen === before ? [] : [...last.values()]);
  });
  return { servers, site, until, coverage: seen / Math.max(1, times.length * servers.size) };
}

function togetherOf(features: readonly Series[]): Bucket[] {
  const [{ series: times = [] } = {}] = features;
  const sets = sharedSets(features);
  return times.map(({ timestamp }, place) => {
    const read = sets.flatMap((set) => {
      const known = set.flatMap(({ series }) => series?.[place] ?? []).filter(({ used }) => used !== null);
      return known.length === 0 ? [] : poolOf(known.map((point) => ({ ...point, unlimited: false })));
    });
    return sumOf(Date.parse(timestamp), read);
  });
}

/**
 * Adds up the seats at one time, which are unknown without a reading. The peak is the sum of the means,
 * because peaks cannot be added.
 */
function sumOf(at: number, read: readonly Pick<Bucket, "used" | "total">[]): Bucket {
  if (read.length === 0) return { at, used: null, peak: null, total: null };
  const used = read.reduce((sum, each) => sum + (each.used ?? 0), 0);
  return { at, used, peak: Math.round(used), total: read.reduce((sum, each) => sum + (each.total ?? 0), 0) };
}

const SIZE = 100;
const round = (value: number) => Math.round(value * 10) / 10;

/**
 * Returns a step line and its area as paths, and times without data as [left, width], on 100 × 100 for
 * `from`…`until` and 0…`top`.
 */
export function stepsOf(buckets: readonly Bucket[], from: number, until: number, top: number) {
  const x = (at: number) => round((Math.min(Math.max(at, from), until) - from) * (SIZE / (until - from)));
  const y = (used: number) => round(SIZE - Math.min(1, used / Math.max(1, top)) * SIZE);
  const runs: { readonly left: number; path: string }[] = [];
  buckets.forEach(({ at, used }, place) => {
    if (used === null) return;
    const [left, right] = [x(at), x(buckets[place + 1]?.at ?? until)];
    if (place === 0 || buckets[place - 1]?.used === null) runs.push({ left, path: `M${left} ${y(used)}` });
    const run = runs.at(-1);
    if (run !== undefined) run.path += `V${y(used)}H${right}`;
  });
  const gaps = stretches({ start: from, end: until, buckets }, isGap);
  return {
    line: runs.map(({ path }) => path).join(""),
    area: runs.map(({ left, path }) => `${path}V${SIZE}H${left}Z`).join(""),
    gaps: gaps.map(([start, end]) => [x(start), round(x(end) - x(start))] as const),
  };
}
