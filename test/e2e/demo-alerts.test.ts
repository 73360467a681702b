import { expect, test } from "bun:test";
import { join } from "node:path";
import { createReader } from "../../src/history/reader.ts";
import { withDatabase } from "../../src/store/database/read-only.ts";
import { freePort, run, SLOW, start, untilPrinted } from "./harness.ts";
import { createSite } from "./site.ts";

const MINUTE = 60_000;
/** Firings of all rules in a month that people still read. */
const MAX_FIRINGS = 300;
const SERVERS = ["eda", "cae", "plm", "remote", "embedded", "media"];

interface Firing {
  readonly rule: string;
  readonly server: string | null;
  readonly daemon: string | null;
  readonly feature: string | null;
  readonly firedAt: string;
  readonly resolvedAt: string | null;
}

/** A stretch of samples that show all seats of a feature in use. */
interface Stretch extends Pick<Firing, "server" | "daemon" | "feature"> {
  readonly from: number;
  readonly until: number;
}

async function fullStretches(directory: string, start: number, end: number): Promise<Stretch[]> {
  return await withDatabase(directory, async (sqlite) => {
    const read = createReader(sqlite, { now: end });
    return read.features({ servers: null }).flatMap((known) => {
      const { server, daemon, feature } = known;
      const stretches: Stretch[] = [];
      let from: number | null = null;
      for (const { at, used, total, unlimited } of read.series(known, start, end).steps) {
        const isFull = used !== null && !unlimited && total !== null && total > 0 && used >= total;
        if (!isFull && from !== null) stretches.push({ server, daemon, feature, from, until: at });
        from = isFull ? (from ?? at) : null;
      }
      if (from !== null) stretches.push({ server, daemon, feature, from, until: end });
      return stretches;
    });
  });
}

test.skipIf(!SLOW)(
  "the demo's month: few alerts, and each half hour in which a feature was full lies within one",
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
    const config = join(site.folder, "demo.toml");
    const servers = SERVERS.map((id) => {
      const manager = id === "media" ? "rlm" : "flexnet";
      return `[[servers]]\nid = "${id}"\nmanager = "${manager}"\naddress = "27000@lic-${id}"\ntimezone = "UTC"\n`;
    });
    await Bun.write(config, `[storage]\ndirectory = "${directory}"\n${servers.join("")}`);
    const ended = await run(["check", "--alerts", "--json", "--config", config]);
    expect([ended.exitCode, ended.stderr]).toEqual([0, ""]);
    const {
      start: from,
      end,
      firings,
    } = JSON.parse(ended.stdout) as {
      readonly start: string;
      readonly end: string;
      readonly firings: readonly Firing[];
    };
    expect(firings.length).toBeLessThanOrEqual(MAX_FIRINGS);

    const full = await fullStretches(directory, Date.parse(from), Date.parse(end));
    const long = full.filter(({ from, until }) => until - from >= 30 * MINUTE);
    expect(long.length).toBeGreaterThan(100);
    const missed = long.filter(
      (stretch) =>
        !firings.some(
          ({ rule, server, daemon, feature, firedAt, resolvedAt }) =>
            rule === "seats" &&
            server === stretch.server &&
            daemon === stretch.daemon &&
            feature === stretch.feature &&
            Date.parse(firedAt) <= stretch.from + 15 * MINUTE &&
            (resolvedAt === null || Date.parse(resolvedAt) >= stretch.until),
        ),
    );
    expect(missed).toEqual([]);
    // The figures, for those who tune the defaults.
    process.stderr.write(`${firings.length} firings, ${long.length} stretches\n`);
  },
  600_000,
);
