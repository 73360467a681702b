import type { WaitsRecord } from "../../domain/history-records.ts";
import { shareOf } from "../../domain/stats/figures.ts";
import { BRIDGED_MS, fullTimes, waitsOf } from "../../domain/stats/waits.ts";
import { DAY_MS } from "../../domain/time/clock.ts";
import type { Named } from "../../store/conditions.ts";
import { dayOf } from "../buckets.ts";
import { type SortBy, sortedBy } from "../range.ts";
import type { HistorySource, Range } from "../reader.ts";
import { dayPieces, eachFullTime, seriesOf } from "../site-days.ts";

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
  const { start, end, now, filter, limit, offset, sort } = query;
  const features = await source.features(filter);
  /** Of each feature the lengths of its stretches, ms: a year of a large site has a million. */
  const found = new Map(features.map(({ id }) => [id, { lengths: [] as number[], until: 0, cut: false }]));
  const add = (id: number, from: number, until: number, cut: boolean) => {
    const of = found.get(id);
    if (of === undefined) return;
    // Days are cut at midnight, or where a gap reaches it.
    if (of.cut && from - of.until <= BRIDGED_MS) of.lengths.push((of.lengths.pop() ?? 0) + until - of.until);
    else of.lengths.push(until - from);
    of.until = until;
    of.cut = cut;
  };
  const last = Math.min(end, now);
  const range = { start: Math.max(start, (await source.reach()).samplesFrom ?? last), end: last };
  const made = await source.siteDays(Math.ceil(range.start / DAY_MS), dayOf(last));
  for (const { day, data, ...piece } of dayPieces(range, made, features.length)) {
    source.checkpoint();
    if (data !== undefined) eachFullTime(day, data, add);
    else
      for (const [index, series] of (await seriesOf(source, features, piece)).entries())
        for (const { from, until, cut } of fullTimes(series)) add(features[index]?.id ?? 0, from, until, cut);
  }

  const covered = new Map<string, number>();
  for (const server of new Set(features.map((feature) => feature.server)))
    covered.set(server, shareOf(await source.readMs(server, start, end), end - start));
  const full = features.filter(({ id }) => found.get(id)?.lengths.length);
  const rowOf = ({ id, server, daemon, feature }: (typeof features)[number]): WaitsRecord => {
    source.checkpoint();
    const waits = waitsOf(found.get(id)?.lengths ?? []);
    return { server, daemon, feature, ...waits, coverage: covered.get(server) ?? 0 };
  };
  const page = <Row>(rows: readonly Row[]) => rows.slice(offset, offset + limit);
  // Without an order of their own the figures of the other features are not needed.
  const rows = sort === null ? page(full).map(rowOf) : page(sortedBy(full.map(rowOf), sort));
  return { rows, total: full.length };
}
