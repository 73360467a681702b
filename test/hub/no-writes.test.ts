import { describe, expect, test } from "bun:test";
import { type Pool, sqlState } from "../../src/hub/database/connect.ts";
import { freePort } from "../free-port.ts";
import { until } from "../until.ts";
import { HAS_POSTGRES, startPostgres } from "./postgres.ts";
import { keyAt, known, madeUpSite, open, startHub } from "./rig.ts";

/** Maximum size of a file that PostgreSQL can write. It ends within a page, as on a full disk. */
const QUOTA_BYTES = 20 * 1024 * 1024 + 4096;
const DISK_FULL = "53100";

/** Ways to make the database refuse writes, and to undo that. */
const TROUBLES = [
  {
    what: "read-only",
    through: [],
    async begin(pool: Pool) {
      await pool`ALTER SYSTEM SET default_transaction_read_only = on`;
      await pool`SELECT pg_reload_conf()`;
    },
    async end(pool: Pool) {
      await pool`SET default_transaction_read_only = off`;
      await pool`ALTER SYSTEM RESET default_transaction_read_only`;
      await pool`SELECT pg_reload_conf()`;
    },
    says: "The hub's database is read-only.",
    health: "The database is read-only",
  },
  {
    what: "full",
    through: ["prlimit", `--fsize=${QUOTA_BYTES}`],
    async begin(pool: Pool) {
      // Rows of a transaction that is rolled back stay in the table until it is vacuumed, so they fill the
      // disk.
      const rows = Math.ceil(QUOTA_BYTES / 1_900);
      const filling = pool.unsafe(
        `INSERT INTO refused (site, epoch, at, reason, body)
         SELECT 'other', 1, 0, '', decode(repeat('00', 1900), 'hex') FROM generate_series(1, ${rows})`,
      );
      expect(await filling.then(null, sqlState)).toBe(DISK_FULL);
    },
    async end(pool: Pool) {
      await pool`TRUNCATE refused`;
    },
    says: "The disk of the hub's database is full.",
    health: "The disk of the hub's database is full",
  },
] as const;

describe.skipIf(!HAS_POSTGRES)("a database that refuses writes", () => {
  test.each(TROUBLES)("$what: 503, no acknowledgement, and sites wait", async (trouble) => {
    const settings = ["fsync=off", "autovacuum=off"];
    await using postgres = await startPostgres(await freePort(), settings, trouble.through);
    const database = await postgres.database();
    const site = madeUpSite("muc", await keyAt(database, { role: "site", site: "muc" }));
    const viewer = await keyAt(database, { role: "viewer" });
    await using hub = await startHub(database);
    await known(hub, viewer);
    const pool = open(database);
    // Facts of an unknown kind are stored unchanged.
    const facts = (from: number) =>
      [0, 1, 2].map((n) => ({ kind: "later", seq: from + n, of: "x".repeat(1_800) }));
    const push = (from: number) => site.push({ from, to: from + 2, head: 6, facts: facts(from) });
    const isHealth = (status: number, details: unknown) =>
      until(`the health is ${status}`, async () => {
        const response = await hub.get("/api/health", viewer);
        if (response.status !== status) return undefined;
        expect(await response.json()).toMatchObject(details as object);
        return true;
      });
    const stored = async () => {
      const [row] = await pool`
        SELECT cursor::int, (SELECT count(*)::int FROM refused WHERE seq > 3) AS facts FROM sites`;
      return { ...row };
    };

    expect(await site.sends(hub.url, push(1))).toMatchObject({ cursor: 3 });
    await trouble.begin(pool);
    const refusal = await until("a push is refused", async () => {
      const response = await site.send(hub.url, push(4));
      return response.ok ? undefined : response;
    });
    expect(await refusal.json()).toMatchObject({ code: "SERVICE_UNAVAILABLE", message: trouble.says });
    expect([refusal.status, refusal.headers.get("retry-after")]).toEqual([503, "5"]);
    await isHealth(503, { details: `database: ${trouble.health}` });
    expect(await stored()).toEqual({ cursor: 3, facts: 0 });
    expect((await hub.get("/api/licenses/features", viewer)).status).toBe(200);

    await trouble.end(pool);
    await until("the push is taken", async () => (await site.send(hub.url, push(4))).ok || undefined);
    await isHealth(200, { checks: { database: { status: "healthy" } } });
    expect(await stored()).toEqual({ cursor: 6, facts: 3 });
    await pool.close();
  });
});
