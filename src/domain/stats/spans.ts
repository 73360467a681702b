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
