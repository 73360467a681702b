import type { WaitsRecord } from "../../domain/history-records.ts";
import { type SortBy, sortedBy } from "../../domain/order.ts";
import { shareOf } from "../../domain/stats/figures.ts";
import { BRIDGED_MS, fullTimes, waitsOf } from "../../domain/stats/waits.ts";
import { DAY_MS } from "../../domain/time/clock.ts";
import type { Named } from "../../store/conditions.ts";
import { dayOf } from "../buckets.ts";
import type { HistorySource, Range } from "../reader.ts";
import { dayPieces, eachFullTime, seriesOf, type VisitFullTime } from "../site-days.ts";

export interface WaitsQuery extends Range {
  readonly filter: Named;
  readonly now: number;
  readonly sort: SortBy<keyof WaitsRecord> | null;
  readonly limit: number;
  readonly offset: number;
}

/**
 * Collects the durations, in ms, of the periods in which one feature was full. The list grows as needed,
 * because a large site has a million such periods a year.
 */
function createLengths(start: number, end: number) {
  const lengths: number[] = [];
  let before = 0;
  let wasCut = false;
  const add: VisitFullTime = (stretchFrom, stretchUntil, cut) => {
    const from = Math.max(stretchFrom, start);
    const until = Math.min(stretchUntil, end);
    if (from >= until) return;
    // Join the parts of a period that was cut at midnight, because it spans days or a gap reaches midnight.
    if (wasCut && from - before <= BRIDGED_MS) lengths.push((lengths.pop() ?? 0) + until - before);
    else lengths.push(until - from);
    before = until;
    wasCut = cut;
  };
  return { lengths, add };
}

export async function waitsQuery(source: HistorySource, query: WaitsQuery) {
  const { start, end, now, filter, limit, offset, sort } = query;
  const features = await source.features(filter);
  const last = Math.min(end, now);
  const begin = Math.max(start, (await source.reach()).samplesFrom ?? last);
  const found = new Map(features.map(({ id }) => [id, createLengths(begin, last)]));
  // Whole days, because packed days need no series.
  const days = { start: dayOf(begin) * DAY_MS, end: begin < last ? Math.ceil(last / DAY_MS) * DAY_MS : 0 };
  const made = await source.siteDays(dayOf(days.start), dayOf(days.end));
  for (const { day, data, ...piece } of dayPieces(days, made, features.length)) {
    source.checkpoint();
    if (data !== undefined) eachFullTime(day, data, (id) => found.get(id)?.add);
    else
      for (const [index, series] of (await seriesOf(source, features, piece)).entries())
        for (const { from, until, cut } of fullTimes(series))
          found.get(features[index]?.id ?? 0)?.add(from, until, cut);
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
  // Without sorting, compute figures only for the features of this page.
  const rows = sort === null ? page(full).map(rowOf) : page(sortedBy(full.map(rowOf), sort));
  return { rows, total: full.length };
}
