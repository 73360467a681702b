import type { Step } from "../history.ts";
import type { EfficiencyRecord } from "../history-records.ts";
import type { AskedSeats } from "./demand.ts";
import { type Histogram, timeAtLeast } from "./figures.ts";
import type { Holding } from "./held-seats.ts";
import { firstWhere } from "./spans.ts";

export type Efficiency = Pick<EfficiencyRecord, "seats" | "whatIf">;

const MAX_SEATS = 1_000;
const NEAR = 5;
const SHARES = [-0.5, -0.25, -0.2, -0.1, 0.1, 0.2, 0.25];

/**
 * Computes how well seats were used. `levels` has, for each session that began in the range, the seats in
 * use including that session, ascending; it is null if unknown. `total` is the current number of seats. If
 * it is unlimited or unknown (null), `whatIf` is empty. `asked` is null if demand beyond the seats is
 * unknown.
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

export function totalsToTry(total: number | null): number[] {
  if (total === null || total === 0) return [];
  const tried = new Set<number>();
  for (let by = 1; by <= NEAR; by++) tried.add(total - by).add(total + by);
  for (const share of SHARES) tried.add(total + Math.round(total * share));
  tried.delete(total);
  return [...tried].filter((seats) => seats > 0).sort((a, b) => a - b);
}

function above(rising: readonly number[], limit: number): number {
  return rising.length - firstWhere(rising.length, (place) => (rising[place] ?? 0) > limit);
}

/**
 * Returns the seats in use, ascending: one number for each session of a feature that begins in [start,
 * end), including that session. Uses the step at the session's first reading. In a gap, adds up the open
 * sessions.
 */
export function levelsAtBegin(
  sessions: readonly (Holding & { readonly count: number; readonly firstSeenAt: number })[],
  steps: readonly Step[],
  start: number,
  end: number,
): number[] {
  const changes = sessions
    .flatMap(({ firstSeenAt, to, count }) => [
      { at: firstSeenAt, by: count },
      { at: Math.max(to, firstSeenAt), by: -count },
    ])
    .sort((a, b) => a.at - b.at);
  const levels: number[] = [];
  let running = 0;
  let step = 0;
  // Apply all changes of one reading before counting, because they happen at the same time.
  for (const [at, together] of Map.groupBy(changes, (change) => change.at)) {
    for (const { by } of together) running += by;
    const began = together.filter(({ by }) => by > 0);
    if (began.length === 0 || at < start || at >= end) continue;
    while ((steps[step + 1]?.at ?? Infinity) <= at) step++;
    const current = steps[step];
    const used = current !== undefined && current.at <= at ? current.used : null;
    levels.push(...began.map(() => used ?? running));
  }
  return levels.sort((a, b) => a - b);
}
