import type { Series, Step } from "../history.ts";
import { poolOf, seatSets, sumOfKnown } from "../polls/seat-groups.ts";

/** Visits each step of a series with its time [from, to). Skips steps of zero length. */
export function eachSpan(
  { steps, start, end }: Pick<Series, "steps" | "start" | "end">,
  visit: (step: Step, from: number, to: number) => void,
): void {
  for (let index = 0; index < steps.length; index++) {
    const step = steps[index];
    if (step === undefined) continue;
    const from = Math.max(start, step.at);
    const to = Math.min(end, steps[index + 1]?.at ?? end);
    if (to > from) visit(step, from, to);
  }
}

/**
 * Adds up several features. At any moment, the sum is that of the known features. A moment is covered if at
 * least one feature is known. The sum has a total if every known feature has a total, and is unlimited if
 * one of them is. All series have the same range.
 */
export function sumOfSeries(
  series: readonly Pick<Series, "steps">[],
  start: number,
  end: number,
): Pick<Series, "steps" | "start" | "end"> {
  const now: (Step | undefined)[] = [];
  const sum = { known: 0, used: 0, totalled: 0, total: 0, unlimited: 0 };
  const count = (step: Step | undefined, sign: 1 | -1) => {
    if (step === undefined || step.used === null) return;
    sum.known += sign;
    sum.used += sign * step.used;
    if (step.unlimited) sum.unlimited += sign;
    else if (step.total !== null) {
      sum.totalled += sign;
      sum.total += sign * step.total;
    }
  };
  const steps: Step[] = [];
  for (const { step, index, isLast } of changesOf(series)) {
    count(now[index], -1);
    count(step, 1);
    now[index] = step;
    if (!isLast) continue;
    const limited = sum.unlimited === 0 && sum.totalled === sum.known && sum.known > 0;
    steps.push({
      at: step.at,
      total: limited ? sum.total : null,
      used: sum.known > 0 ? sum.used : null,
      reserved: null,
      queued: null,
      unlimited: sum.unlimited > 0,
    });
  }
  return { steps, start, end };
}

/** Returns the steps of all series by time. `isLast` is false if another step follows at the same time. */
function changesOf(series: readonly Pick<Series, "steps">[]) {
  const changes = series
    .flatMap(({ steps }, index) => steps.map((step) => ({ step, index, isLast: true })))
    .sort((a, b) => a.step.at - b.step.at);
  for (const [at, change] of changes.entries()) change.isLast = changes[at + 1]?.step.at !== change.step.at;
  return changes;
}

/**
 * Adds up the seats of several features like {@link sumOfSeries}, but counts each seat group once and only
 * seats (`polls/seat-groups.ts`).
 */
export function sumOfSeats(
  series: readonly Pick<Series, "steps" | "feature">[],
  start: number,
  end: number,
): Pick<Series, "steps" | "start" | "end"> {
  const features = series.map((one) => ({ ...one.feature, one }));
  const sets = seatSets(features, ({ server }) => server);
  return sumOfSeries(
    sets.map((set) => poolOfSeries(set.map(({ one }) => one))),
    start,
    end,
  );
}

/** Combines the features of a seat group. At any moment, only features whose use is known then contribute. */
export function poolOfSeries(members: readonly Pick<Series, "steps" | "feature">[]): Pick<Series, "steps"> {
  const [first] = members;
  if (first !== undefined && members.length === 1) return first;
  const now: Step[] = [];
  const steps = changesOf(members).flatMap(({ step, index, isLast }) => {
    now[index] = step;
    if (!isLast) return [];
    const known = Object.values(now).filter(({ used }) => used !== null);
    const queued = sumOfKnown(known.map((each) => each.queued));
    return [{ at: step.at, ...poolOf(known, first?.feature.unit), reserved: null, queued }];
  });
  return { steps };
}

/**
 * Returns the first place for which the condition holds, or `count`. The condition must hold for all later
 * places, too.
 */
export function firstWhere(count: number, holds: (place: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Finds the place of a time between ascending edges: place i is [edges[i], edges[i + 1]). */
export function createCutter(edges: readonly number[]) {
  let current = 0;

  function placeOf(at: number): number {
    if (at < (edges[current] ?? 0) || at >= (edges[current + 1] ?? Infinity))
      // Uses binary search, because a long gap may jump over many places.
      current = Math.max(0, firstWhere(edges.length - 1, (place) => (edges[place] ?? Infinity) > at) - 1);
    return current;
  }

  return {
    placeOf,
    cut(from: number, to: number, visit: (place: number, from: number, to: number) => void): void {
      let place = placeOf(from);
      for (let at = from; at < to; place++) {
        const until = Math.min(to, edges[place + 1] ?? to);
        visit(place, at, until);
        at = until;
      }
    },
  };
}
