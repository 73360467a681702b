import { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import * as fs from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { logStats } from "../../src/history/log-queries.ts";
import { createReader } from "../../src/history/reader.ts";
import { createAlerts } from "../../src/store/alerts.ts";
import { StoreError } from "../../src/store/database/store-error.ts";
import { createEvents } from "../../src/store/events.ts";
import { createKeys } from "../../src/store/keys.ts";
import { MIGRATIONS } from "../../src/store/migrations/migrations.ts";
import { openStore, type Store } from "../../src/store/open/open.ts";
import { checkBeforeOpening } from "../../src/store/open/start-check.ts";
import { installationSecret } from "../../src/store/secrets.ts";
import { fillPage, noise, overwrite, PAGE, pagesOf } from "./damage.ts";
import { type Filled, fill } from "./filled.ts";
import { cleanUp, open, quickDirectory } from "./place.ts";
import { plainKey } from "./plain-key.ts";
import { recordingLog } from "./recording-log.ts";

afterEach(cleanUp);

const clock = { now: () => Date.now() };
const MOVED = "The database is damaged or missing: continuing with a new one, history is lost";

/** Creates a filled, closed database. */
function place(): { directory: string; path: string; filled: Filled } {
  const directory = quickDirectory();
  const store = open(directory);
  const filled = fill(store);
  store.close();
  return { directory, path: store.path, filled };
}

function openDespite(directory: string): { store: Store; log: ReturnType<typeof recordingLog> } {
  const log = recordingLog();
  return { store: open(directory, { log, damaged: "move-aside" }), log };
}

const aside = (directory: string) =>
  fs
    .readdirSync(directory)
    .filter((name) => name.startsWith("licmond.db.corrupt-"))
    .map((name) => join(directory, name));

function works(store: Store): void {
  expect(createKeys({ store, clock }).create(plainKey({ name: "fresh" })).outcome).toBe("created");
  expect(store.checkDatabase().ok).toBe(true);
}

function damageEvents(path: string): void {
  for (const page of pagesOf(path, "events", "root")) fillPage(path, page);
}

/** Damages the text of the newest log line; returns the number of events and the id of the line. */
function damageOneLine(directory: string): [number, number] {
  const store = open(directory);
  const events = createEvents(store).page(0, 10_000);
  const id = events.findLast(({ type }) => type === "log")?.id ?? 0;
  store.sqlite.run("UPDATE events SET body = '{bad' WHERE id = ?", [id]);
  store.close();
  return [events.length, id];
}

describe("a damaged database", () => {
  const cases: readonly [string, (path: string) => void][] = [
    ["no database at all", (path) => fs.writeFileSync(path, "x".repeat(10_000))],
    ["a few bytes", (path) => fs.writeFileSync(path, "SQLite")],
    ["cut in the middle of a page", (path) => fs.truncateSync(path, fs.statSync(path).size - 1000)],
    ["cut to its half", (path) => fs.truncateSync(path, PAGE * 8)],
    ["a wrong header", (path) => overwrite(path, 0, noise(16))],
    ["a header of another format", (path) => overwrite(path, 18, noise(2))],
    ["a first page that is gone", (path) => overwrite(path, 100, noise(PAGE - 100))],
    ["zeros in place of the first page", (path) => overwrite(path, 0, new Uint8Array(PAGE))],
    ["a table that is gone", (path) => damageEvents(path)],
  ];

  test.each(cases)("%s: a new database works, and the old file is kept", (_, damage) => {
    const { directory, path } = place();
    damage(path);
    const before = fs.readFileSync(path);
    const { store, log } = openDespite(directory);
    works(store);
    const [moved, ...more] = aside(directory);
    expect(more).toEqual([]);
    expect(fs.readFileSync(moved ?? "").equals(before)).toBe(true);
    expect(fs.statSync(moved ?? "").mode & 0o777).toBe(0o600);
    expect(log.lines.filter(({ message }) => message === MOVED)).toEqual([
      { level: "error", message: MOVED, fields: expect.objectContaining({ movedTo: moved }) },
    ]);
    // The check reports the moved file while it exists.
    expect(store.checkDatabase()).toMatchObject({ ok: true, degraded: true });
    fs.rmSync(moved ?? "");
    expect(store.checkDatabase()).not.toHaveProperty("degraded");
  });

  test("loses no key, secret, alert or audit line, and reuses no event id", () => {
    const { directory, path, filled } = place();
    damageEvents(path);
    const { store } = openDespite(directory);
    const keys = createKeys({ store, clock });
    const [first, ...others] = filled.keys.map((key) => keys.verify(key).outcome);
    expect([first, ...new Set(others)]).toEqual(["revoked", "valid"]);
    expect(installationSecret(store)).toEqual(Buffer.from(filled.secret));
    const alerts = createAlerts(store);
    const acknowledged = { acknowledgedBy: "ada", comment: "known", silencedUntil: 99 };
    expect(alerts.firing()).toMatchObject([{ id: 7, ...acknowledged }]);
    expect(alerts.nextId()).toBe(8);
    const events = createEvents(store);
    expect(events.highestReserved()).toBeGreaterThanOrEqual(filled.newestId);
    const stats = logStats(createReader(store.sqlite, { now: Date.now() }), []);
    expect(stats).toMatchObject({ total: 1, bySource: { audit: 1 } });
    // A client that resumes from an earlier id learns that older events are gone.
    expect(events.deletedThrough()).toBeGreaterThanOrEqual(filled.newestId);
  });

  test("that is missing is replaced in the same way, with an error", () => {
    const { directory, path, filled } = place();
    fs.rmSync(path);
    const { store, log } = openDespite(directory);
    expect(createKeys({ store, clock }).verify(filled.keys[1] ?? "").outcome).toBe("valid");
    expect(createAlerts(store).firing()).toHaveLength(1);
    expect(log.lines).toMatchObject([
      { level: "error", message: MOVED, fields: { reason: `${path} is missing` } },
    ]);
    expect(store.checkDatabase()).toMatchObject({ ok: true, degraded: true });
    store.close();
    const next = openDespite(directory);
    expect(next.log.lines).toEqual([]);
    expect(next.store.checkDatabase()).not.toHaveProperty("degraded");
  });

  test("is only replaced by a complete file: the next start still has the keys", () => {
    const { directory, path, filled } = place();
    damageEvents(path);
    const before = fs.readdirSync(directory).sort();
    const migrations = [...MIGRATIONS, { name: "never", sql: "INSERT INTO nowhere VALUES (1)" }];
    expect(() => open(directory, { migrations, damaged: "move-aside" })).toThrow(StoreError);
    expect(fs.readdirSync(directory).sort()).toEqual(before);
    const keys = createKeys({ store: openDespite(directory).store, clock });
    expect(filled.keys.filter((key) => keys.verify(key).outcome !== "valid")).toHaveLength(1);
  });

  test("is refused by default, and by commands", () => {
    const { directory, path } = place();
    overwrite(path, 0, noise(16));
    for (const options of [{}, { mode: "cli", damaged: "move-aside" }] as const)
      expect(() => open(directory, options)).toThrow(StoreError);
    expect(aside(directory)).toEqual([]);
  });

  test("that a query finds is reported, and the next start replaces the file", () => {
    const { directory, path } = place();
    const log = recordingLog();
    const store = open(directory, { log });
    // Change the file outside of SQLite.
    const [page = 1] = pagesOf(path, "events", "root");
    store.sqlite.run("PRAGMA wal_checkpoint(TRUNCATE)");
    store.sqlite.run("PRAGMA cache_size = 0");
    store.sqlite.run("PRAGMA shrink_memory");
    // In another process: closing a second descriptor here would drop SQLite's locks.
    const script = `dd if=/dev/zero of="$0" bs=${PAGE} seek=${page - 1} count=1 conv=notrunc status=none`;
    expect(Bun.spawnSync(["sh", "-c", script, path]).success).toBe(true);
    expect(() => createEvents(store).page(0, 10_000)).toThrow(/is damaged/);
    expect(store.checkDatabase()).toMatchObject({ ok: false, code: "CORRUPT" });
    expect(log.lines.filter(({ level }) => level === "error")).toHaveLength(1);
    expect(fs.existsSync(`${path}.damaged`)).toBe(true);
    store.close();
    const next = openDespite(directory);
    works(next.store);
    expect(aside(directory)).toHaveLength(1);
    expect(fs.existsSync(`${path}.damaged`)).toBe(false);
  });

  test("in the text of an event removes only that event", () => {
    const { directory, path } = place();
    const [before, id] = damageOneLine(directory);
    fs.writeFileSync(`${path}.damaged`, "a log line\n");
    const { store, log } = openDespite(directory);
    expect(aside(directory)).toEqual([]);
    const rows = createEvents(store).page(0, 10_000);
    expect(rows).toHaveLength(before - 1);
    expect(rows.map((row) => row.id)).not.toContain(id);
    expect(logStats(createReader(store.sqlite, { now: Date.now() }), []).total).toBe(
      rows.filter(({ type }) => type === "log").length,
    );
    expect(log.lines).toContainEqual({
      level: "error",
      message: "Damaged events were removed",
      fields: { events: 1 },
    });
  });

  test("that turns out to be intact is kept", () => {
    const { directory, path, filled } = place();
    fs.writeFileSync(`${path}.damaged`, "something was met\n");
    const { store, log } = openDespite(directory);
    expect(aside(directory)).toEqual([]);
    expect(createKeys({ store, clock }).list()).toHaveLength(filled.keys.length);
    expect(log.lines.map(({ message }) => message)).toContain(
      "The database was checked completely and is intact",
    );
    expect(fs.existsSync(`${path}.damaged`)).toBe(false);
  });
});

test("a write-ahead log without its database is moved aside, too", () => {
  const from = open(quickDirectory());
  from.sqlite.run("PRAGMA wal_checkpoint(TRUNCATE)");
  fill(from, { keys: 3, events: 20 });
  const directory = quickDirectory();
  for (const name of ["licmond.db-wal", "state.db", "state.db-wal", "state.db.copy"])
    fs.copyFileSync(join(from.directory, name), join(directory, name));
  works(openDespite(directory).store);
  expect(aside(directory)).toHaveLength(1);
});

function dropTable(path: string, table: string): void {
  using sqlite = new Database(path);
  sqlite.run(`DROP TABLE ${table}`);
  sqlite.run("PRAGMA wal_checkpoint(TRUNCATE)");
}

describe("a table that is missing", () => {
  test("of licmond.db is named, and a new file replaces the database", () => {
    const { directory, path } = place();
    dropTable(path, "sessions");
    const { store, log } = openDespite(directory);
    works(store);
    expect(aside(directory)).toHaveLength(1);
    expect(log.lines).toContainEqual({
      level: "error",
      message: MOVED,
      fields: expect.objectContaining({ reason: `${path} has no table sessions` }),
    });
  });

  test("of state.db is named, and its copy replaces the file", () => {
    const { directory, filled } = place();
    const path = join(directory, "state.db");
    dropTable(path, "api_keys");
    const { store, log } = openDespite(directory);
    expect(createKeys({ store, clock }).list()).toHaveLength(filled.keys.length);
    expect(log.lines).toContainEqual({
      level: "error",
      message: "state.db was restored from its copy, with the API keys",
      fields: expect.objectContaining({ reason: `${path} has no table api_keys` }),
    });
  });

  test("is named by a query, too", () => {
    const { directory, path } = place();
    const store = open(directory);
    store.sqlite.run("DROP TABLE event_holes");
    const query = () => store.read(() => store.sqlite.query("SELECT * FROM event_holes").all());
    expect(query).toThrow(`${path} has no table event_holes`);
    expect(query).toThrow(StoreError);
  });
});

test.each([
  ["exchanged", true],
  ["both state.db", false],
])("files that are %s are refused, named, and not changed", (_, areExchanged) => {
  const from = place();
  // Use another directory, because this process remembers the write-ahead logs of the first one.
  const directory = quickDirectory();
  const path = join(directory, "licmond.db");
  const small = fs.readFileSync(join(from.directory, "state.db"));
  fs.writeFileSync(path, small);
  fs.copyFileSync(areExchanged ? from.path : join(from.directory, "state.db"), join(directory, "state.db"));
  const files = () =>
    fs
      .readdirSync(directory)
      .filter((name) => !/-(wal|shm)$|\.lock$/.test(name))
      .sort();
  const before = files();
  for (const options of [{}, { damaged: "move-aside" }, { mode: "cli" }] as const)
    expect(() => open(directory, options)).toThrow(
      /\.db has the content of a (licmond|state)\.db, not of a /,
    );
  expect(files()).toEqual(before);
  expect(fs.readFileSync(path).equals(small)).toBe(true);
});

describe("a large file, which is not read completely at the start", () => {
  const check = (path: string, whole = false) => checkBeforeOpening(path, MIGRATIONS, whole, 0);

  test("a cut end is detected", () => {
    const { path } = place();
    check(path);
    // Use another directory, because this process remembers the write-ahead log of the first one.
    const cut = join(quickDirectory(), "licmond.db");
    fs.writeFileSync(cut, fs.readFileSync(path).subarray(0, -PAGE));
    expect(() => check(cut)).toThrow(/is damaged/);
  });

  test("a damaged page of the events is only detected by reading everything", () => {
    const { path } = place();
    const leaves = pagesOf(path, "events", "leaves");
    fillPage(path, leaves[leaves.length >> 1] ?? 0);
    check(path);
    expect(() => check(path, true)).toThrow(/is damaged/);
  });
});

test("any damage: the database opens, or the old file is kept next to a new one", () => {
  const { path } = place();
  const whole = fs.readFileSync(path);
  const pages = whole.length / PAGE;
  const change = fc.oneof(
    fc.record({ cut: fc.integer({ min: 1, max: whole.length - 1 }) }),
    fc.record({ page: fc.integer({ min: 1, max: pages }), fill: fc.constantFrom(0, 0xff, 0xa5, 0x0d) }),
    fc.record({
      at: fc.integer({ min: 0, max: whole.length - 1 }),
      bytes: fc.uint8Array({ minLength: 1, maxLength: 300 }),
    }),
  );
  fc.assert(
    fc.property(change, (what) => {
      const directory = quickDirectory();
      const target = join(directory, "licmond.db");
      fs.copyFileSync(join(path, "..", "state.db"), join(directory, "state.db"));
      fs.writeFileSync(target, "cut" in what ? whole.subarray(0, what.cut) : whole, { mode: 0o600 });
      if ("page" in what) fillPage(target, what.page, what.fill);
      if ("at" in what) overwrite(target, what.at, what.bytes);
      const before = fs.readFileSync(target);
      const log = recordingLog();
      try {
        openStore({ directory, log, lockWaitMs: 0, damaged: "move-aside" }).close();
      } catch (error) {
        // The header identifies another program or a newer licmond; licmond does not move such a file.
        expect(error).toBeInstanceOf(StoreError);
        expect(["FOREIGN", "NEWER"]).toContain(error instanceof StoreError ? error.code : "");
        expect("at" in what && what.at < 72 && what.at + what.bytes.length > 60).toBe(true);
        return;
      }
      const [moved] = aside(directory);
      if (moved === undefined) expect(log.lines).toEqual([]);
      else expect(fs.readFileSync(moved).equals(before)).toBe(true);
    }),
    { numRuns: 100 },
  );
});
