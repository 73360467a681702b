import { dirname, join } from "node:path";
import { cpuSeconds, median } from "./measure.ts";
import { type Place, rescan, startPlace } from "./place.ts";
import { lmstatText } from "./shapes.ts";
import type { Bench, Row } from "./table.ts";

const SERVERS = 200;
const CONCURRENCY = 8;
/** Rounds until the poll is compiled, as it is in a daemon that has run for some minutes. */
const WARM_UPS = 3;
const ROUNDS = 7;
const CHECKOUTS = 350;
/** Seats of a server that change hands between two polls of the second row. */
const CHANGED = 3;

interface Cost {
  readonly wallMs: number;
  readonly cpuMs: number;
}

async function costOf(pid: number | "self", work: () => Promise<unknown>): Promise<Cost> {
  const [startedAt, cpuBefore] = [performance.now(), await cpuSeconds(pid)];
  await work();
  const wallMs = performance.now() - startedAt;
  return { wallMs, cpuMs: ((await cpuSeconds(pid)) - cpuBefore) * 1000 };
}

/** The same spawns in the same numbers, with nothing done to what they print. */
async function bareSpawns(argvs: readonly (readonly string[])[]): Promise<void> {
  const left = [...argvs];
  const worker = async () => {
    for (let argv = left.pop(); argv !== undefined; argv = left.pop()) {
      const child = Bun.spawn([...argv], { stdin: "ignore", stdout: "pipe", stderr: "pipe", detached: true });
      await Promise.all([child.stdout.bytes(), child.stderr.bytes(), child.exited]);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}

/** Gives so many seats of each server to other holders: the handles of their lines are new. */
async function changeHands(place: Place, output: string, seats: number, round: number): Promise<void> {
  let line = 0;
  const text = output.replace(/ (\d+)\), start /g, (same, handle: string) =>
    (line++ + round * seats) % CHECKOUTS < seats ? ` ${handle}${round}), start ` : same,
  );
  await Promise.all(place.addresses.map((address) => Bun.write(join(dirname(place.tool), address), text)));
}

/** Medians of rounds of polls and of bare spawns in turns, so that what else the machine does falls on both. */
async function inTurns(place: Place, prepare: (round: number) => Promise<unknown>) {
  const argvs = place.addresses.map((address) => [place.tool, "lmstat", "-a", "-i", "-c", address]);
  const costs: { ours: Cost; bare: Cost }[] = [];
  for (let round = 1; round <= WARM_UPS + ROUNDS; round++) {
    await prepare(round);
    const ours = await costOf(place.pid, () => rescan(place));
    const bare = await costOf("self", () => bareSpawns(argvs));
    if (round > WARM_UPS) costs.push({ ours, bare });
  }
  const row = (what: string, field: keyof Cost): Row => ({
    what,
    ours: median(costs.map(({ ours }) => ours[field])),
    baseline: median(costs.map(({ bare }) => bare[field])),
    unit: "ms",
    bound: null,
  });
  return row;
}

export const spawns: Bench = {
  name: "spawns",
  what: "200 servers polled through 200 real spawns of a tool that prints 50 KB",
  async run(): Promise<Row[]> {
    const output = lmstatText({ features: 25, checkouts: CHECKOUTS, bytes: 50_000 });
    await using place = await startPlace({
      outputs: Array.from({ length: SERVERS }, () => output),
      concurrency: CONCURRENCY,
    });
    const polls = `${SERVERS} polls of ${(output.length / 1000).toFixed(0)} KB`;
    const same = await inTurns(place, async () => {});
    const changing = await inTurns(place, (round) => changeHands(place, output, CHANGED, round));
    const changed = `${polls}, ${CHANGED} of ${CHECKOUTS} checkouts changed`;
    return [
      { ...same(`${polls}, wall`, "wallMs"), bound: { of: "ratio", atMost: 2 } },
      same(`${polls}, CPU with tools`, "cpuMs"),
      changing(`${changed}, wall`, "wallMs"),
      changing(`${changed}, CPU with tools`, "cpuMs"),
    ];
  },
};
