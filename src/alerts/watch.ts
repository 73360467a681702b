import type { SubjectSettings } from "./settings.ts";

/**
 * The patience between what a look sees and the alert: an alert stands at a level (0 = none, higher = worse), rises when
 * enough looks in a row were at least that bad, and falls when enough in a row were less. Pure.
 */

/** What is remembered of one subject between looks. */
export interface Watch {
  /** The level of the alert. */
  readonly level: number;
  /** Of level 1, 2, …: how the looks compared to it. */
  readonly runs: readonly Run[];
  /** When what happened once counts as over, epoch ms; null where looks decide. */
  readonly until: number | null;
  /** Requests that were denied for want of seats since the condition began, or since the last reading. */
  readonly denied?: { readonly count: number; readonly lastAt: number };
}

interface Run {
  /** Looks in a row at this level or worse, counted no further than is needed. */
  readonly above: number;
  /** Looks in a row below it, counted no further than is needed. One of the two is 0. */
  readonly below: number;
  /** Time of the first look in the row, epoch ms. */
  readonly since: number;
}

/**
 * `seats`: what has lasted for `for`, for the begin and for the end. `poll`: polls and parts that fail, `failures` times in
 * a row. `none`: one look is enough, for the begin and for the end.
 */
export type Patience = "seats" | "poll" | "none";

export interface Needs {
  /** Looks in a row before it fires or rises, at least 1. */
  readonly failures: number;
  /** Looks in a row before it is over, at least 1. */
  readonly recoveries: number;
  /** How long the looks must have been bad, too; twice as long they must be well before it is over. */
  readonly forMs: number;
}

export const UNWATCHED: Watch = { level: 0, runs: [], until: null };
const NO_RUN: Run = { above: 0, below: 0, since: 0 };

export function needsOf({ failures, recoveries, forMs }: SubjectSettings, patience: Patience): Needs {
  if (patience === "none") return { failures: 1, recoveries: 1, forMs: 0 };
  return patience === "poll" ? { failures, recoveries, forMs: 0 } : { failures: 1, recoveries, forMs };
}

/**
 * One look at `at` that saw `seen`; a watch that it does not change comes back itself. `isGap`: before it there was no
 * look for so long that nothing is known of the time between, so what must last for a time begins again. `isNew`: the
 * tool was asked; else time went on with what the last poll saw, which counts as no look.
 */
export function step(
  watch: Watch,
  seen: number,
  at: number,
  isGap: boolean,
  needs: Needs,
  isNew = true,
): Watch {
  const one = isNew ? 1 : 0;
  const runs: Run[] = [];
  for (let level = 1; level <= Math.max(watch.runs.length, watch.level, seen); level++) {
    const run = watch.runs[level - 1] ?? NO_RUN;
    const isAbove = seen >= level;
    const waitsOn = isAbove === level > watch.level;
    const begins = (isAbove ? run.above : run.below) === 0 || (isGap && needs.forMs > 0 && waitsOn);
    const count = (looks: number, enough: number) => Math.min(begins ? 1 : looks + one, enough);
    runs.push({
      above: isAbove ? count(run.above, needs.failures) : 0,
      below: isAbove ? 0 : count(run.below, needs.recoveries),
      // Not later than now: the clock may have been ahead when it began.
      since: begins ? at : Math.min(run.since, at),
    });
  }
  // How bad it is follows at once when its alert fires.
  const isLong = watch.level > 0 || at - (runs[0]?.since ?? at) >= needs.forMs;
  const reached = isLong ? runs.findLastIndex(({ above }) => above >= needs.failures) : -1;
  let level = Math.max(watch.level, reached + 1);
  // What is below a level is below those above it: this ends at the worst of the last looks.
  // Twice as long as it took to begin: what comes back within the hour is the same trouble.
  const isOver = ({ below, since } = NO_RUN) => below >= needs.recoveries && at - since >= 2 * needs.forMs;
  while (level > 0 && isOver(runs[level - 1])) level--;
  const next = { ...watch, level, runs };
  return Bun.deepEquals(next, watch) ? watch : next;
}

/** True when nothing of it need be remembered. */
export function isIdle(watch: Watch): boolean {
  return !isBad(watch) && watch.until === null && watch.denied === undefined;
}

/** Whether its alert fires, or may come: the last looks were bad. */
export function isBad({ level, runs }: Watch): boolean {
  return level > 0 || runs.some(({ above }) => above > 0);
}

/** A watch as it was stored; null when the text is none. */
export function readWatch(text: string): Watch | null {
  try {
    const { level, runs, until = null, ...rest } = (JSON.parse(text) ?? {}) as Partial<Watch>;
    return typeof level === "number" && Array.isArray(runs) ? { level, runs, until, ...rest } : null;
  } catch {
    return null;
  }
}
