import type { Series, Step } from "../history.ts";

/**
 * Several features as one: at any moment the sum of those that are known then. A moment is covered when at least one
 * of them is; it has a total when each of the known ones has, and is unlimited when one of them is.
 * All series are of the same range.
 */
export function together(
  series: readonly Pick<Series, "steps">[],
  start: number,
  end: number,
): Pick<Series, "steps" | "start" | "end"> {
  const [only] = series;
  if (series.length === 1 && only !== undefined) return { steps: only.steps, start, end };
  const changes = series
    .flatMap(({ steps }, index) => steps.map((step) => ({ step, index })))
    .sort((a, b) => a.step.at - b.step.at);
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
  for (const [at, { step, index }] of changes.entries()) {
    count(now[index], -1);
    count(step, 1);
    now[index] = step;
    if (changes[at + 1]?.step.at === step.at) continue;
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
