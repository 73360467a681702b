import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { lmstat } from "./lmstat.ts";

/** Seats of the one feature of each server; each goes from hand to hand by the clock. */
export const SEATS = 8;

/** A user who takes one seat once: the name says which. */
export interface Taking {
  readonly user: string;
  readonly handle: number;
  /** Epoch ms; [from, to). */
  readonly from: number;
  readonly to: number;
}

/** What was held of a server's feature in [start, end), known without asking anybody. `begin` is any fixed instant before. */
export function takings(server: number, begin: number, start: number, end: number): Taking[] {
  const found: Taking[] = [];
  for (let seat = 0; seat < SEATS; seat++) {
    const period = 19_000 + ((server * 7 + seat * 5) % 13) * 1_000;
    // Half of the seats are handed over in the same moment.
    const held = seat % 2 === 0 ? period : period - 6_000;
    for (let turn = Math.max(0, Math.floor((start - begin) / period)); ; turn++) {
      const from = begin + turn * period;
      if (from >= end) break;
      const taking = {
        user: `u${server}_${seat}_${turn}`,
        handle: 1 + turn * SEATS + seat,
        from,
        to: from + held,
      };
      if (taking.to > start) found.push(taking);
    }
  }
  return found;
}

/** One answer of the tool. */
export interface Asked {
  readonly server: number;
  /** The instant that it told of, epoch ms. */
  readonly at: number;
}

/** The tool: prints who holds what, at the latest at the instant that the file `frozen` names, and notes that it was asked. */
export function answer(address: string, begin: number, asked: string, frozen: string): void {
  const server = Number(/srv(\d+)/.exec(address)?.[1]);
  const last = existsSync(frozen) ? Number(readFileSync(frozen, "utf8")) : Number.POSITIVE_INFINITY;
  const at = Math.min(Date.now(), last);
  const holders = takings(server, begin, at, at + 1).map(({ user, handle, from }) => ({
    user,
    handle,
    host: "ws1",
    since: new Date(from),
  }));
  appendFileSync(asked, `${JSON.stringify({ server, at } satisfies Asked)}\n`);
  process.stdout.write(lmstat({ [`solver${server}`]: { total: SEATS, holders } }));
}
