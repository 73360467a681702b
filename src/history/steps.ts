import type { Step } from "../domain/history.ts";

/** A server was read without a break in [from, until). */
export interface Interval {
  readonly from: number;
  readonly until: number;
}

/**
 * What samples and coverage say of [start, end): the first step at `start`, gaps as gaps, no two equal neighbours.
 * Samples hold only within the coverage in which they were taken: it begins with one for each feature that was read.
 * Both are ascending, the intervals do not overlap.
 */
export function stepsOf(
  samples: readonly Step[],
  coverage: readonly Interval[],
  start: number,
  end: number,
): Step[] {
  const steps: Step[] = [];
  const push = (step: Step) => {
    const last = steps.at(-1);
    if (last !== undefined && last.at === step.at) steps.pop();
    const before = steps.at(-1);
    if (before === undefined || !sameCounts(before, step)) steps.push(step);
  };
  if (start >= end) return steps;
  push(gapAt(start));
  let index = 0;
  for (const { from, until } of coverage) {
    const low = Math.max(from, start);
    const high = Math.min(until, end);
    if (low >= high) continue;
    let held: Step | null = null;
    for (; ; index++) {
      const sample = samples[index];
      if (sample === undefined || sample.at > low) break;
      if (sample.at >= from) held = sample;
    }
    push(held === null || held.used === null ? gapAt(low) : { ...held, at: low });
    for (; ; index++) {
      const sample = samples[index];
      if (sample === undefined || sample.at >= high) break;
      push(sample.used === null ? gapAt(sample.at) : sample);
    }
    if (until < end) push(gapAt(until));
  }
  return steps;
}

export function gapAt(at: number): Step {
  return { at, total: null, used: null, reserved: null, queued: null, unlimited: false };
}

export function sameCounts(a: Step, b: Step): boolean {
  return (
    a.used === b.used &&
    a.total === b.total &&
    a.reserved === b.reserved &&
    a.queued === b.queued &&
    a.unlimited === b.unlimited
  );
}
