import { createHeatmap, type HeatCell } from "../../domain/stats/heatmap.ts";
import { localSpans } from "../../domain/stats/local-spans.ts";
import { eachSpan } from "../../domain/stats/spans.ts";
import { together } from "../../domain/stats/together.ts";
import { eachQuarter, QUARTER_MS } from "../days/make-site-day.ts";
import type { HistoryRead } from "../history/read.ts";
import { DAY_MS, dayOf } from "../history/spans.ts";
import { featureFilter, type Named } from "./filters.ts";
import { type Range, type ResolvedRange, resolveRange } from "./range.ts";
import { feed } from "./series.ts";

const HOUR_MS = 3_600_000;
/** Days of features laid over each other at once: each has its steps in memory, some hundreds. */
const FEATURE_DAYS = 5_000;

export interface HeatmapQuery extends Range {
  readonly filter: Named;
  /** IANA zone of the weekdays and hours. */
  readonly timezone: string;
}

export interface HeatmapResult extends ResolvedRange {
  /** Features laid together. */
  readonly features: number;
  readonly cells: readonly HeatCell[];
}

/**
 * Use by hour and weekday. Several features are laid together: at any moment the sum of those known then, which only
 * steps can tell; where samples are gone several features have no coverage.
 */
export function heatmapQuery(read: HistoryRead, query: HeatmapQuery): HeatmapResult {
  const range = resolveRange(query, read.reach());
  const { start, end } = range;
  const features = read.features(featureFilter(query.filter));
  const heatmap = createHeatmap(query.timezone, start, end);
  const [only] = features;
  if (features.length === 1 && only !== undefined) {
    const byHours = localSpans(query.timezone, start, end).every(({ offset }) => offset % HOUR_MS === 0);
    feed(read, only, range, byHours ? "hour" : "step", heatmap);
  } else {
    const made = isEverything(query.filter) ? wholeDays(read, range, query.timezone) : new Map();
    // Samples are stored by the day: a slice that ends within one would unpack it twice.
    const days = Math.max(1, Math.floor(FEATURE_DAYS / Math.max(1, features.length)));
    for (let from = start, to = start; from < end; from = to) {
      const day = dayOf(from);
      const data = from % DAY_MS === 0 ? made.get(day) : undefined;
      if (data !== undefined) {
        to = from + DAY_MS;
        eachQuarter(day, data, (at, sums) => heatmap.addSums(at, sums, QUARTER_MS));
        continue;
      }
      let last = day + 1;
      while (last < day + days && !made.has(last)) last++;
      to = Math.min(last * DAY_MS, end);
      const series = features.map((feature) => {
        read.checkpoint();
        return read.series(feature, from, to);
      });
      eachSpan(together(series, from, to), heatmap.addSpan);
    }
  }
  return { ...range, features: features.length, cells: heatmap.cells() };
}

function isEverything({ servers, daemons, features }: Named): boolean {
  return servers === null && daemons === null && features === null;
}

/** The days of the range that were made ready, by their numbers. */
function wholeDays(
  read: Pick<HistoryRead, "all" | "reach">,
  { start, end }: Range,
  timezone: string,
): ReadonlyMap<number, Uint8Array> {
  if (!localSpans(timezone, start, end).every(({ offset }) => offset % QUARTER_MS === 0)) return new Map();
  const rows = read.all<{ day: number; data: Uint8Array }>(
    "SELECT day, data FROM site_days WHERE day >= ? AND day < ? AND data IS NOT NULL",
    ...[Math.ceil(start / DAY_MS), dayOf(end)],
  );
  return new Map(rows.map(({ day, data }) => [day, data]));
}
