import type { Step } from "../history.ts";
import type { Holding } from "./holding.ts";

/** Seats held over time. There may be millions of them: each takes three numbers in a row. */
export interface HeldSeats {
  add(part: Holding, count: number): void;
  /** Most held at one moment. Seats given back at a moment are free at that moment. */
  peak(): number;
}

export function createHeldSeats(): HeldSeats {
  /** From, to, seats, and so on. */
  const numbers: number[] = [];
  /** The most of those that never lasted: they cannot be laid over others. */
  let moment = 0;
  return {
    add({ from, to }, count) {
      if (from === to) moment = Math.max(moment, count);
      else numbers.push(from, to, count);
    },
    peak() {
      /** Places of a time in `numbers`: of a begin, or the next one, of its end. */
      const changes = new Uint32Array((numbers.length / 3) * 2);
      for (let each = 0; each < changes.length; each++) changes[each] = (each >> 1) * 3 + (each & 1);
      const at = (place: number) => numbers[place] ?? 0;
      const by = (place: number) => (place % 3 === 0 ? at(place + 2) : -at(place + 1));
      changes.sort((a, b) => at(a) - at(b) || by(a) - by(b));
      let now = 0;
      let peak = moment;
      for (const place of changes) {
        now += by(place);
        if (now > peak) peak = now;
      }
      return peak;
    },
  };
}

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
