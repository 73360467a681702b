import { dirname, join } from "node:path";
import { cpuSeconds, median } from "./measure.ts";
import { type Place, rescan, startPlace } from "./place.ts";
import { lmstatText } from "./shapes.ts";
import type { Bench, Row } from "./table.ts";

const SERVERS = 200;
const CONCURRENCY = 8;
const ROUNDS = 5;
const CHECKOUTS = 350;
/** Seats of a server that change hands between two polls in the second row. */
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

async function measure(
  pid: number | "self",
  work: () => Promise<unknown>,
  before: (round: number) => Promise<unknown> = async () => {},
): Promise<Cost> {
  await work();
  const costs: Cost[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await before(round);
    costs.push(await costOf(pid, work));
  }
  return { wallMs: median(costs.map((cost) => cost.wallMs)), cpuMs: median(costs.map((cost) => cost.cpuMs)) };
}

/** Gives so many seats of each server to other holders: the handles of their lines are new. */
async function changeHands(place: Place, output: string, seats: number, round: number): Promise<void> {
  let line = 0;
  const text = output.replace(/ (\d+)\), start /g, (same, handle: string) =>
    (line++ + round * seats) % CHECKOUTS < seats ? ` ${handle}${round}), start ` : same,
  );
  await Promise.all(place.addresses.map((address) => Bun.write(join(dirname(place.tool), address), text)));
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
    const ours = await measure(place.pid, () => rescan(place));
    const changing = await measure(
      place.pid,
      () => rescan(place),
      (round) => changeHands(place, output, CHANGED, round + 1),
    );
    const argvs = place.addresses.map((address) => [place.tool, "lmstat", "-a", "-i", "-c", address]);
    const bare = await measure("self", () => bareSpawns(argvs));
    const size = `${(output.length / 1000).toFixed(0)} KB`;
    return [
      {
        what: `${SERVERS} polls of ${size}, wall`,
        ours: ours.wallMs,
        baseline: bare.wallMs,
        unit: "ms",
        bound: { of: "ratio", atMost: 2 },
      },
      {
        what: `the same, ${CHANGED} of ${CHECKOUTS} checkouts change between polls`,
        ours: changing.wallMs,
        baseline: bare.wallMs,
        unit: "ms",
        bound: null,
      },
      {
        what: `${SERVERS} polls of ${size}, CPU with tools`,
        ours: ours.cpuMs,
        baseline: bare.cpuMs,
        unit: "ms",
        bound: null,
      },
    ];
  },
};
