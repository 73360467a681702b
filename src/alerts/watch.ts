import type { Patience } from "./rules.ts";
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
}

interface Run {
  /** Looks in a row at this level or worse, counted no further than is needed. */
  readonly above: number;
  /** Time of the first of them, epoch ms; 0 when there is none. */
  readonly since: number;
  /** Looks in a row below it, counted no further than is needed. */
  readonly below: number;
}

export interface Needs {
  /** Looks in a row before it fires or rises, at least 1. */
  readonly failures: number;
  /** Looks in a row before it is over, at least 1. */
  readonly recoveries: number;
  /** How long the looks must have been bad, too. */
  readonly forMs: number;
}

export const UNWATCHED: Watch = { level: 0, runs: [], until: null };
const NO_RUN: Run = { above: 0, since: 0, below: 0 };

export function needsOf(
  { failures, featureFailures, recoveries, forMs }: SubjectSettings,
  patience: Patience,
): Needs {
  if (patience === "none") return { failures: 1, recoveries: 1, forMs: 0 };
  return patience === "poll"
    ? { failures, recoveries, forMs: 0 }
    : { failures: featureFailures, recoveries, forMs };
}

/**
 * One look at `at` that saw `seen`; a watch that it does not change comes back itself. `isGap`: before it there was no
 * look for so long that nothing is known of the time between, so what must last for a time begins again.
 */
export function step(watch: Watch, seen: number, at: number, isGap: boolean, needs: Needs): Watch {
  const runs: Run[] = [];
  for (let level = 1; level <= Math.max(watch.runs.length, watch.level, seen); level++) {
    const run = watch.runs[level - 1] ?? NO_RUN;
    if (seen < level) {
      runs.push({ above: 0, since: 0, below: Math.min(run.below + 1, needs.recoveries) });
      continue;
    }
    const begins = run.above === 0 || (isGap && needs.forMs > 0 && level > watch.level);
    runs.push({
      above: Math.min(begins ? 1 : run.above + 1, needs.failures),
      // Not later than now: the clock may have been ahead when it began.
      since: begins ? at : Math.min(run.since, at),
      below: 0,
    });
  }
  const reached = runs.findLastIndex(
    ({ above, since }) => above >= needs.failures && at - since >= needs.forMs,
  );
  let level = Math.max(watch.level, reached + 1);
  // What is below a level is below those above it: this ends at the worst of the last looks.
  while (level > 0 && (runs[level - 1]?.below ?? 0) >= needs.recoveries) level--;
  const next = { level, runs, until: watch.until };
  return Bun.deepEquals(next, watch) ? watch : next;
}

/** True when nothing of it need be remembered. */
export function isIdle({ level, runs, until }: Watch): boolean {
  return level === 0 && until === null && runs.every(({ above }) => above === 0);
}

/** A watch as it was stored; null when the text is none. */
export function readWatch(text: string): Watch | null {
  try {
    const { level, runs, until = null } = (JSON.parse(text) ?? {}) as Partial<Watch>;
    return typeof level === "number" && Array.isArray(runs) ? { level, runs, until } : null;
  } catch {
    return null;
  }
}
