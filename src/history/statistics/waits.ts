import type { FeatureId } from "../../domain/history.ts";
import type { WaitsRecord } from "../../domain/history-records.ts";
import { shareOf } from "../../domain/stats/figures.ts";
import { BRIDGED_MS, fullTimes, waitsOf } from "../../domain/stats/waits.ts";
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

/** The stretches of one feature, as they come: a year of a large site has a million. */
interface Found {
  readonly lengths: number[];
  unseenMs: number;
  /** End of the last one. */
  until: number;
  cut: boolean;
}

/** How long waits for a seat lasted, of each feature that was full in the range; `total` counts these features. */
export async function waitsQuery(source: HistorySource, query: WaitsQuery) {
  const { filter, limit, offset, sort } = query;
  const features = await source.features(filter);
  const found = new Map<number, Found>(
    features.map(({ id }) => [id, { lengths: [], unseenMs: 0, until: Number.NEGATIVE_INFINITY, cut: false }]),
  );
  await eachStretch(source, features, query, (id, from, until, unseenMs, cut) => {
    const of = found.get(id);
    if (of === undefined) return;
    const gapMs = from - of.until;
    // Packed days are cut at midnight, or where a gap reaches it.
    if (of.cut && gapMs <= BRIDGED_MS) {
      of.lengths.push((of.lengths.pop() ?? 0) + until - of.until);
      of.unseenMs += gapMs;
    } else of.lengths.push(until - from);
    of.unseenMs += unseenMs;
    of.until = until;
    of.cut = cut;
  });

  const covered = new Map<string, number>();
  for (const { server } of features) {
    if (covered.has(server)) continue;
    covered.set(server, await source.readMs(server, query.start, query.end));
  }
  const full = features.filter(({ id }) => (found.get(id)?.lengths.length ?? 0) > 0);
  const rowOf = ({ id, server, daemon, feature }: FeatureId & { readonly id: number }): WaitsRecord => {
    source.checkpoint();
    const { lengths = [], unseenMs = 0 } = found.get(id) ?? {};
    const coverage = shareOf(covered.get(server) ?? 0, query.end - query.start);
    return { server, daemon, feature, ...waitsOf(lengths, unseenMs), coverage };
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
  visit: Parameters<typeof eachFullTime>[2],
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
        for (const { from: at, until, unseenMs, cut } of fullTimes(await source.series(feature, from, to)))
          visit(feature.id, at, until, unseenMs, cut);
      }
  }
}
