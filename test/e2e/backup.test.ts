import { describe, expect, test } from "bun:test";
import { mkdir, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { MIGRATIONS } from "../../src/store/migrations/migrations.ts";
import { openStore } from "../../src/store/open/open.ts";
import { BINARY, type Daemon, until, untilPrinted } from "./harness.ts";
import { lmstat } from "./lmstat.ts";
import { createSite, type Site } from "./site.ts";
import { npmEventSource } from "./stream-clients.ts";

const ada = { user: "ada", host: "ws01" };
const grace = { user: "grace", host: "ws02" };
const quiet = { debug() {}, info() {}, warn() {}, error() {} };

async function json(response: Response): Promise<Readonly<Record<string, unknown>>> {
  const body: unknown = await response.json();
  if (typeof body !== "object" || body === null) throw new Error(`not an object: ${String(body)}`);
  return { ...body };
}

const rescan = (daemon: Daemon, key: string) => daemon.get("/api/licenses/rescan", key, { method: "POST" });

/** As many polls as there is time for, while a backup is made. */
const LIMITS = "[limits]\nrequests_per_minute = 1000000\nburst = 1000000\n";

async function withTool(site: Site) {
  const tool = await site.tool("lmutil");
  await site.configure(
    `${LIMITS}[[servers]]\nid = "eda"\nmanager = "flexnet"\naddress = "27000@localhost"\ntool = "${tool.path}"\n`,
  );
  return tool;
}

const movedAside = async (site: Site, word: string) =>
  (await readdir(join(site.folder, "storage"))).filter((name) => name.startsWith(`licmond.db.${word}-`));

describe("backup and restore", () => {
  test("made while polls and streams run, put back elsewhere: the same answers, and the keys work", async () => {
    await using site = await createSite();
    const tool = await withTool(site);
    await tool.says(lmstat({ solver: { total: 4, holders: [ada] } }));
    await using daemon = await site.serve();
    const key = await site.key("admin");
    await rescan(daemon, key);
    await tool.says(lmstat({ solver: { total: 4, holders: [grace] } }));
    await rescan(daemon, key);
    const stream = npmEventSource(`${daemon.url}/stream/combined?api_key=${key}`, [
      "log",
      "checkout",
      "checkin",
    ]);
    await until("the stream is open", () => stream.opened() === 1 || undefined);

    let polling = true;
    const polls = (async () => {
      while (polling) expect((await rescan(daemon, key)).status).toBe(200);
    })();
    const file = join(site.folder, "backup.db");
    const made = await site.run(["backup", file, "--json"]);
    expect({ exitCode: made.exitCode, stderr: made.stderr }).toMatchObject({ exitCode: 0 });
    expect(made.stderr).toMatch(/backup\.db: [\d.]+ [kM]B, \d+ rows, checked, in [\d.]+ s\n$/);
    expect(JSON.parse(made.stdout)).toMatchObject({
      integrity: "ok",
      keys: 1,
      schemaVersion: MIGRATIONS.length,
    });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    polling = false;
    await polls;
    expect((await daemon.get("/api/health", key)).status).toBe(200);
    const path = "/api/licenses/sessions?sort=startedAt";
    const before = await json(await daemon.get(path, key));
    expect(before).toMatchObject({ total: 2 });
    await until("the stream tells something", () => stream.seen.length > 0 || undefined);

    const again = await site.run(["backup", file]);
    expect(again.exitCode).toBe(1);
    expect(again.stderr).toContain("--force");
    const told = await site.run(["backup", "--verify", file]);
    expect(told.stdout).toMatch(
      /integrity +ok\nschema +\d+\nrows +\d+ in \d+ tables\nAPI keys +1 not revoked\n/,
    );

    await using elsewhere = await createSite();
    const sameTool = await withTool(elsewhere);
    await sameTool.says(lmstat({ solver: { total: 4, holders: [grace] } }));
    const restored = await elsewhere.run(["restore", file]);
    expect({ exitCode: restored.exitCode, stderr: restored.stderr }).toMatchObject({ exitCode: 0 });
    await using second = await elsewhere.serve();
    const sessions = (body: Readonly<Record<string, unknown>>) =>
      (body.sessions as readonly Record<string, unknown>[]).map(
        ({ user, host, feature, startedAt, firstSeenAt, endedAt }) => ({
          user,
          host,
          feature,
          startedAt,
          firstSeenAt,
          endedAt,
        }),
      );
    expect(sessions(await json(await second.get(path, key)))).toEqual(sessions(before));
    expect(await json(await second.get("/api/licenses/features", key))).toMatchObject({
      features: [{ name: "solver", total: 4, used: 1 }],
    });
    stream.close();
  });

  test("over a database that went on: what was there is kept, ids go on, a client that resumes is told", async () => {
    await using site = await createSite();
    const file = join(site.folder, "backup.db");
    const first = await site.serve();
    const key = await site.key("admin");
    expect((await site.run(["backup", file])).exitCode).toBe(0);
    const revoked = await site.key("admin");
    const held = await site.run(["restore", file]);
    expect(held.exitCode).toBe(1);
    expect(held.stderr).toContain(`process ${first.pid}`);
    const stream = npmEventSource(`${first.url}/stream/logs?api_key=${key}`, ["log"]);
    const lastId = await until("a log line", async () => {
      await first.get("/api/nowhere", key);
      return stream.seen.at(-1)?.id;
    });
    stream.close();
    expect(await first.stop()).toBe(0);

    const done = await site.run(["restore", file]);
    expect({ exitCode: done.exitCode, stderr: done.stderr }).toMatchObject({ exitCode: 0 });
    expect(done.stderr).toContain("Keys made since the backup, which are gone: test-2");
    expect(await movedAside(site, "replaced")).toHaveLength(1);
    await using second = await site.serve();
    expect((await second.get("/api/licenses", revoked)).status).toBe(401);
    const stop = new AbortController();
    const resumed = await second.get(`/stream/logs?last_event_id=${lastId}`, key, { signal: stop.signal });
    const decoder = new TextDecoder();
    let text = "";
    for await (const chunk of resumed.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      if (/^id: /m.test(text)) break;
    }
    stop.abort();
    expect(text).toContain("could not be stored and are missing");
    expect(Number(/^id: (?:log-)?(\d+)/m.exec(text)?.[1])).toBeGreaterThan(lastId);
  });
});

describe("a damaged database", () => {
  test("is moved aside: the daemon works, the keys too, health and log tell of it", async () => {
    await using site = await createSite();
    const tool = await withTool(site);
    await tool.says(lmstat({ solver: { total: 4, holders: [ada] } }));
    const first = await site.serve();
    const key = await site.key("admin");
    await rescan(first, key);
    await first.stop();
    const path = join(site.folder, "storage", "licmond.db");
    // A page of the events, found by their words.
    const bytes = Buffer.from(await Bun.file(path).arrayBuffer());
    const page = Math.floor(bytes.lastIndexOf("licmond started") / 4096);
    expect(page).toBeGreaterThan(1);
    bytes.fill(0xa5, page * 4096, (page + 1) * 4096);
    await Bun.write(path, bytes);

    // Commands beside no daemon take what they can read, and move nothing.
    expect((await site.run(["keys", "list"])).stdout).toContain("test-1");
    expect(await movedAside(site, "corrupt")).toEqual([]);
    await using second = await site.serve();
    const [moved = ""] = await movedAside(site, "corrupt");
    expect(Buffer.from(await Bun.file(join(site.folder, "storage", moved)).arrayBuffer()).equals(bytes)).toBe(
      true,
    );
    await untilPrinted(second, "The database is damaged or missing");
    expect((await rescan(second, key)).status).toBe(200);
    expect(await json(await second.get("/api/licenses/users", key))).toMatchObject({ total: 1 });
    expect(await json(await second.get("/api/health"))).toMatchObject({
      status: "degraded",
      checks: { database: { status: "degraded" } },
    });
    expect(JSON.stringify(await json(await second.get("/api/logs/recent?levels=error", key)))).toContain(
      moved,
    );
  });

  test("text in place of it too, and another program's database is refused and left alone", async () => {
    await using site = await createSite();
    const path = join(site.folder, "storage", "licmond.db");
    await Bun.write(path, "not a database\n".repeat(1000));
    const daemon = await site.serve();
    expect(await daemon.stop()).toBe(0);
    expect(await movedAside(site, "corrupt")).toHaveLength(1);

    await using other = await createSite();
    const foreign = join(other.folder, "storage", "licmond.db");
    await mkdir(join(other.folder, "storage"), { recursive: true });
    Bun.spawnSync([
      process.execPath,
      "-e",
      "new (require('bun:sqlite').Database)(process.argv[1]).run('CREATE TABLE songs (x)')",
      foreign,
    ]);
    const before = await Bun.file(foreign).bytes();
    const refused = await other.run(["serve"]);
    expect(refused.exitCode).toBe(1);
    expect(refused.stderr).toContain("another program");
    expect(await Bun.file(foreign).bytes()).toEqual(before);
  });
});

test("a database of every earlier schema is copied before it is upgraded", async () => {
  for (let version = 1; version < MIGRATIONS.length; version += 4) {
    await using site = await createSite();
    openStore({
      directory: join(site.folder, "storage"),
      log: quiet,
      migrations: MIGRATIONS.slice(0, version),
    }).close();
    await using daemon = await site.serve();
    const [copy = "", ...more] = await movedAside(site, `schema`);
    expect(copy).toStartWith(`licmond.db.schema-${version}-`);
    expect(more).toEqual([]);
    const verified = await site.run(["restore", "--verify", join(site.folder, "storage", copy)]);
    expect(verified.stdout).toContain(`schema     ${version} (this licmond has ${MIGRATIONS.length}`);
    await untilPrinted(daemon, "The database is copied before the upgrade of its schema");
  }
});

const canMount = process.getuid?.() === 0 && Bun.spawnSync(["unshare", "-m", "true"]).exitCode === 0;

describe.skipIf(!canMount)(
  `a read-only file system${canMount ? "" : " (skipped: mounting is not allowed here)"}`,
  () => {
    /** Runs the binary where this folder is mounted read-only. */
    function runBeside(readOnly: string, ...args: readonly string[]) {
      const script = `mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"`;
      const { exitCode, stderr } = Bun.spawnSync([
        ...["unshare", "-m", "sh", "-c", script, readOnly, BINARY, ...args],
      ]);
      return { exitCode, stderr: stderr.toString() };
    }

    test("is named as the reason, for where a copy goes and for where the daemon is to work", async () => {
      await using site = await createSite();
      await site.configure("");
      await site.key("admin");
      const target = join(site.folder, "backups");
      await mkdir(target);
      const config = ["--config", site.config];
      const storage = join(site.folder, "storage");
      for (const [readOnly, ...args] of [
        [target, "backup", join(target, "copy.db")],
        [target, "export", "sessions", "--output", join(target, "sessions.csv")],
        [storage, "keys", "list"],
        [storage, "serve"],
      ] as const) {
        const { exitCode, stderr } = runBeside(readOnly, ...args, ...config);
        expect({ args, exitCode, stderr }).toEqual({
          args,
          exitCode: 1,
          stderr: expect.stringContaining("EROFS"),
        });
        expect(stderr).not.toContain("uid");
      }
    });
  },
);
