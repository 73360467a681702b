import { describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../free-port.ts";
import { until } from "../until.ts";
import { usePostgres } from "./describe-hub.ts";
import { HAS_POSTGRES } from "./postgres.ts";
import { type Heard, readThrough } from "./reader.ts";
import { keyAt, known, madeUpFacts, madeUpSite, open, spawnHub, startHub } from "./rig.ts";

const SITES = 5;
/**
 * Number of facts per site. Of three facts, one is a step and two are events: the start and the end of a
 * session.
 */
const FACTS = 3_000;
const EVENTS = SITES * FACTS * (2 / 3);
const BATCH = 150;
const CUTS = 20;

/** Pushes a site's facts up to `upTo` in small batches, alternating between the hubs. */
async function bring(
  site: ReturnType<typeof madeUpSite>,
  urls: readonly string[],
  upTo: () => number = () => FACTS,
): Promise<void> {
  const now = Date.now();
  let cursor = 0;
  for (let turn = 0; cursor < FACTS; turn++) {
    await until("more may come", () => cursor < upTo() || undefined);
    const to = Math.min(FACTS, cursor + BATCH);
    const facts = madeUpFacts(cursor + 1, to - cursor, now);
    const response = await site
      .send(urls[turn % urls.length] ?? "", site.push({ from: cursor + 1, to, head: FACTS, facts }))
      .catch(() => null);
    if (response?.ok) cursor = ((await response.json()) as { cursor: number }).cursor;
    else if (response !== null && response.status < 500) throw new Error(await response.text());
    else await Bun.sleep(20);
  }
}

/** Each event came once, ids rise, and the events of each site are in order. */
function expectEachOnce(heard: readonly Heard[]): void {
  const ids = heard.map(({ id }) => id);
  expect(ids.findIndex((id, index) => index > 0 && id <= (ids[index - 1] ?? 0))).toBe(-1);
  for (const { id, event, data } of heard) expect(data.id).toBe(`${event}-${id}`);
  const bySite = Map.groupBy(heard, ({ data }) => data.site);
  const seats = Array.from({ length: FACTS / 3 }, (_, n) => [`checkout ${n}`, `checkin ${n}`]).flat();
  expect([...bySite.keys()].sort()).toEqual(Array.from({ length: SITES }, (_, n) => `site${n}`));
  for (const events of bySite.values())
    expect(events.map(({ event, data }) => `${event} ${data.handle}`)).toEqual(seats);
}

const SLOW = process.env.SLOW_TESTS === "1";

describe.skipIf(!HAS_POSTGRES)("each event once", () => {
  const postgres = usePostgres();

  const sitesAt = (database: string) =>
    Promise.all(
      Array.from({ length: SITES }, async (_, n) =>
        madeUpSite(`site${n}`, await keyAt(database, { role: "site", site: `site${n}` })),
      ),
    );

  test(`${EVENTS} events under concurrent pushes, for a reader that is cut ${CUTS} times`, async () => {
    const database = await postgres.database();
    const sites = await sitesAt(database);
    const key = await keyAt(database, { role: "viewer" });
    // Hubs with wrong clocks assign ids too.
    await using ahead = await startHub(database, { now: () => Date.now() + 3_600_000 });
    await using behind = await startHub(database, { now: () => Date.now() - 3_600_000 });
    const urls = [ahead.url, behind.url];
    for (const hub of [ahead, behind]) await known(hub, key);
    // A transaction that writes its events first and commits after most others have been read.
    const pool = open(database);
    const late = await pool.reserve();
    await late`BEGIN`;
    await late`
      INSERT INTO new_events (received_at, at, site, type, body)
      VALUES (0, 0, 'late', 'server_status', '{"site":"late"}')`;
    let readers = 0;
    const reading = [CUTS, CUTS, 3].map(async (cuts) => {
      const all = await readThrough(urls, key, EVENTS, EVENTS / (cuts + 1));
      readers++;
      return all;
    });
    await Promise.all(sites.map((site) => bring(site, urls)));
    const [{ last }] = await pool`SELECT last::float8 AS last FROM stream`;
    await late`COMMIT`;
    late.release();
    for (const { heard, cuts } of await Promise.all(reading)) {
      expectEachOnce(heard);
      expect(cuts).toBeGreaterThanOrEqual(3);
    }
    expect(readers).toBe(3);
    const lateId = await until("the late event is published", async () => {
      const [row] = await pool`SELECT id::float8 AS id FROM events WHERE site = 'late'`;
      return row?.id as number | undefined;
    });
    expect(lateId).toBeGreaterThan(last);
    expect(Math.abs(lateId - Date.now())).toBeLessThan(60_000);
    await pool.close();
  });

  test.skipIf(!SLOW)("hubs that are killed while publishing", async () => {
    const database = await postgres.database();
    const folder = await mkdtemp(join(tmpdir(), "licmond-hub-"));
    const config = join(folder, "hub.toml");
    const limits = "[limits]\nrequests_per_minute = 1000000\nburst = 1000000\n";
    await Bun.write(
      config,
      `[http]\nhost = "127.0.0.1"\n[log]\nlevel = "error"\n${limits}[hub]\ndatabase = "${database}"\n`,
    );
    const sites = await sitesAt(database);
    const key = await keyAt(database, { role: "viewer" });
    const ports = [await freePort(), await freePort()] as const;
    const urls = ports.map((port) => `http://127.0.0.1:${port}`);
    const hubs = await Promise.all(ports.map((port) => spawnHub(config, port)));
    const pool = open(database);
    const past = (share: number) =>
      until(`${share} of the events are published`, async () => {
        const [row] = await pool`SELECT coalesce(sum(number), 0)::int AS number FROM events`;
        return row.number >= EVENTS * share || undefined;
      });
    let share = 0.2;
    const brought = Promise.all(sites.map((site) => bring(site, urls, () => share * FACTS)));
    const reading = [7, 11].map((cuts) => readThrough(urls, key, EVENTS, EVENTS / (cuts + 1)));
    // Kill each hub while a fifth of the facts is being published.
    for (const which of [0, 1, 0, 1] as const) {
      await past(share - 0.15);
      await hubs[which]?.kill();
      share += 0.2;
      await past(share - 0.15);
      hubs[which] = await spawnHub(config, ports[which]);
    }
    await brought;
    for (const { heard } of await Promise.all(reading)) expectEachOnce(heard);
    await pool.close();
    for (const hub of hubs) await hub.stop();
    await rm(folder, { recursive: true });
  });
});
