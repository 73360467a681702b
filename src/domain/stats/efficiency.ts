import type { EfficiencyRecord } from "../history-records.ts";
import type { AskedSeats } from "./demand.ts";
import { type Histogram, timeAtLeast } from "./histogram.ts";

/** How well the seats of one feature were used. */
export type Efficiency = Pick<EfficiencyRecord, "seats" | "whatIf">;

/** Seats listed one by one; of more, those are listed after which the share changes. */
const MAX_SEATS = 1_000;
const NEAR = 5;
const SHARES = [-0.5, -0.25, -0.2, -0.1, 0.1, 0.2, 0.25];

/**
 * `levels`: for each session that began in the range the seats in use with it, ascending; null when they are unknown.
 * `total` is the number now; null (unlimited or unknown) has no what-if. `asked`: null while nobody knows what was
 * asked beyond the seats.
 */
export function efficiencyOf(
  histogram: Histogram,
  total: number | null,
  levels: readonly number[] | null,
  asked: AskedSeats | null,
): Efficiency {
  const atLeast = timeAtLeast(histogram);
  const covered = atLeast(0);
  if (covered === 0) return { seats: [], whatIf: [] };
  const busyPercent = (seat: number) => Math.round((atLeast(seat) / covered) * 10_000) / 100;
  const peak = Math.max(...histogram.keys());
  const askedAtLeast = asked === null ? null : timeAtLeast(asked.histogram);
  return {
    seats: seatsToTell(Math.max(total ?? 0, peak), histogram).map((seat) => ({
      seat,
      busyPercent: busyPercent(seat),
    })),
    whatIf: totalsToTry(total).map((tried) => {
      const beyond = tried > (total ?? 0) ? askedAtLeast : atLeast;
      const requests = tried > (total ?? 0) ? (asked?.levels ?? null) : [];
      return {
        total: tried,
        saturatedSeconds: beyond === null ? null : Math.round(beyond(tried) / 1000),
        affectedSessions:
          levels === null || requests === null ? null : above(levels, tried) + above(requests, tried),
      };
    }),
  };
}

function seatsToTell(last: number, histogram: Histogram): number[] {
  if (last <= MAX_SEATS) return Array.from({ length: last }, (_, index) => index + 1);
  const told = new Set([1, last, ...histogram.keys()].filter((seat) => seat > 0));
  return [...told].sort((a, b) => a - b);
}

/** Numbers of seats to try beside `total`: each of the nearest, and parts of it; ascending, without `total` itself. */
export function totalsToTry(total: number | null): number[] {
  if (total === null || total === 0) return [];
  const tried = new Set<number>();
  for (let by = 1; by <= NEAR; by++) tried.add(total - by).add(total + by);
  for (const share of SHARES) tried.add(total + Math.round(total * share));
  tried.delete(total);
  return [...tried].filter((seats) => seats > 0).sort((a, b) => a - b);
}

/** How many of ascending values are above `limit`. */
function above(rising: readonly number[], limit: number): number {
  let low = 0;
  let high = rising.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rising[middle] ?? Infinity) <= limit) low = middle + 1;
    else high = middle;
  }
  return rising.length - low;
}
