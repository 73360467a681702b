import type { Series, Step } from "../history.ts";
import { clip, type Holding } from "./held-seats.ts";

/**
 * What people held of some features at once, as steps over the range of `base`: the sum of their counts, in whose gaps
 * nothing is known. Seats given back at a moment are free at it.
 */
export function heldSteps(
  { steps, start, end }: Pick<Series, "steps" | "start" | "end">,
  seats: readonly (Holding & { readonly count: number })[],
): Step[] {
  const changes = new Map(steps.map(({ at }) => [at, 0]));
  const change = (at: number, by: number) => changes.set(at, (changes.get(at) ?? 0) + by);
  for (const seat of seats) {
    const part = clip(seat, start, end);
    if (part === null) continue;
    change(part.from, seat.count);
    change(part.to, -seat.count);
  }
  const counts = new Map(steps.map((step) => [step.at, step]));
  let held = 0;
  let current: Step | undefined;
  return [...changes]
    .sort(([a], [b]) => a - b)
    .flatMap(([at, by]) => {
      held += by;
      current = counts.get(at) ?? current;
      return current === undefined ? [] : { ...current, at, used: current.used === null ? null : held };
    });
}
