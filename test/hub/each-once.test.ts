import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../free-port.ts";
import { until } from "../until.ts";
import { usePostgres } from "./describe-hub.ts";
import { HAS_POSTGRES } from "./postgres.ts";
import { startRelay } from "./relay.ts";
import { keyAt, madeUpFacts, madeUpSite, open, spawnHub } from "./rig.ts";

const SLOW = process.env.SLOW_TESTS === "1";
const SITES = 4;
/** Number of facts of all sites together. */
const FACTS = SLOW ? 1_000_000 : 100_000;
const BATCH = 2_000;
const NOW = Date.now();

/**
 * Pushes `count` facts in batches, and after each failure continues from the hub's cursor. Keeps facts that the hub may ask
 * for again, as a site does. Returns the number of repeated pushes.
 */
async function bring(site: ReturnType<typeof madeUpSite>, url: () => string, count: number): Promise<number> {
  let cursor = 0;
  let again = 0;
  while (cursor < count) {
    const to = Math.min(count, cursor + BATCH);
    const push = site.push({
      from: cursor + 1,
      to,
      head: count,
      facts: madeUpFacts(cursor + 1, to - cursor, NOW),
    });
    const response = await site.send(url(), push).catch(() => null);
    const body = (await response?.json().catch(() => null)) as
      | { cursor: number; details?: string }
      | null
      | undefined;
    if (response?.ok === true && body) {
      cursor = body.cursor;
      continue;
    }
    again++;
    const asked = /^cursor=(\d+)$/.exec(body?.details ?? "")?.[1];
    if (asked !== undefined) cursor = Number(asked);
    else if (response !== null && ![429, 500, 503].includes(response.status))
      throw new Error(`${response.status} ${JSON.stringify(body)}`);
    else await Bun.sleep(20);
  }
  return again;
}

describe.skipIf(!HAS_POSTGRES)("each fact once", () => {
  const postgres = usePostgres("max_wal_size=4GB");
  let folder: string;
  let config: string;
  let database: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "licmond-hub-"));
    config = join(folder, "hub.toml");
  });
  afterAll(() => rm(folder, { recursive: true }));
  beforeEach(async () => {
    database = await postgres.database();
    const limits = "[limits]\nrequests_per_minute = 1000000\nburst = 1000000\n";
    await Bun.write(
      config,
      `[http]\nhost = "127.0.0.1"\n[log]\nlevel = "error"\n${limits}[hub]\ndatabase = "${database}"\n`,
    );
  });

  const sites = () =>
    Promise.all(
      Array.from({ length: SITES }, async (_, index) => {
        const name = `site${index}`;
        return madeUpSite(name, await keyAt(database, { role: "site", site: name }));
      }),
    );

  /** Compares stored facts with sent facts: none is missing, none is stored twice. */
  async function expectAll(): Promise<void> {
    const pool = open(database);
    const each = FACTS / SITES;
    const made = madeUpFacts(1, each, NOW);
    const ended = made.filter((fact) => "change" in fact && fact.endedAt !== null).length;
    const opened = made.filter((fact) => "change" in fact && fact.change === "opened").length;
    const rows = await pool`
      SELECT site, cursor::int AS cursor,
        (SELECT count(*)::int FROM sessions s WHERE s.site = sites.site) AS ended,
        (SELECT count(DISTINCT site_id)::int FROM sessions s WHERE s.site = sites.site) AS once,
        (SELECT count(*)::int FROM open_sessions s WHERE s.site = sites.site) AS open,
        (SELECT count(*)::int FROM steps s WHERE s.site = sites.site) AS steps,
        (SELECT count(*)::int FROM refused s WHERE s.site = sites.site) AS refused
      FROM sites ORDER BY site`;
    await pool.close();
    const steps = made.filter(({ kind }) => kind === "step").length;
    const right = { cursor: each, ended, once: ended, open: opened - ended, steps, refused: 0 };
    expect([...rows]).toEqual(
      Array.from({ length: SITES }, (_, index) => ({ site: `site${index}`, ...right })),
    );
  }

  test(`${FACTS} facts with a tenth of the answers lost`, async () => {
    const port = await freePort();
    const hub = await spawnHub(config, port);
    let answers = 0;
    await using relay = await startRelay(
      () => [port],
      () => answers++ % 10 === 3,
    );
    const again = await Promise.all(
      (await sites()).map((site) => bring(site, () => relay.url, FACTS / SITES)),
    );
    await expectAll();
    expect(again.reduce((sum, one) => sum + one, 0)).toBeGreaterThan(0);
    expect(relay.lost()).toBeGreaterThan((FACTS / BATCH) * 0.08);
    await hub.stop();
  });

  test.skipIf(!SLOW)("two hubs that are killed in turn, and PostgreSQL after kill -9", async () => {
    const ports = [await freePort(), await freePort()];
    const hubs = await Promise.all(ports.map((port) => spawnHub(config, port)));
    await using relay = await startRelay(
      () => ports,
      () => false,
    );
    const all = await sites();
    let done = false;
    const brought = Promise.all(all.map((site) => bring(site, () => relay.url, FACTS / SITES))).finally(
      () => {
        done = true;
      },
    );
    const pool = open(database);
    const stored = async () => {
      const [row] = await pool`SELECT coalesce(sum(cursor), 0)::int AS facts FROM sites`;
      return row.facts as number;
    };
    const past = (share: number) =>
      until(
        `${share} of the facts are there`,
        async () => done || (await stored().catch(() => 0)) > FACTS * share || undefined,
      );
    await past(0.1);
    await hubs[0]?.kill();
    hubs[0] = await spawnHub(config, ports[0] ?? 0);
    await past(0.3);
    await postgres.kill();
    await postgres.start();
    await past(0.5);
    await hubs[1]?.kill();
    hubs[1] = await spawnHub(config, ports[1] ?? 0);
    await past(0.7);
    await postgres.kill();
    await postgres.start();
    await brought;
    await pool.close();
    await expectAll();
    for (const hub of hubs) await hub.stop();
  });
});
