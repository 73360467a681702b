import type { SubjectSettings } from "./settings.ts";

/**
 * Delays alerts against short disturbances. An alert has a level (0 = none, higher = worse). The level
 * rises after enough consecutive observations that are at least as bad, and falls after enough observations
 * below it. Pure.
 */

export interface Watch {
  readonly level: number;
  /** One run for each level, beginning with level 1. */
  readonly runs: readonly Run[];
  /** When a one-time event ends, epoch ms; null if observations decide. */
  readonly until: number | null;
  /** Requests denied without a free seat since the condition began, or since the last reading. */
  readonly denied?: { readonly count: number; readonly lastAt: number };
}

interface Run {
  /** Number of consecutive observations at this level or worse, capped at the number that the rule needs. */
  readonly above: number;
  /**
   * Number of consecutive observations below this level, capped in the same way. Either this or `above` is
   * 0.
   */
  readonly below: number;
  /** Start of the current run of observations, epoch ms. */
  readonly since: number;
}

/**
 * `seats`: the condition must last for `for`, to begin and to end. `poll`: `failures` consecutive failures.
 * `none`: one observation suffices.
 */
export type Patience = "seats" | "poll" | "none";

export interface Needs {
  /** Number of consecutive observations required to fire or rise, at least 1. */
  readonly failures: number;
  /** Number of consecutive observations required to resolve, at least 1. */
  readonly recoveries: number;
  /**
   * Minimum duration of the condition before the alert fires. The alert resolves after twice this time
   * without the condition.
   */
  readonly forMs: number;
}

export const UNWATCHED: Watch = { level: 0, runs: [], until: null };
const NO_RUN: Run = { above: 0, below: 0, since: 0 };

export function needsOf({ failures, recoveries, forMs }: SubjectSettings, patience: Patience): Needs {
  if (patience === "none") return { failures: 1, recoveries: 1, forMs: 0 };
  return patience === "poll" ? { failures, recoveries, forMs: 0 } : { failures: 1, recoveries, forMs };
}

/**
 * Applies an observation of level `seen` at the time `at`; returns the same watch if nothing changed.
 * `isGap`: the previous observation is so old that durations start again. `isNew`: the observation comes
 * from a new poll; otherwise only time has passed since the last poll, and the observation is not counted.
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
      // The start must not be in the future. It could be if the clock was ahead.
      since: begins ? at : Math.min(run.since, at),
    });
  }
  // An alert that already fires rises without waiting for the duration again.
  const isLong = watch.level > 0 || at - (runs[0]?.since ?? at) >= needs.forMs;
  const reached = isLong ? runs.findLastIndex(({ above }) => above >= needs.failures) : -1;
  let level = Math.max(watch.level, reached + 1);
  // Observations below a level are also below higher ones, so the loop stops at the worst recent level.
  // Resolving takes double the time of firing, so that trouble that returns within the hour stays one alert.
  const isOver = ({ below, since } = NO_RUN) => below >= needs.recoveries && at - since >= 2 * needs.forMs;
  while (level > 0 && isOver(runs[level - 1])) level--;
  const next = { ...watch, level, runs };
  return Bun.deepEquals(next, watch) ? watch : next;
}

export function isIdle(watch: Watch): boolean {
  return !isBad(watch) && watch.until === null && watch.denied === undefined;
}

export function isBad({ level, runs }: Watch): boolean {
  return level > 0 || runs.some(({ above }) => above > 0);
}

export function readWatch(text: string): Watch | null {
  try {
    const { level, runs, until = null, ...rest } = (JSON.parse(text) ?? {}) as Partial<Watch>;
    return typeof level === "number" && Array.isArray(runs) ? { level, runs, until, ...rest } : null;
  } catch {
    return null;
  }
}
