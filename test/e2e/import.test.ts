import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { BINARY, SLOW, until } from "./harness.ts";
import { createSite, type Site, serverToml } from "./site.ts";
import { createWatchedSite } from "./watched-site.ts";

const SERVER = serverToml("eda", "/bin/true", 'timezone = "UTC"');
/** Config that keeps all sessions, because the log is older than the default retention. */
const KEEP = '[retention]\nsessions = "100y"\n';
const START = Date.UTC(2024, 11, 20);

/** Returns every session and denial of an import, without row ids. */
function stored(site: Site): { sessions: unknown[]; denials: unknown[]; problems: unknown[] } {
  using database = new Database(join(site.folder, "storage", "licmond.db"), { readonly: true });
  const all = (sql: string) => database.query(sql).all();
  return {
    sessions: all(`SELECT feature, user, host, count, began_at, ended_at, end_reason FROM sessions
                   ORDER BY began_at, ended_at, feature, user, host`),
    denials: all(`SELECT feature, user, host, at, until, attempts, outcome FROM denials
                  ORDER BY at, feature, user`),
    problems: all("PRAGMA integrity_check"),
  };
}

type LogSite = Site & { readonly log: string };

async function site(log: string): Promise<LogSite> {
  const made = await createSite(KEEP + SERVER);
  const path = join(made.folder, "debug.log");
  await Bun.write(path, log);
  return { ...made, log: path };
}

/** A debug log of a busy daemon `acmed`: checkouts, denials, and a date every six hours, in UTC. */
function debugLog(start: number, events: number): string {
  let seed = 7;
  const random = (below: number) => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((seed / 2 ** 32) * below);
  };
  const held: string[] = [];
  const lines: string[] = [];
  let at = start;
  let stampedAt = 0;
  for (let index = 0; index < events; index++) {
    at += random(60) * 1000;
    const date = new Date(at);
    const head = `${date.toISOString().slice(11, 19)} (acmed) `;
    if (at - stampedAt > 6 * 3_600_000) {
      lines.push(`${head}TIMESTAMP ${date.getUTCMonth() + 1}/${date.getUTCDate()}/${date.getUTCFullYear()}`);
      stampedAt = at;
    }
    const seat = () => `"feature_${random(20)}" user${random(200)}@ws${random(300)}  `;
    const kind = random(100);
    if (kind < 48 || held.length === 0) {
      const taken = seat();
      held.push(taken);
      lines.push(`${head}OUT: ${taken}`);
    } else if (kind < 96) {
      const [given = ""] = held.splice(random(held.length), 1);
      lines.push(`${head}IN: ${given}`);
    } else {
      lines.push(`${head}DENIED: ${seat()}(Licensed number of users already reached. (-4,342:10054 ""))`);
    }
  }
  return `${lines.join("\n")}\n`;
}

const LOG = debugLog(START, 60_000);

/** Starts an import and kills it after some rows are stored. */
async function killSoon(broken: LogSite): Promise<void> {
  const child = Bun.spawn([BINARY, "import", "--server", "eda", broken.log, "--config", broken.config], {
    stdout: "ignore",
    stderr: "ignore",
  });
  const some = () => {
    try {
      using database = new Database(join(broken.folder, "storage", "licmond.db"), { readonly: true });
      return database.query("SELECT 1 FROM sessions LIMIT 1").get() !== null;
    } catch {
      return false;
    }
  };
  await until("some rows are stored", () => child.exitCode !== null || some() || undefined);
  child.kill("SIGKILL");
  await child.exited;
}

describe("licmond import", () => {
  test.skipIf(!SLOW)(
    "over New Year, whole or split anywhere, compressed or not: the same rows, once",
    async () => {
      await using whole = await site(LOG);
      const done = await whole.run(["import", "--server", "eda", whole.log]);
      expect([done.exitCode, done.stderr]).toEqual([0, ""]);
      expect(done.stdout).toContain("0 events, 0 lines without a time, 0 broken times");
      expect(done.stdout).toContain(", 0 jumps, ");
      const { sessions, denials, problems } = stored(whole);
      expect(problems).toEqual([{ integrity_check: "ok" }]);
      expect(sessions.length).toBeGreaterThan(25_000);
      expect(denials.length).toBeGreaterThan(1_000);
      const times = sessions.map((row) => (row as { began_at: number }).began_at);
      expect(times[0]).toBeGreaterThanOrEqual(START);
      expect(times.at(-1)).toBeGreaterThan(Date.UTC(2025, 0, 5));
      expect(times.at(-1)).toBeLessThan(Date.UTC(2025, 1, 28));

      // Import the log in two parts, the newer part first and compressed. Then import the whole log again.
      await using parts = await site(LOG);
      const cut = LOG.indexOf("\n", LOG.length / 2) + 1;
      const [first, second] = [join(parts.folder, "acmed.log.1"), join(parts.folder, "acmed.log.0.gz")];
      await Bun.write(first, LOG.slice(0, cut));
      await Bun.write(second, Bun.gzipSync(Buffer.from(LOG.slice(cut))));
      expect((await parts.run(["import", "--server", "eda", second, first])).exitCode).toBe(0);
      expect(stored(parts)).toEqual({ sessions, denials, problems });
      const again = await parts.run(["import", "--server", "eda"], { stdin: LOG });
      expect(again.stdout).toMatch(new RegExp(`0 added, ${sessions.length} known before`));
      expect(stored(parts)).toEqual({ sessions, denials, problems });
    },
  );

  test.skipIf(!SLOW)("killed half-way, it resumes without duplicates", async () => {
    // The import may end before this process gets a time slice to kill it; a longer log gives it more time.
    for (let events = 60_000; ; events *= 2) {
      const log = events === 60_000 ? LOG : debugLog(START, events);
      await using whole = await site(log);
      await whole.run(["import", "--server", "eda", whole.log]);
      await using broken = await site(log);
      await killSoon(broken);
      if (stored(broken).sessions.length === stored(whole).sessions.length) {
        expect(events).toBeLessThan(1_000_000);
        continue;
      }
      expect((await broken.run(["import", "--server", "eda", broken.log])).exitCode).toBe(0);
      expect(stored(broken)).toEqual(stored(whole));
      return;
    }
  });

  test("a file that is not a log, is badly compressed or has broken lines is reported", async () => {
    await using at = await site(
      `7:00:00 (acmed) TIMESTAMP 1/29/2026\n8:00:00 (acmed) OUT: \n8:1x:00 (acmed) OUT: "solver" ada@ws01  \nnoise\n`,
    );
    const odd = await at.run(["import", "--server", "eda", at.log]);
    expect([odd.exitCode, odd.stderr]).toEqual([0, 'line 2: "8:00:00 (acmed) OUT: "\n']);
    expect(odd.stdout).toMatch(/not understood +1 events, \d lines without a time, \d broken times/);

    const packed = Bun.gzipSync(Buffer.from(LOG));
    const cut = join(at.folder, "cut.gz");
    await Bun.write(cut, packed.slice(0, packed.length / 2));
    const broken = await at.run(["import", "--server", "eda", cut]);
    expect([broken.exitCode, broken.stdout]).toEqual([1, ""]);
    expect(broken.stderr).toContain(`${cut} cannot be decompressed completely: `);
    expect(broken.stderr).toContain("Rows read so far are stored; import the logs again afterwards.");
    expect(broken.stderr).not.toMatch(/\n\s+at /);
  });

  test("rows outside of retention are skipped, counted and reported; a longer retention keeps them", async () => {
    await using at = await site(LOG);
    await at.configure(SERVER);
    const args = ["import", "--server", "eda", at.log];
    const left = await at.run(args);
    expect(left.exitCode).toBe(0);
    const [, sessions, denials] =
      /skipped (\d+) sessions and (\d+) denials from before/.exec(left.stderr) ?? [];
    expect(Number(sessions)).toBeGreaterThan(25_000);
    expect(left.stderr).toContain("which retention.sessions would delete. To keep them, raise that setting");
    expect(left.stdout).toContain(" 0 added, 0 known before");
    expect(stored(at)).toMatchObject({ sessions: [], denials: [] });

    await at.configure(KEEP + SERVER);
    const done = await at.run(args);
    expect([done.exitCode, done.stderr]).toEqual([0, ""]);
    const { sessions: rows, denials: denied } = stored(at);
    expect([rows.length, denied.length]).toEqual([Number(sessions), Number(denials)]);
    // Rows that retention keeps are listed in full, even after years.
    await using daemon = await at.serve();
    const usage = "/api/licenses/usage?group_by=server&start=2024-12-01&end=2025-03-01";
    expect(await daemon.json<object>(usage, await at.key("viewer"))).toMatchObject({
      start: "2024-12-01T00:00:00.000Z",
      groups: [{ server: "eda", sessions: rows.length }],
    });
  });
});

test("an import next to a running daemon does not block it", async () => {
  await using alone = await createWatchedSite();
  await alone.write(KEEP);
  const log = join(alone.folder, "debug.log");
  await Bun.write(log, LOG);
  await using at = await alone.watch();
  let importing = true;
  let answered = 0;
  let polled = 0;
  const pings = (async () => {
    while (importing) {
      await at.ask("/api/licenses/summary");
      if (importing) answered++;
      await Bun.sleep(5);
    }
  })();
  const polls = (async () => {
    for (let used = 1; importing; used = (used % 9) + 1) {
      await at.poll({ features: { solver: { total: 10, used } } });
      const { seats } = await at.ask<{ seats: { used: number } }>("/api/licenses/summary");
      expect(seats.used).toBe(used);
      if (importing) polled++;
    }
  })();
  // If the import ends before this process gets a time slice, repeat the import.
  for (let times = 0; answered < 20 || polled < 2; times++) {
    const { exitCode, stdout, stderr } = await alone.run(["import", "--server", "eda", log]);
    expect([exitCode, stderr]).toEqual([0, ""]);
    const counts = times === 0 ? /[1-9]\d* added, 0 known before/ : / 0 added, [1-9]\d* known before/;
    expect(stdout).toMatch(counts);
    expect(times).toBeLessThan(20);
  }
  importing = false;
  await Promise.all([pings, polls]);
  expect(stored(alone).problems).toEqual([{ integrity_check: "ok" }]);
});
