import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { randomInt } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeKey, printKey, systemRandom } from "../../src/domain/keys.ts";
import { MIGRATIONS } from "../../src/store/migrations/migrations.ts";
import { openStore } from "../../src/store/open/open.ts";
import { BINARY, until, untilPrinted } from "./harness.ts";
import { createSite, type Site } from "./site.ts";
import { createWatchedSite } from "./watched-site.ts";

const PAGE = 4096;
const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const HALF_MADE = /\.(restoring|rescuing|upgrading)(-\w+)?$/;

const storageOf = (site: Site) => join(site.folder, "storage");
const databaseOf = (site: Site) => join(storageOf(site), "licmond.db");
const stateOf = (site: Site) => join(storageOf(site), "state.db");
const filesOf = (site: Site) => readdirSync(storageOf(site));

/** Empties the write-ahead log. The log of a killed daemon would repair a damaged page. */
function emptyLog(site: Site): void {
  using sqlite = new Database(databaseOf(site));
  sqlite.run("PRAGMA wal_checkpoint(TRUNCATE)");
}

function fillPage(path: string, page: number): void {
  const bytes = readFileSync(path);
  bytes.fill(0, page * PAGE, (page + 1) * PAGE);
  writeFileSync(path, bytes);
}

describe("API keys", () => {
  test("work after kill -9 and the loss of any file or of its first pages, and revoked ones do not", async () => {
    await using site = await createSite();
    const first = await site.serve();
    const [admin, lost] = [await site.key("admin"), await site.key("viewer")];
    const own = `/api/keys/${lost.split("_")[1]}`;
    expect((await first.get(own, admin, { method: "DELETE" })).status).toBe(204);
    await first.kill();
    emptyLog(site);
    const remove = (name: string) => {
      for (const end of ["", "-wal", "-shm"]) rmSync(join(storageOf(site), name + end), { force: true });
    };
    const losses: readonly [string, RegExp, () => void][] = [
      ["a page of licmond.db", /continuing with a new one/, () => fillPage(databaseOf(site), 0)],
      ["licmond.db", /licmond\.db is missing/, () => remove("licmond.db")],
      ["a page of state.db", /state\.db was restored from its copy/, () => fillPage(stateOf(site), 1)],
      ["state.db", /state\.db is missing/, () => remove("state.db")],
    ];
    for (const [what, words, lose] of losses) {
      lose();
      await using next = await site.serve();
      expect([what, (await next.get("/api/status", admin)).status]).toEqual([what, 200]);
      expect(await next.json<object>("/api/status", lost)).toMatchObject({ code: "AUTH_REVOKED" });
      await untilPrinted(next, words);
      const degraded = { checks: { database: { status: "degraded" } } };
      expect(await next.json<object>("/api/health")).toMatchObject(degraded);
      // Stop cleanly, so that no write-ahead log repairs the next damage.
      expect(await next.stop()).toBe(0);
    }
  });
});

describe("kill -9 leaves no half-finished work", () => {
  /**
   * Fills a database with SQL that fits every schema. Returns its admin key. The database is so large that
   * replacing it takes a while.
   */
  function fillStorage(directory: string, migrations = MIGRATIONS): string {
    mkdirSync(directory, { recursive: true });
    const { id, secret } = makeKey(systemRandom);
    const store = openStore({ directory, log: quiet, migrations });
    const keys = migrations === MIGRATIONS ? store.state.sqlite : store.sqlite;
    keys.run(
      "INSERT INTO api_keys (id, name, role, secret_hash, created_at) VALUES (?, 'k', 'admin', ?, 1)",
      [id, new Bun.CryptoHasher("sha256").update(secret).digest()],
    );
    const first = Date.now() - 20_000;
    const insert = store.sqlite.query(
      "INSERT INTO events VALUES (?1, ?1, 'log', 'info', 'system', NULL, ?2)",
    );
    store.transaction(() => {
      for (let at = first; at < first + 20_000; at++) {
        const line = { type: "log", level: "info", source: "system", metadata: {}, message: `line ${at}` };
        insert.run(at, JSON.stringify({ ...line, id: `log-${at}`, timestamp: new Date(at).toISOString() }));
      }
    });
    store.close();
    // 0.1 has no separate file for keys.
    if (migrations !== MIGRATIONS)
      for (const name of ["state.db", "state.db.copy"]) rmSync(join(directory, name), { force: true });
    return printKey({ id, secret });
  }

  /** Runs a command repeatedly, killing it a little later each time, until it completes once. */
  async function killedAtTimes(args: readonly string[], isDone: () => boolean): Promise<void> {
    let printed = "";
    for (let ms = 20; ms < 10_000; ms += randomInt(5, 60) + ms / 20) {
      const child = Bun.spawn([BINARY, ...args], { stdout: "pipe", stderr: "pipe", stdin: "ignore" });
      const texts = [child.stdout.text(), child.stderr.text()];
      await Promise.race([child.exited, Bun.sleep(ms)]);
      child.kill("SIGKILL");
      await child.exited;
      if (isDone()) return;
      printed = (await Promise.all(texts)).join("");
    }
    throw new Error(`licmond ${args[0]} did not come to its end in 10 s; it had printed:\n${printed}`);
  }

  async function isTidy(site: Site, key: string): Promise<void> {
    await using daemon = await site.serve();
    expect(filesOf(site).filter((name) => HALF_MADE.test(name))).toEqual([]);
    expect((await daemon.get("/api/status", key)).status).toBe(200);
  }

  test("during a restore, a rescue, an upgrade", async () => {
    await using site = await createSite();
    const key = fillStorage(storageOf(site));
    const file = join(site.folder, "backup.db");
    copyFileSync(databaseOf(site), file);
    const has = (word: string) => filesOf(site).some((name) => name.startsWith(`licmond.db.${word}-`));
    await killedAtTimes(["restore", file, "--config", site.config], () => has("replaced"));
    await isTidy(site, key);

    emptyLog(site);
    fillPage(databaseOf(site), 9);
    await killedAtTimes(["serve", "--config", site.config], () => has("corrupt"));
    await isTidy(site, key);

    await using old = await createSite();
    const oldKey = fillStorage(storageOf(old), MIGRATIONS.slice(0, 15));
    const isCopied = () => filesOf(old).some((name) => name.startsWith("licmond.db.schema-"));
    await killedAtTimes(["serve", "--config", old.config], isCopied);
    await isTidy(old, oldKey);
  });
});

test("damage found by the history worker is an error in the answer, and repaired at the next start", async () => {
  await using site = await createWatchedSite();
  const { daemon, key, poll } = await site.watch();
  await poll({ features: { solver: { total: 40, used: 40 } } });
  // Writes to the file of the running daemon. Uses a child process, because closing the file here would release SQLite's
  // locks of this process.
  const damage = `
    const sqlite = new (require("bun:sqlite").Database)(process.argv[1]);
    sqlite.query("PRAGMA wal_checkpoint(TRUNCATE)").get();
    const pages = sqlite.query("SELECT pageno FROM dbstat WHERE name IN (SELECT name FROM sqlite_schema WHERE tbl_name = 'sessions')").all();
    sqlite.close();
    const file = require("fs").openSync(process.argv[1], "r+");
    for (const { pageno } of pages) require("fs").writeSync(file, Buffer.alloc(4096, 0xa5), 0, 4096, (pageno - 1) * 4096);
    console.log(pages.length);`;
  const damaged = Bun.spawnSync([process.execPath, "-e", damage, databaseOf(site)]);
  expect(Number(damaged.stdout.toString())).toBeGreaterThan(3);

  const answer = await daemon.get("/api/licenses/sessions", key);
  expect(answer.status).toBe(500);
  expect(await answer.text()).toMatch(/"code":"DATABASE_ERROR".*is damaged/);
  await until("the damage is noted", () => filesOf(site).includes("licmond.db.damaged") || undefined);
  const health = await daemon.get("/api/health");
  expect(health.status).toBe(503);
  expect(await health.text()).toContain("The database is damaged");
  expect((await daemon.get("/api/licenses", key)).status).toBe(200);
  await daemon.kill();
  await using next = await site.serve();
  expect(filesOf(site).some((name) => name.startsWith("licmond.db.corrupt-"))).toBe(true);
  expect((await next.get("/api/licenses/sessions", key)).status).toBe(200);
});
