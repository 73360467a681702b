import { dirname, join } from "node:path";
import { cpuSeconds, medianTimes } from "./measure.ts";
import { pace } from "./pace.ts";
import { BINARY, rescan, startPlace } from "./place.ts";
import { lmstatText } from "./shapes.ts";
import type { Bench, Row } from "./table.ts";

const SERVERS = 100;
const FEATURES = 50;
const CHECKOUTS = 200;
const ROUNDS = 15;
const CHANGES_PER_SECOND = 50;
const SECONDS = 20;

export const words: Bench = {
  name: "words",
  what: `licmond who, status and top on ${SERVERS * FEATURES} features and ${SERVERS * CHECKOUTS} checkouts`,
  async run(): Promise<Row[]> {
    const outputOf = (server: number, checkouts: number) =>
      lmstatText({ features: FEATURES, checkouts, address: `${27_000 + server}@localhost` });
    const servers = Array.from({ length: SERVERS }, (_, server) => server);
    const outputs = servers.map((server) => outputOf(server, CHECKOUTS));
    await using place = await startPlace({ outputs });
    await rescan(place);
    const env = { PATH: "/usr/bin:/bin", TERM: "xterm", LICMOND_URL: place.url, LICMOND_API_KEY: place.key };
    const ask = (...args: string[]) => {
      const { success, stderr } = Bun.spawnSync([BINARY, ...args], { cwd: "/", env, stdin: "ignore" });
      if (!success) throw new Error(`licmond ${args.join(" ")}: ${stderr}`);
    };
    const asked = ["who feature_0001 --server s7", "status"];
    const works = ["--version", ...asked].map((line) => () => ask(...line.split(" ")));
    const [start = Number.NaN, ...times] = await medianTimes(ROUNDS, works);
    const beyond = asked.map((line, index) => ({
      what: `licmond ${line}, beyond the process start, median of ${ROUNDS}`,
      ours: (times[index] ?? Number.NaN) - start,
      baseline: null,
      unit: "ms",
      bound: { of: "ours", atMost: 50 } as const,
    }));

    const more = servers.map((server) => outputOf(server, CHECKOUTS + 1));
    let shown = 0;
    const terminal = new Bun.Terminal({
      cols: 120,
      rows: 40,
      data(_, bytes) {
        shown += bytes.length;
      },
    });
    const top = Bun.spawn([BINARY, "top"], { cwd: "/", env, terminal });
    await Bun.sleep(2_000);
    const before = await cpuSeconds(top.pid);
    const begunAt = performance.now();
    const polls: Promise<unknown>[] = [];
    let change = 0;
    await pace(CHANGES_PER_SECOND * SECONDS, CHANGES_PER_SECOND, () => {
      const server = change % SERVERS;
      const text = Math.floor(change / SERVERS) % 2 === 0 ? more[server] : outputs[server];
      change += 1;
      const file = join(dirname(place.tool), place.addresses[server] ?? "");
      polls.push(Bun.write(file, text ?? "").then(() => rescan(place, [`s${server}`])));
    });
    await Promise.all(polls);
    const seconds = (performance.now() - begunAt) / 1000;
    const used = (await cpuSeconds(top.pid)) - before;
    top.kill("SIGTERM");
    await top.exited;
    terminal.close();
    if (shown === 0) throw new Error("top shows nothing");
    return [
      ...beyond,
      {
        what: `licmond top at ${(change / seconds).toFixed(0)} changes a second, of a core`,
        ours: (100 * used) / seconds,
        baseline: null,
        unit: "%",
        bound: { of: "ours", atMost: 3 },
      },
    ];
  },
};
