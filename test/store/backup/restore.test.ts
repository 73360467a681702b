import { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import * as fs from "node:fs";
import { join } from "node:path";
import { createAlerts } from "../../../src/store/alerts.ts";
import { backUp } from "../../../src/store/backup/back-up.ts";
import { restore } from "../../../src/store/backup/restore.ts";
import { createEvents } from "../../../src/store/events.ts";
import { createKeys } from "../../../src/store/keys.ts";
import { MIGRATIONS } from "../../../src/store/migrations/migrations.ts";
import type { Store } from "../../../src/store/open/open.ts";
import { fill } from "../filled.ts";
import { cleanUp, later, open, quickDirectory } from "../place.ts";
import { plainKey } from "../plain-key.ts";
import { recordingLog } from "../recording-log.ts";
import { isRoot, NEWER, NOBODY, refusal } from "./shared.ts";

afterEach(cleanUp);

const clock = { now: () => Date.now() };

const bring = (directory: string, file: string, now = Date.now()) => restore({ directory, file, now });

const keysOf = (store: Store) => createKeys({ store, clock });
const revoke = (store: Store, name: string) => keysOf(store).revoke(keysOf(store).find(name)?.id ?? "");

const FILES = ["licmond.db", "state.db", "state.db.copy"];

/** Creates a database, its backup, and changes after the backup. */
async function place(afterwards: (store: Store) => void = () => {}) {
  const scratch = quickDirectory();
  const store = open(scratch);
  const filled = fill(store);
  const file = join(quickDirectory(), "backup.db");
  await backUp({ directory: scratch, file });
  afterwards(store);
  store.close();
  // Copy the files: a connection of this process lingers until its statements are collected.
  const directory = quickDirectory();
  const path = join(directory, "licmond.db");
  for (const name of FILES) Bun.spawnSync(["cp", join(scratch, name), join(directory, name)]);
  return { directory, file, filled, path };
}

describe("a restore", () => {
  test("installs the backup and renames the present files", async () => {
    const { directory, file, filled, path } = await place((store) => {
      store.state.sqlite.run("DELETE FROM alerts");
      keysOf(store).create(plainKey({ name: "later" }));
    });
    const before = fs.readFileSync(file);
    const { report, aside, lost, revoked } = await bring(directory, file);
    expect(report).toMatchObject({ path, keys: 29 });
    expect({ lost, revoked }).toEqual({ lost: ["later"], revoked: [] });
    expect(fs.readFileSync(file).equals(before)).toBe(true);
    expect(aside).toStartWith(`${path}.replaced-`);
    const asides = fs.readdirSync(directory).filter((name) => name.includes(".replaced-"));
    expect(asides.map((name) => name.slice(0, 12)).sort()).toEqual(["licmond.db.r", "state.db.rep"]);
    const store = open(directory);
    expect(keysOf(store).verify(filled.keys[1] ?? "").outcome).toBe("valid");
    expect(store.state.sqlite.query("SELECT count(*) AS n FROM alerts").get()).toEqual({ n: 1 });
    const old = new Database(join(directory, asides.find((name) => name.startsWith("state")) ?? ""));
    later(() => old.close());
    expect(old.query("SELECT count(*) AS n FROM api_keys").get()).toEqual({ n: 31 });
  });

  test("works where nothing was, and twice in a second", async () => {
    const { file, filled } = await place();
    const directory = join(quickDirectory(), "new");
    const now = Date.now();
    const asides: (string | null)[] = [];
    for (let turn = 0; turn < 3; turn++) asides.push((await bring(directory, file, now)).aside);
    expect([asides[0], new Set(asides).size]).toEqual([null, 3]);
    expect(keysOf(open(directory)).verify(filled.keys[2] ?? "").outcome).toBe("valid");
    expect(fs.statSync(join(directory, "licmond.db")).mode & 0o777).toBe(0o600);
  });

  test.each(["of its own", "that is killed behind its one rename, finished by the next start"])(
    "does not let a revoked key in again: one %s",
    async (how) => {
      const { directory, file, filled } = await place((store) => {
        revoke(store, "key-5");
        keysOf(store).create(plainKey({ name: "later" }));
      });
      if (how !== "of its own") Bun.spawnSync(["cp", file, join(directory, "licmond.db")]);
      else expect(await bring(directory, file)).toMatchObject({ revoked: ["key-5"], lost: ["later"] });
      const keys = keysOf(open(directory));
      expect(keys.list().map(({ name }) => name)).not.toContain("later");
      expect(keys.verify(filled.keys[5] ?? "").outcome).toBe("revoked");
      expect(keys.verify(filled.keys[6] ?? "").outcome).toBe("valid");
    },
  );

  test("gives no event id twice, and reports missing events", async () => {
    let given = 0;
    const { directory, file, filled } = await place((store) => {
      // Published after the backup, by a daemon whose clock was ahead.
      given = Date.now() + 3_600_000;
      createEvents(store).reserve(given);
    });
    await bring(directory, file);
    const events = createEvents(open(directory));
    expect(events.highestReserved()).toBe(given);
    // Check clients that resume from before and from after the backup.
    for (const id of [filled.newestId, filled.newestId + 10])
      expect(events.holesAbove(id)).toEqual([{ from: filled.newestId + 1, to: given }]);
    expect(events.holesAbove(given)).toEqual([]);
  });

  test("over damaged files takes the present time for the ids, and says what it could not read", async () => {
    const { directory, file, filled, path } = await place();
    for (const name of FILES) fs.writeFileSync(join(directory, name), "x".repeat(5000));
    const now = filled.newestId + 5_000;
    const log = recordingLog();
    const { aside } = await restore({ directory, file, now, log });
    expect(log.lines).toMatchObject([{ message: expect.stringContaining("without API keys") }]);
    expect(aside).toStartWith(`${path}.replaced-`);
    expect(fs.readFileSync(aside ?? "", "utf8")).toBe("x".repeat(5000));
    const events = createEvents(open(directory));
    expect(events.highestReserved()).toBe(now);
    expect(events.holesAbove(0)).toEqual([{ from: filled.newestId + 1, to: now }]);
  });

  test("over a damaged database keeps revocations, and the copy does not undo them", async () => {
    const { directory, file, filled, path } = await place();
    // A daemon worked on the restored database; meanwhile keys were revoked and created.
    const store = open(directory);
    revoke(store, "key-1");
    const later = keysOf(store).create(plainKey({ name: "later" }));
    store.close();
    fs.writeFileSync(path, "x".repeat(5000));
    fs.writeFileSync(join(directory, "state.db"), "x".repeat(5000));
    const { revoked, lost } = await bring(directory, file);
    expect({ revoked, lost }).toEqual({ revoked: ["key-1"], lost: ["later"] });
    // Damage both files again: state.db is now rebuilt from its copy, which must contain the restored
    // revocations.
    fs.truncateSync(path, 5000);
    fs.writeFileSync(join(directory, "state.db"), "x".repeat(5000));
    const after = keysOf(open(directory, { damaged: "move-aside" }));
    const outcomes = filled.keys.slice(0, 3).map((key) => after.verify(key).outcome);
    expect<string[]>(outcomes).toEqual(["revoked", "revoked", "valid"]);
    expect(after.verify(later.outcome === "created" ? later.presented : "").outcome).toBe("invalid");
  });

  test("of state.db alone restores its keys, and keeps the history", async () => {
    const { directory, filled } = await place();
    const file = join(quickDirectory(), "state.db");
    await backUp({ directory, file, only: "state" });
    for (const name of ["state.db", "state.db.copy"]) fs.rmSync(join(directory, name));
    const { report, revoked } = await bring(directory, file);
    expect(report).toMatchObject({ path: join(directory, "state.db"), keys: 29 });
    expect(revoked).toEqual([]);
    const store = open(directory);
    expect(keysOf(store).verify(filled.keys[1] ?? "").outcome).toBe("valid");
    expect(createEvents(store).page(0, 1_000)).toHaveLength(500);
  });

  test("of state.db alone keeps the present alerts", async () => {
    const { directory } = await place();
    const file = join(quickDirectory(), "state.db");
    await backUp({ directory, file, only: "state" });
    const store = open(directory);
    store.state.sqlite.run("UPDATE alerts SET comment = 'new'; INSERT INTO alert_watches VALUES ('{}', '')");
    store.close();
    await bring(directory, file);
    const { firing, watches } = createAlerts(open(directory));
    expect(firing()).toMatchObject([{ id: 7, comment: "new" }]);
    expect(watches()).toHaveLength(1);
  });

  test.each([1, 15, MIGRATIONS.length - 1])(
    "of a backup of schema %i is opened and upgraded",
    async (version) => {
      const old = open(quickDirectory(), { migrations: MIGRATIONS.slice(0, version) });
      old.close();
      const directory = quickDirectory();
      expect((await bring(directory, old.path)).report.schemaVersion).toBe(version);
      expect(open(directory).schemaVersion).toBe(MIGRATIONS.length);
    },
  );

  test("replaces a newer licmond's database", async () => {
    const { file } = await place();
    const directory = quickDirectory();
    open(directory, { migrations: NEWER }).close();
    expect((await bring(directory, file)).aside).not.toBeNull();
    expect(open(directory).schemaVersion).toBe(MIGRATIONS.length);
  });

  test("of a killed daemon's licmond.db includes its write-ahead log, and keeps the keys", async () => {
    const store = open(quickDirectory());
    store.sqlite.run("PRAGMA wal_checkpoint(TRUNCATE)");
    fill(store, { keys: 3, events: 5 });
    const raw = quickDirectory();
    for (const suffix of ["", "-wal"])
      Bun.spawnSync(["cp", store.path + suffix, join(raw, `raw.db${suffix}`)]);
    const { directory, filled } = await place();
    await bring(directory, join(raw, "raw.db"));
    const restored = open(directory);
    expect(createEvents(restored).page(0, 10)).toHaveLength(5);
    expect(keysOf(restored).verify(filled.keys[1] ?? "").outcome).toBe("valid");
  });

  test.if(isRoot)("by root gives the files to the owner of the directory", async () => {
    const { directory, file } = await place();
    fs.chownSync(directory, NOBODY, NOBODY);
    await bring(directory, file);
    expect(fs.statSync(join(directory, "licmond.db"))).toMatchObject({ uid: NOBODY, gid: NOBODY });
  });
});

describe("a restore that is refused changes nothing", () => {
  // `backup.test.ts` has more kinds of files.
  test.each([
    ["a file that is not there", "IO", (file: string) => fs.rmSync(file)],
    ["a damaged file", "CORRUPT", (file: string) => fs.truncateSync(file, fs.statSync(file).size - 6000)],
  ] as const)("%s: %s", async (_, code, prepare) => {
    const { directory, file, path } = await place();
    prepare(file);
    const before = fs.readFileSync(path);
    expect((await refusal(bring(directory, file))).code).toBe(code);
    expect(fs.readFileSync(path).equals(before)).toBe(true);
    expect(fs.readdirSync(directory).sort()).toEqual(["licmond.lock", ...FILES].sort());
  });

  test.each([
    ["a daemon holds the directory, with its process", "daemon", "HELD"],
    ["a command has the database open", "cli", "BUSY"],
  ] as const)("while %s", async (_, mode, code) => {
    const { directory, file, path } = await place();
    const store = open(directory, { mode });
    store.sqlite.query("SELECT count(*) FROM events").get();
    const error = await refusal(bring(directory, file));
    expect(error.code).toBe(code);
    if (code === "HELD") expect(error.message).toContain(`process ${process.pid}`);
    expect(fs.existsSync(`${path}.restoring`)).toBe(false);
    expect(keysOf(store).list()).toHaveLength(30);
  });

  test("the database itself", async () => {
    const { directory, path } = await place();
    expect((await refusal(bring(directory, path))).message).toContain("the database itself");
  });
});
