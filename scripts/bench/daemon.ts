import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { cpuSeconds, inTurns, median, residentMegabytes } from "./measure.ts";
import { BINARY, type Place, rescan, startPlace } from "./place.ts";
import { lmstatText } from "./shapes.ts";
import { type Bench, type Bound, compared, figure, type Row } from "./table.ts";

const SERVERS = 200;
const CONCURRENCY = 8;
/**
 * Number of warm-up rounds, after which the code of a poll is compiled, as in a daemon that has run for
 * some minutes.
 */
const WARM_UPS = 3;
const ROUNDS = 7;
const CHECKOUTS = 350;
/** Number of checkouts that change between two polls, for the last rows of the result table. */
const CHANGED = 3;

const STARTS = 15;
/** Time to wait before memory is measured, so that the garbage of the startup is collected. */
const SETTLE_MS = 3000;

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

/** Runs the same commands and discards their output. */
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

/** Changes the handles of `seats` checkouts in each tool's output. */
async function changeHands(place: Place, output: string, seats: number, round: number): Promise<void> {
  let line = 0;
  const text = output.replace(/ (\d+)\), start /g, (same, handle: string) =>
    (line++ + round * seats) % CHECKOUTS < seats ? ` ${handle}${round}), start ` : same,
  );
  await Promise.all(place.addresses.map((address) => Bun.write(join(dirname(place.tool), address), text)));
}

/** Measures polls and bare spawns in turns. Returns a function that creates rows of medians. */
async function pollsOf(place: Place, prepare: (round: number) => Promise<unknown>) {
  const argvs = place.addresses.map((address) => [place.tool, "lmstat", "-a", "-i", "-c", address]);
  const polls = async (round: number) => {
    await prepare(round + 1);
    return costOf(place.pid, () => rescan(place));
  };
  const costs = await inTurns(ROUNDS, WARM_UPS, polls, () => costOf("self", () => bareSpawns(argvs)));
  return (what: string, field: keyof Cost, bound: Bound | null = null) => {
    const [ours, baseline] = [costs.ours, costs.baseline].map((all) =>
      median(all.map((each) => each[field])),
    );
    return compared(what, { ours: ours ?? NaN, baseline: baseline ?? NaN }, "ms", bound);
  };
}

export const daemon: Bench = {
  name: "daemon",
  what: `start of the binary, memory of an idle daemon, ${SERVERS} polls through a real tool that prints 50 KB`,
  run: async () => [...(await startRows()), ...(await pollRows())],
};

function startMs(argv: string[]): number {
  const samples: number[] = [];
  for (let round = 0; round <= STARTS; round++) {
    const startedAt = performance.now();
    const { success } = Bun.spawnSync(argv, { cwd: "/", env: {}, stdin: "ignore", stdout: "ignore" });
    if (!success) throw new Error(`${argv.join(" ")} failed`);
    // Skip the first start, which reads the file from disk.
    if (round > 0) samples.push(performance.now() - startedAt);
  }
  return median(samples);
}

async function startRows(): Promise<Row[]> {
  const folder = await mkdtemp(join(tmpdir(), "licmond-bench-"));
  try {
    const bare = join(folder, "bare");
    await Bun.write(`${bare}.ts`, 'console.log("0.0.0");\n');
    const built = await Bun.build({ entrypoints: [`${bare}.ts`], compile: { outfile: bare }, throw: false });
    if (!built.success) throw new Error(`the bare binary does not build: ${built.logs.join("\n")}`);
    const starts = { ours: startMs([BINARY, "--version"]), baseline: startMs([bare]) };
    const what = `--version, median of ${STARTS}, compared with a bare console.log`;
    await using place = await startPlace({ outputs: [] });
    await Bun.sleep(SETTLE_MS);
    const memory = await residentMegabytes(place.pid);
    return [
      compared(what, starts, "ms", { of: "ours", atMost: 50 }),
      figure("memory of an idle `serve`", memory.all, "MB", 75),
      figure("… of it not mapped from files", memory.own, "MB"),
    ];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function pollRows(): Promise<Row[]> {
  const output = lmstatText({ features: 25, checkouts: CHECKOUTS, bytes: 50_000 });
  await using place = await startPlace({
    outputs: Array.from({ length: SERVERS }, () => output),
    concurrency: CONCURRENCY,
  });
  const polls = `${SERVERS} polls of ${(output.length / 1000).toFixed(0)} KB`;
  const same = await pollsOf(place, async () => {});
  const changing = await pollsOf(place, (round) => changeHands(place, output, CHANGED, round));
  const changed = `${polls}, ${CHANGED} of ${CHECKOUTS} checkouts changed`;
  return [
    same(`${polls}, wall`, "wallMs", { of: "ratio", atMost: 2 }),
    same(`${polls}, CPU with tools`, "cpuMs"),
    changing(`${changed}, wall`, "wallMs"),
    changing(`${changed}, CPU with tools`, "cpuMs"),
  ];
}
