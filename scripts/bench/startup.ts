import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { median, residentMegabytes } from "./measure.ts";
import { BINARY, startPlace } from "./place.ts";
import type { Bench, Row } from "./table.ts";

const ROUNDS = 15;
/** Long enough for what a start leaves behind to be collected. */
const SETTLE_MS = 3000;

function startMs(argv: string[]): number {
  const samples: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const startedAt = performance.now();
    const { success } = Bun.spawnSync(argv, { cwd: "/", env: {}, stdin: "ignore", stdout: "ignore" });
    if (!success) throw new Error(`${argv.join(" ")} failed`);
    // The first one reads the file from disk.
    if (round > 0) samples.push(performance.now() - startedAt);
  }
  return median(samples);
}

export const startup: Bench = {
  name: "startup",
  what: "time of `licmond --version`, memory of a daemon that idles",
  async run(): Promise<Row[]> {
    const folder = await mkdtemp(join(tmpdir(), "licmond-bench-"));
    try {
      const bare = join(folder, "bare");
      await Bun.write(`${bare}.ts`, 'console.log("0.0.0");\n');
      const built = await Bun.build({
        entrypoints: [`${bare}.ts`],
        compile: { outfile: bare },
        throw: false,
      });
      if (!built.success) throw new Error(`the bare binary does not build: ${built.logs.join("\n")}`);
      const version: Row = {
        what: "--version, median of 15, beside a bare console.log",
        ours: startMs([BINARY, "--version"]),
        baseline: startMs([bare]),
        unit: "ms",
        bound: { of: "ours", atMost: 50 },
      };

      await using place = await startPlace({ outputs: [] });
      await Bun.sleep(SETTLE_MS);
      const memory = await residentMegabytes(place.pid);
      return [
        version,
        {
          what: "memory of an idle `serve`",
          ours: memory.all,
          baseline: null,
          unit: "MB",
          bound: { of: "ours", atMost: 75 },
        },
        { what: "… of it not mapped from files", ours: memory.own, baseline: null, unit: "MB", bound: null },
      ];
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};
