import type { FeatureId } from "../../domain/history.ts";
import type { WaitsRecord } from "../../domain/history-records.ts";
import { shareOf } from "../../domain/stats/figures.ts";
import { BRIDGED_MS, type FullTime, fullTimes, waitsOf } from "../../domain/stats/waits.ts";
import { DAY_MS } from "../../domain/time/clock.ts";
import type { Named } from "../../store/conditions.ts";
import { dayOf } from "../buckets.ts";
import { eachFullTime } from "../full-times.ts";
import { type SortBy, sortedBy } from "../range.ts";
import type { HistorySource, Range } from "../reader.ts";

/** Days of features read at once where days are not packed: each has its steps in memory, some hundreds. */
const FEATURE_DAYS = 5_000;

export interface WaitsQuery extends Range {
  readonly filter: Named;
  /** Epoch ms. */
  readonly now: number;
  /** Null = by server, daemon and name. */
  readonly sort: SortBy<keyof WaitsRecord> | null;
  readonly limit: number;
  readonly offset: number;
}

/** How long waits for a seat lasted, of each feature that was full in the range; `total` counts these features. */
export async function waitsQuery(source: HistorySource, query: WaitsQuery) {
  const { filter, limit, offset, sort } = query;
  const features = await source.features(filter);
  const found = new Map<number, FullTime[]>(features.map(({ id }) => [id, []]));
  await eachStretch(source, features, query, (id, time) => {
    const times = found.get(id);
    const last = times?.at(-1);
    // Packed days are cut at midnight, or where a gap reaches it.
    const gapMs = last?.cut === true ? time.from - last.until : Number.POSITIVE_INFINITY;
    if (last === undefined || gapMs > BRIDGED_MS) times?.push(time);
    else times?.splice(-1, 1, { ...time, from: last.from, unseenMs: last.unseenMs + gapMs + time.unseenMs });
  });

  const covered = new Map<string, number>();
  for (const { server } of features) {
    if (covered.has(server)) continue;
    covered.set(server, await source.readMs(server, query.start, query.end));
  }
  const full = features.filter(({ id }) => (found.get(id)?.length ?? 0) > 0);
  const rowOf = ({ id, server, daemon, feature }: FeatureId & { readonly id: number }): WaitsRecord => {
    source.checkpoint();
    const coverage = shareOf(covered.get(server) ?? 0, query.end - query.start);
    return { server, daemon, feature, ...waitsOf(found.get(id) ?? []), coverage };
  };
  const page = <Row>(rows: readonly Row[]) => rows.slice(offset, offset + limit);
  // Without an order of their own the figures of the other features are not needed.
  const rows = sort === null ? page(full).map(rowOf) : page(sortedBy(full.map(rowOf), sort));
  return { rows, total: full.length };
}

/** Goes through the full times of a range: of packed days as they are, of others from the steps. */
async function eachStretch(
  source: HistorySource,
  features: Awaited<ReturnType<HistorySource["features"]>>,
  { start, end: last, now }: WaitsQuery,
  visit: (id: number, time: FullTime) => void,
): Promise<void> {
  const end = Math.min(last, now);
  const begin = Math.max(start, (await source.reach()).samplesFrom ?? end);
  const packed = await source.fullDays(dayOf(begin), Math.ceil(end / DAY_MS));
  const most = Math.max(1, Math.floor(FEATURE_DAYS / Math.max(1, features.length)));
  for (let from = begin, to = begin; from < end; from = to) {
    source.checkpoint();
    let day = dayOf(from);
    const data = packed.get(day++);
    if (data === undefined) for (const first = day; day < first + most && !packed.has(day); ) day++;
    to = Math.min(day * DAY_MS, end);
    const isWhole = from % DAY_MS === 0 && to % DAY_MS === 0;
    if (data !== undefined && isWhole) eachFullTime(day - 1, data, visit);
    else
      for (const feature of features) {
        source.checkpoint();
        for (const time of fullTimes(await source.series(feature, from, to))) visit(feature.id, time);
      }
  }
}
