import type { Series, Step } from "../history.ts";

/** Calls back for each step of a series with the time it holds, [from, to); steps that hold no time are left out. */
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

/** Finds the places of times between ascending edges: place i is [edges[i], edges[i + 1]). */
export interface Cutter {
  /** The place of a time; ascending times are found at once. */
  placeOf(at: number): number;
  /** Cuts [from, to) at the edges. */
  cut(from: number, to: number, visit: (place: number, from: number, to: number) => void): void;
}

export function createCutter(edges: readonly number[]): Cutter {
  let current = 0;

  function placeOf(at: number): number {
    if (at >= (edges[current] ?? 0) && at < (edges[current + 1] ?? Infinity)) return current;
    // A jump of many places (a long gap) must not be walked.
    let [low, high] = at < (edges[current] ?? 0) ? [0, current] : [current + 1, edges.length - 1];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((edges[middle] ?? Infinity) <= at) low = middle;
      else high = middle;
    }
    current = low;
    return low;
  }

  return {
    placeOf,
    cut(from, to, visit) {
      let place = placeOf(from);
      for (let at = from; at < to; place++) {
        const until = Math.min(to, edges[place + 1] ?? to);
        visit(place, at, until);
        at = until;
      }
    },
  };
}
