import { escapeControls } from "../domain/plain-text.ts";
import { applySteps, changesSomething, type PlannedStep, planSteps, type Step } from "../install/step.ts";
import { type CommandIo, fail } from "./io.ts";

export interface StepOptions {
  readonly dryRun: boolean;
}

export interface StepsRun {
  /** `refused` and `failed` have been said, with an exit code. */
  readonly outcome: "changed" | "unchanged" | "planned" | "refused" | "failed";
  /** Subjects of the steps that have done something. */
  readonly done: ReadonlySet<string>;
}

/**
 * Plans every step, and does them unless one refuses or it is a dry run: one line each on stdout.
 * Nothing is changed before all have been looked at.
 */
export async function runSteps(
  steps: readonly Step[],
  { dryRun }: StepOptions,
  io: CommandIo,
): Promise<StepsRun> {
  const done = new Set<string>();
  const planned = await planSteps(steps);
  const refusals = planned.flatMap(({ plan }) => (plan.kind === "refuse" ? [plan] : []));
  for (const { why, fix } of refusals)
    io.err(`licmond: ${escapeControls(why)}\n  fix: ${escapeControls(fix)}\n`);
  if (refusals.length > 0) {
    fail(io, "nothing was changed");
    return { outcome: "refused", done };
  }
  if (dryRun) {
    for (const step of planned) io.out(lineOf(step, "would"));
    return { outcome: "planned", done };
  }
  try {
    await applySteps(planned, (step) => {
      if (step.plan.kind === "do") done.add(step.subject);
      io.out(lineOf(step, "done"));
    });
  } catch (error) {
    fail(io, error instanceof Error ? error.message : String(error));
    io.err("  What is listed as done stays done; the same command goes on from there.\n");
    return { outcome: "failed", done };
  }
  return { outcome: changesSomething(planned) ? "changed" : "unchanged", done };
}

function lineOf({ subject, plan }: PlannedStep, doing: "would" | "done"): string {
  const line = (mark: string, words: string) => `${mark.padEnd(6)} ${subject}: ${escapeControls(words)}\n`;
  switch (plan.kind) {
    case "nothing":
      return line("ok", plan.why);
    case "do":
      return line(doing, plan.what);
    case "keep":
      return `${line("kept", plan.why)}       ${escapeControls(plan.advice)}\n`;
    case "refuse":
      return line("no", plan.why);
  }
}
