import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { demoSite, makeDemoHistory } from "../../src/cli/demo/demo-site.ts";
import { LEAST_STRETCHES } from "../../src/domain/stats/waits.ts";
import { DAY_MS } from "../../src/domain/time/clock.ts";
import { createReader } from "../../src/history/reader.ts";
import { waitsQuery } from "../../src/history/statistics/waits.ts";
import { openStore } from "../../src/store/open/open.ts";
import { SILENT } from "./history-file.ts";
import { median } from "./measure.ts";
import type { Bench, Row } from "./table.ts";

const DAYS = 30;
const ANY = { servers: null, daemons: null, features: null };

/** How well the past tells of waits: `p80Confirmed` of every feature of the demo's month that was full often enough. */
export const waits: Bench = {
  name: "waits",
  what: `p80Confirmed of the demo's features that were full ${LEAST_STRETCHES} times in a month (SEEDS=1,2:40 = two demos, one that ended 40 days ago)`,
  async run(): Promise<Row[]> {
    const rows: Row[] = [];
    for (const demo of (process.env.SEEDS ?? "1").split(",")) {
      const [seed = 1, daysAgo = 0] = demo.split(":").map(Number);
      rows.push(...(await ofDemo(seed, Date.now() - daysAgo * DAY_MS)));
    }
    return rows;
  },
};

async function ofDemo(seed: number, now: number): Promise<Row[]> {
  const directory = mkdtempSync(join(tmpdir(), "licmond-waits-"));
  try {
    const site = demoSite({ host: "127.0.0.1", port: 0, seed, interval: "10s", directory }, 0);
    await makeDemoHistory(site, DAYS, now, SILENT, () => true);
    const store = openStore({ directory, log: SILENT });
    try {
      const range = { start: now - DAYS * DAY_MS, end: now, now, filter: ANY, sort: null };
      const found = await waitsQuery(createReader(store.sqlite, { now }), {
        ...range,
        limit: 10_000,
        offset: 0,
      });
      const often = found.rows.filter(({ count }) => count >= LEAST_STRETCHES);
      const rows = often.map(({ server, feature, count, p80Seconds, p80Confirmed }): Row => {
        const learnt = `p80 ${((p80Seconds ?? 0) / 60).toFixed(1)} min`;
        const what = `seed ${seed}: ${server} ${feature}, full ${count} times, ${learnt}`;
        return { what, ours: p80Confirmed ?? 0, baseline: null, unit: "%", bound: null };
      });
      const all = median(rows.map(({ ours }) => ours));
      const bound = { of: "ours", atLeast: 80 } as const;
      return [
        ...rows,
        { what: `seed ${seed}: median of all ${rows.length}`, ours: all, baseline: null, unit: "%", bound },
      ];
    } finally {
      store.close();
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
