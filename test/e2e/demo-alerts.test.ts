import { expect, test } from "bun:test";
import { join } from "node:path";
import type { Firing } from "../../src/alerts/replay.ts";
import { createReader } from "../../src/history/reader.ts";
import { SERVERS } from "../../src/simulator/servers.ts";
import { withDatabase } from "../../src/store/database/read-only.ts";
import { freePort, run, SLOW, start, untilPrinted } from "./harness.ts";
import { createSite } from "./site.ts";

const MINUTE = 60_000;
/** Maximum number of alerts in a month, so that people still read them. */
const MAX_FIRINGS = 300;

type About = Pick<Firing, "server" | "daemon" | "feature">;
type Told = About & { readonly rule: string; readonly firedAt: string; readonly resolvedAt: string | null };

/** Returns periods of at least half an hour in which all seats of a feature are in use. */
const fullFor = (directory: string, start: number, end: number) =>
  withDatabase(directory, async (sqlite) => {
    const read = createReader(sqlite, { now: end });
    return read.features({ servers: null }).flatMap((known) => {
      const { server, daemon, feature } = known;
      const periods: (About & { readonly from: number; readonly until: number })[] = [];
      let from: number | null = null;
      const over = { at: end, used: null, total: null, unlimited: false };
      for (const { at, used, total, unlimited } of [...read.series(known, start, end).steps, over]) {
        const isFull = used !== null && !unlimited && total !== null && total > 0 && used >= total;
        if (!isFull && from !== null) periods.push({ server, daemon, feature, from, until: at });
        from = isFull ? (from ?? at) : null;
      }
      return periods.filter(({ from, until }) => until - from >= 30 * MINUTE);
    });
  });

test.skipIf(!SLOW)(
  "the demo's month has few alerts, and each full half hour of a feature is in one of them",
  async () => {
    await using site = await createSite();
    const directory = join(site.folder, "demo");
    const port = await freePort();
    {
      const args = ["demo", "--directory", directory, "--port", String(port)];
      await using demo = await start({ args, port });
      await untilPrinted(demo, `:${port}`);
      await demo.stop();
    }
    const servers = SERVERS.map(({ id, manager, address }) => {
      return `[[servers]]\nid = "${id}"\nmanager = "${manager}"\naddress = "${address}"\ntimezone = "UTC"\n`;
    });
    const config = join(site.folder, "demo.toml");
    await Bun.write(config, `[storage]\ndirectory = "${directory}"\n${servers.join("")}`);
    const ended = await run(["check", "--alerts", "--json", "--config", config]);
    expect([ended.exitCode, ended.stderr]).toEqual([0, ""]);
    const month = JSON.parse(ended.stdout) as { start: string; end: string; firings: readonly Told[] };
    const long = await fullFor(directory, Date.parse(month.start), Date.parse(month.end));
    process.stderr.write(`${month.firings.length} firings, ${long.length} periods\n`);
    expect(month.firings.length).toBeLessThanOrEqual(MAX_FIRINGS);
    const degraded = month.firings.filter(({ rule }) => rule === "server_degraded");
    expect(degraded).toMatchObject([{ server: "cae", resolvedAt: null }]);
    expect(long.length).toBeGreaterThan(100);
    const missed = long.filter(({ server, daemon, feature, from, until }) => {
      const own = month.firings.filter((one) => one.server === server && one.daemon === daemon);
      return !own.some(
        ({ rule, feature: name, firedAt, resolvedAt }) =>
          rule === "seats" &&
          name === feature &&
          Date.parse(firedAt) <= from + 15 * MINUTE &&
          (resolvedAt === null || Date.parse(resolvedAt) >= until),
      );
    });
    expect(missed).toEqual([]);
  },
  600_000,
);
