import { dirname, join } from "node:path";
import { flexnet } from "../../src/managers/flexnet/index.ts";
import { SERVERS } from "../../src/simulator/servers.ts";
import { createSite } from "../../src/simulator/site.ts";
import { runTool } from "../../src/simulator/tool.ts";
import { writeLog } from "./import.ts";
import { quantile } from "./measure.ts";
import { BINARY, type Place, rescan, startPlace } from "./place.ts";
import type { Bench, Row } from "./table.ts";

const MEGABYTES = 20;
const QUIET_MS = 5_000;
/** Between one request and the next. */
const PAUSE_MS = 5;

/** How long requests wait while a log is imported into the database of the daemon that answers them, and polls. */
export const importBeside: Bench = {
  name: "import-beside",
  what: `answers of a daemon that polls, while ${MEGABYTES} MB of debug log are imported beside it`,
  async run(): Promise<Row[]> {
    await using place = await startPlace({ outputs: [lmstat()] });
    const folder = dirname(place.tool);
    const log = join(folder, "debug.log");
    await writeLog(log, MEGABYTES * 1e6);
    const quiet = await waitsDuring(place, () => Bun.sleep(QUIET_MS));
    const busy = await waitsDuring(place, async () => {
      const config = join(folder, "licmond.toml");
      const child = Bun.spawn([BINARY, "import", "--server", "s0", log, "--config", config], {
        stdout: "ignore",
        stderr: "pipe",
      });
      const said = await child.stderr.text();
      if ((await child.exited) !== 0) throw new Error(`import: ${said}`);
    });
    const row = (what: string, q: number) => ({
      what: `${what} beside an import, and without one`,
      ...{ ours: quantile(busy, q), baseline: quantile(quiet, q), unit: "ms" },
    });
    return [
      { ...row(`the middle one of ${busy.length} answers`, 0.5), bound: null },
      // The import has a process of its own; of the daemon it takes turns at the database, some milliseconds each.
      { ...row("99 of 100 answers come within", 0.99), bound: { of: "ours", atMost: 60 } },
      { ...row("the slowest answer", 1), bound: null },
    ];
  },
};

function lmstat(): string {
  const server = SERVERS.find((spec) => spec.silentMinutes === 0);
  if (server === undefined) throw new Error("every simulated server is silent at times");
  const site = createSite({ seed: 1, zone: "UTC" });
  const { address, members, version } = server;
  const reading = (as: typeof members) => site.reading(server, Date.now(), as);
  const asked = { manager: flexnet, zone: "UTC", address, members, version, reading };
  return runTool(["lmstat", "-a", "-i", "-c", address], asked).stdout;
}

/** Times in ms of requests, one after the other, while the server is polled again and again and `work` goes on. */
async function waitsDuring(place: Place, work: () => Promise<unknown>): Promise<number[]> {
  const waits: number[] = [];
  let working = true;
  const asks = (async () => {
    while (working) {
      const startedAt = performance.now();
      const answer = await fetch(`${place.url}/api/licenses/summary`, {
        headers: { "X-API-Key": place.key },
      });
      await answer.text();
      waits.push(performance.now() - startedAt);
      await Bun.sleep(PAUSE_MS);
    }
  })();
  const polls = (async () => {
    while (working) await rescan(place);
  })();
  await work();
  working = false;
  await Promise.all([asks, polls]);
  return waits;
}
