import { describe, expect, test } from "bun:test";
import { chmod, rename } from "node:fs/promises";
import { join } from "node:path";
import type { SessionRecord } from "../../src/domain/history-records.ts";
import { fill, holdLock, mayMount, smallDisk } from "./faults.ts";
import { type Daemon, SLOW, until } from "./harness.ts";
import { type Asked, SEATS, type Taking, takings } from "./seat-schedule.ts";
import { createSite, NO_LIMITS, type Site, serverToml } from "./site.ts";
import { npmEventSource } from "./stream-clients.ts";

const SERVERS = Array.from({ length: 10 }, (_, index) => index);
const BEFORE_MS = 25_000;
const AFTER_MS = 25_000;
/** Maximum age of readings that may not have been stored yet when a fault begins. */
const LATE_MS = 5_000;

type Hole = { readonly from: number; readonly to: number };

/** Causes the fault. Returns the daemon, or the daemon that replaced it. */
type Fault = (site: Site, daemon: Daemon) => Promise<Daemon>;

/**
 * Runs ten servers whose seats change hands, with a store that fails for a while, and compares licmond's data with the
 * tool's. The tool records its calls, so the content of each reading is known.
 */
async function liveThrough(site: Site, fault: Fault): Promise<void> {
  const begin = Date.now() - 60_000;
  const tool = join(site.folder, "lmutil");
  const asked = join(site.folder, "asked");
  const frozen = join(site.folder, "frozen");
  const schedule = join(import.meta.dir, "seat-schedule.ts");
  const call = `answer(process.argv.join(" "), ${begin}, "${asked}", "${frozen}");`;
  await Bun.write(tool, `#!${process.execPath}\nimport { answer } from "${schedule}";\n${call}\n`);
  await chmod(tool, 0o755);
  const servers = SERVERS.map((server) =>
    serverToml(`s${server}`, tool, 'timezone = "UTC"').replace("127.0.0.1", `srv${server}`),
  );
  const times = '[collector]\ninterval = "5s"\ntimeout = "15s"\n';
  await site.configure(`${times}${NO_LIMITS}${servers.join("")}`);
  let daemon = await site.serve();
  try {
    const key = await site.key("admin");
    const names = ["checkout", "checkin"];
    const client = npmEventSource(`${daemon.url}/stream/combined?events=${names}&api_key=${key}`, names);
    await until("the client is connected", () => client.opened() === 1 || undefined);
    await Bun.sleep(BEFORE_MS);
    const from = Date.now();
    daemon = await fault(site, daemon);
    const hole = { from, to: Date.now() };
    await Bun.sleep(AFTER_MS);

    // From here on all readings are equal, so that licmond catches up.
    const end = Date.now() + LATE_MS;
    await Bun.write(`${frozen}.new`, String(end));
    await rename(`${frozen}.new`, frozen);
    const readings = async () => Bun.JSONL.parse(await Bun.file(asked).text()) as Asked[];
    await until("each server was read repeatedly", async () => {
      const last = (await readings()).filter(({ at }) => at === end);
      return SERVERS.every((server) => last.filter((one) => one.server === server).length > 2) || undefined;
    });
    const all = "/api/licenses/sessions?limit=10000";
    const { sessions } = await daemon.json<{ sessions: SessionRecord[] }>(all, key);
    const usage = `/api/licenses/usage?group_by=feature&start=${new Date(begin - 60_000).toISOString()}`;
    const { groups } = await daemon.json<{ groups: { peakHeld: number }[] }>(usage, key);
    const inner = [from + 3 * LATE_MS, hole.to - LATE_MS].map((at) => new Date(at).toISOString());
    const stats = `/api/licenses/stats?start=${inner[0]}&end=${inner[1]}`;
    const { features } = await daemon.json<{ features: { coverage: number }[] }>(stats, key);
    const events = client.seen.map(({ name, data }) => `${name} ${String(data.user)}`);
    client.close();

    const read = await readings();
    for (const server of SERVERS) {
      const times = new Set(read.filter((reading) => reading.server === server).map(({ at }) => at));
      compare(
        takings(server, begin, Math.min(...times), end + 1),
        [...times].sort((one, other) => one - other),
        hole,
        sessions.filter((session) => session.server === `s${server}`),
        events.filter((event) => event.includes(` u${server}_`)),
      );
    }
    expect(groups).toHaveLength(SERVERS.length);
    expect(groups.filter(({ peakHeld }) => !(peakHeld > 0 && peakHeld <= SEATS))).toEqual([]);
    expect(features.filter(({ coverage }) => coverage > 0)).toEqual([]);
  } finally {
    await daemon[Symbol.asyncDispose]();
  }
}

/** Compares the sessions of one server with the tool's schedule. Leaves out sessions that could not be stored. */
function compare(
  truth: readonly Taking[],
  readings: readonly number[],
  hole: Hole,
  sessions: readonly SessionRecord[],
  events: readonly string[],
): void {
  const wasStored = (at: number) => at < hole.from - LATE_MS || at >= hole.to;
  /**
   * Returns the latest time that licmond can have for a reading: the time of the next reading. The last readings, of the
   * frozen tool, have no limit.
   */
  const behind = (at: number) => readings.slice(0, -1).find((time) => time > at) ?? Number.POSITIVE_INFINITY;
  const wrong: string[] = [];
  const expected: string[] = [];
  for (const { user, from, to } of truth) {
    const rows = sessions.filter((session) => session.user === user);
    const having = readings.filter((at) => at >= from && at < to);
    const [first, firstStored] = [having[0], having.find(wasStored)];
    const after = readings.filter((at) => at >= to);
    const [gone, goneStored] = [after[0], after.find(wasStored)];
    const [row] = rows;
    if (rows.length > 1) wrong.push(`${user} has ${rows.length} sessions`);
    if (row === undefined) {
      if (firstStored !== undefined) wrong.push(`${user} has no session`);
      continue;
    }
    const within = (time: string, least: number | undefined, before: number | undefined) => {
      const at = Date.parse(time);
      return least !== undefined && at >= least && (before === undefined || at < behind(before));
    };
    const late = (at: number | undefined) => (at === undefined ? "never" : `${(at - hole.from) / 1000} s`);
    const times = `${user} ${JSON.stringify(row)}, by the tool at ${late(from)}`;
    if (!within(row.firstSeenAt, first, firstStored))
      wrong.push(`first seen: ${times}, read at ${late(first)}, stored at ${late(firstStored)}`);
    if (row.endedAt === null ? goneStored !== undefined : !within(row.endedAt, gone, goneStored))
      wrong.push(`ended: ${times} to ${late(to)}, read at ${late(gone)}, stored at ${late(goneStored)}`);
    // Checkouts of the first reading cause no events.
    if (Date.parse(row.firstSeenAt) >= (readings[1] ?? 0)) expected.push(`checkout ${user}`);
    if (row.endedAt !== null) expected.push(`checkin ${user}`);
  }
  expect({ hole, wrong }).toEqual({ hole, wrong: [] });
  const known = new Set(truth.map(({ user }) => user));
  expect(sessions.filter(({ user }) => !known.has(user ?? ""))).toEqual([]);
  expect([...events].sort()).toEqual(expected.sort());
}

const MAY_MOUNT = SLOW && (await mayMount("the disk that is full"));

describe.if(SLOW)("sessions match the stored readings", () => {
  test.concurrent("while another program locks the database for 70 s", async () => {
    await using site = await createSite();
    await liveThrough(site, async (_, daemon) => {
      const release = await holdLock(join(site.folder, "storage", "licmond.db"));
      await Bun.sleep(70_000);
      await release();
      return daemon;
    });
  });

  test.concurrent.skipIf(!MAY_MOUNT)(
    "while the disk is full for 54 s, with a kill of the daemon",
    async () => {
      await using site = await createSite();
      const storage = join(site.folder, "storage");
      await using _disk = await smallDisk(storage, 24);
      await liveThrough(site, async (_, daemon) => {
        const free = fill(storage);
        await Bun.sleep(27_000);
        await daemon.kill();
        const next = await site.serve();
        await Bun.sleep(27_000);
        free();
        return next;
      });
    },
  );
});
