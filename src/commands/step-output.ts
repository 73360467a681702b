import { escapeControls } from "../domain/plain-text.ts";
import { lockInstallation } from "../install/lock.ts";
import { applySteps, changesSomething, type PlannedStep, planSteps, type Step } from "../install/step.ts";
import { type CommandIo, EXIT_FAILURE, fail } from "./io.ts";

export interface StepOptions {
  readonly dryRun: boolean;
  /** Where steps are done one process at a time: {@link lockPath}. */
  readonly lock: string;
  /** Say nothing of steps that have nothing to do. */
  readonly brief?: boolean;
}

export interface StepsRun {
  /** `refused` and `failed` have been said, with an exit code. */
  readonly outcome: "changed" | "unchanged" | "planned" | "refused" | "failed";
  /** Subjects of the steps that have done something. */
  readonly done: ReadonlySet<string>;
}

/** For commands that can simply be run again. */
export const GOES_ON = "  What is listed as done stays done; the same command goes on from there.\n";

/**
 * Plans every step, and does them unless one refuses or it is a dry run: one line each on stdout.
 * Nothing is changed before all have been looked at.
 */
export async function runSteps(
  steps: readonly Step[],
  { dryRun, brief = false, lock }: StepOptions,
  io: CommandIo,
): Promise<StepsRun> {
  const tell = (step: PlannedStep, doing: "would" | "done") => {
    if (!brief || step.plan.kind !== "nothing") io.out(lineOf(step, doing));
  };
  const first = await plan(steps, io);
  if (first === null) return { outcome: "refused", done: new Set() };
  if (dryRun) {
    for (const step of first) tell(step, "would");
    return { outcome: "planned", done: new Set() };
  }
  if (!changesSomething(first)) {
    for (const step of first) tell(step, "done");
    return { outcome: "unchanged", done: new Set() };
  }
  const locked = lockInstallation(lock);
  if ("holder" in locked) {
    fail(
      io,
      `another licmond (process ${locked.holder}) is at work on this installation: nothing was changed`,
    );
    return { outcome: "refused", done: new Set() };
  }
  try {
    // Who held the lock until now may have done it all.
    const planned = await plan(steps, io);
    if (planned === null) return { outcome: "refused", done: new Set() };
    return await apply(planned, (step) => tell(step, "done"), io);
  } finally {
    locked.release();
  }
}

/** Null when a step refuses, which has been said. */
async function plan(steps: readonly Step[], io: CommandIo): Promise<readonly PlannedStep[] | null> {
  const planned = await planSteps(steps);
  const refusals = planned.flatMap(({ plan }) => (plan.kind === "refuse" ? [plan] : []));
  if (refusals.length === 0) return planned;
  // Several steps may meet the same hindrance.
  const said = new Set(refusals.map(({ why, fix }) => `licmond: ${lines(why)}\n  fix: ${lines(fix)}\n`));
  for (const text of said) io.err(text);
  fail(io, "nothing was changed");
  return null;
}

async function apply(
  planned: readonly PlannedStep[],
  tell: (step: PlannedStep) => void,
  io: CommandIo,
): Promise<StepsRun> {
  const done = new Set<string>();
  try {
    await applySteps(planned, (step) => {
      if (step.plan.kind === "do") done.add(step.subject);
      tell(step);
    });
  } catch (error) {
    io.err(`licmond: ${lines(error instanceof Error ? error.message : String(error))}\n`);
    io.exitCode(EXIT_FAILURE);
    return { outcome: "failed", done };
  }
  return { outcome: changesSomething(planned) ? "changed" : "unchanged", done };
}

/** Words of several lines, each made harmless, all but the first indented. */
export function lines(text: string): string {
  return text.split("\n").map(escapeControls).join("\n    ");
}

function lineOf({ subject, plan }: PlannedStep, doing: "would" | "done"): string {
  const line = (mark: string, words: string) => `${mark.padEnd(6)} ${subject}: ${lines(words)}\n`;
  switch (plan.kind) {
    case "nothing":
      return line("ok", plan.why);
    case "do":
      return line(doing, plan.what);
    case "keep":
      return `${line("kept", plan.why)}       ${lines(plan.advice)}\n`;
    case "refuse":
      return line("no", plan.why);
  }
}
