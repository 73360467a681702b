import type { DaemonReading } from "../reading.ts";

/** Denials that each daemon had counted when it was last read, by its name. */
export type DenialCounters = Readonly<Record<string, number>>;

export interface CounterStep {
  readonly counters: DenialCounters;
  /** Daemons that denied something since, and how often. */
  readonly denied: readonly { readonly daemon: string; readonly count: number }[];
  /** False when nothing need be kept anew. */
  readonly changed: boolean;
}

/**
 * Differences of the daemons' own counters. The first reading of a daemon is where counting begins; a counter that
 * fell began anew at 0 when its daemon was restarted, so that all it shows has happened since.
 */
export function countDenials(before: DenialCounters, daemons: readonly DaemonReading[]): CounterStep {
  const counters: Record<string, number> = { ...before };
  const denied: { daemon: string; count: number }[] = [];
  let changed = false;
  for (const { name, totals } of daemons) {
    const now = totals?.denials ?? null;
    if (now === null) continue;
    const was = before[name];
    if (was === now) continue;
    counters[name] = now;
    changed = true;
    if (was === undefined) continue;
    const count = now > was ? now - was : now;
    if (count > 0) denied.push({ daemon: name, count });
  }
  return { counters, denied, changed };
}
