import { escapeControls } from "../domain/plain-text.ts";
import { lockInstallation } from "../install/lock.ts";
import { createPass, type Finding, type Pass, StepError, type Verb } from "../install/pass.ts";
import { type CommandIo, EXIT_FAILURE, fail } from "./io.ts";

/** `refused` and `failed` have been said, with an exit code. */
export type Outcome = "changed" | "unchanged" | "planned" | "refused" | "failed";

/** For commands that can simply be run again. */
export const GOES_ON = "  What is listed as done stays done; the same command goes on from there.\n";

/**
 * Looks at every step of a verb, then does them unless one refuses or it is a dry run: one line each on stdout, with
 * `brief` none for steps that have nothing to do. `lock`: where installations wait for each other.
 * `pass` is the one that came last: it says what was changed.
 */
export async function runVerb(
  verb: Verb,
  lock: string,
  dryRun: boolean,
  brief: boolean,
  io: CommandIo,
): Promise<{ readonly outcome: Outcome; readonly pass: Pass }> {
  const tell = (doing: "would" | "done") => (finding: Finding) => {
    if (!brief || finding.kind !== "nothing") io.out(lineOf(finding, doing));
  };
  const look = createPass(false);
  await verb(look);
  if (saidRefusals(look, io)) return { outcome: "refused", pass: look };
  if (dryRun || !look.hasWork()) {
    look.found.forEach(tell(dryRun ? "would" : "done"));
    return { outcome: dryRun ? "planned" : "unchanged", pass: look };
  }
  const locked = lockInstallation(lock);
  if ("holder" in locked) {
    fail(
      io,
      `another licmond (process ${locked.holder}) is at work on this installation: nothing was changed`,
    );
    return { outcome: "refused", pass: look };
  }
  const act = createPass(true, tell("done"));
  try {
    await verb(act);
    // The process that held the lock until now may have done it all.
    return { outcome: act.hasWork() ? "changed" : "unchanged", pass: act };
  } catch (error) {
    if (!(error instanceof StepError)) throw error;
    io.err(`licmond: ${lines(error.message)}\n`);
    io.exitCode(EXIT_FAILURE);
    return { outcome: "failed", pass: act };
  } finally {
    locked.release();
  }
}

function saidRefusals(pass: Pass, io: CommandIo): boolean {
  const refusals = pass.found.filter((each) => each.kind === "refuse");
  // Several steps may meet the same hindrance.
  const said = new Set(
    refusals.map(({ words, advice }) => `licmond: ${lines(words)}\n  fix: ${lines(advice ?? "")}\n`),
  );
  for (const text of said) io.err(text);
  if (said.size > 0) fail(io, "nothing was changed");
  return said.size > 0;
}

/** Words of several lines, each made harmless, all but the first indented. */
export function lines(text: string): string {
  return text.split("\n").map(escapeControls).join("\n    ");
}

function lineOf({ subject, kind, words, advice }: Finding, doing: "would" | "done"): string {
  const mark = { nothing: "ok", do: doing, keep: "kept", refuse: "no" }[kind];
  return `${mark.padEnd(6)} ${subject}: ${lines(words)}\n${advice === null ? "" : `       ${lines(advice)}\n`}`;
}
