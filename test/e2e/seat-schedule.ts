import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { lmstat } from "./lmstat.ts";

/** Number of seats of each server's only feature. Each seat changes hands by the clock. */
export const SEATS = 8;

/** A checkout. Its user has no other checkout. */
export interface Taking {
  readonly user: string;
  readonly handle: number;
  /** Start of the checkout in epoch ms. The end `to` is exclusive. */
  readonly from: number;
  readonly to: number;
}

/** Computes the checkouts of a server's feature in [start, end) without the tool. `begin` is a fixed time in the past. */
export function takings(server: number, begin: number, start: number, end: number): Taking[] {
  const found: Taking[] = [];
  for (let seat = 0; seat < SEATS; seat++) {
    const period = 19_000 + ((server * 7 + seat * 5) % 13) * 1_000;
    // Half of the seats change hands without a gap.
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

export interface Asked {
  readonly server: number;
  /** Time of the printed state in epoch ms. */
  readonly at: number;
}

/**
 * Acts as the tool: prints the holders now, or at the instant in the file `frozen` if that instant is earlier. Records the
 * run.
 */
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
