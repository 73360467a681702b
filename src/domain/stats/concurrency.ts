import type { Step } from "../history.ts";
import type { Holding } from "./holding.ts";

/**
 * For each session of one feature that begins in [start, end) the seats in use with it, ascending: as the steps say
 * at its first reading, and in a gap as the sessions then running add up.
 */
export function levelsAtBegin(
  sessions: readonly (Holding & { readonly count: number; readonly firstSeenAt: number })[],
  steps: readonly Step[],
  start: number,
  end: number,
): number[] {
  const changes = sessions
    .flatMap((session) => [
      { at: session.firstSeenAt, by: session.count, begins: true },
      { at: Math.max(session.to, session.firstSeenAt), by: -session.count, begins: false },
    ])
    .sort((a, b) => a.at - b.at || Number(a.begins) - Number(b.begins));
  const levels: number[] = [];
  let running = 0;
  let step = 0;
  for (let index = 0; index < changes.length; ) {
    const at = changes[index]?.at ?? 0;
    let began = 0;
    // All that happens at one reading happens together.
    for (; changes[index]?.at === at; index++) {
      const change = changes[index];
      if (change === undefined) break;
      running += change.by;
      if (change.begins) began++;
    }
    if (began === 0 || at < start || at >= end) continue;
    while ((steps[step + 1]?.at ?? Infinity) <= at) step++;
    const current = steps[step];
    const used = current !== undefined && current.at <= at ? current.used : null;
    for (let each = 0; each < began; each++) levels.push(used ?? running);
  }
  return levels.sort((a, b) => a - b);
}
