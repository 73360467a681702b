import { afterEach, describe, expect, test } from "bun:test";
import * as fs from "node:fs";
import { join } from "node:path";
import { type BackupOptions, backUp } from "../../../src/store/backup/back-up.ts";
import { examineDatabase } from "../../../src/store/backup/worker.ts";
import { requireSpace } from "../../../src/store/database/files.ts";
import { MIGRATIONS } from "../../../src/store/migrations/migrations.ts";
import type { Store } from "../../../src/store/open/open.ts";
import { fill } from "../filled.ts";
import { cleanUp, open, quickDirectory } from "../place.ts";
import { isRoot, makeForeign, NEWER, NOBODY, refusal } from "./shared.ts";

afterEach(cleanUp);

function place() {
  const directory = quickDirectory();
  const store = open(directory);
  return { directory, store, filled: fill(store), file: join(quickDirectory(), "copy.db") };
}

const take = (directory: string, file: string, change: Partial<BackupOptions> = {}) =>
  backUp({ directory, file, ...change });
const copyOf = (store: Store, path: string) => {
  store.close();
  fs.copyFileSync(store.path, path);
};

describe("a backup", () => {
  test("contains all commits, and reports its contents", async () => {
    const { directory, store, filled, file } = place();
    const before = Date.now();
    const steps: string[] = [];
    const report = await take(directory, file, { onStep: (step) => void steps.push(step) });
    expect([...new Set(steps)]).toEqual(["copy", "check"]);
    expect(report).toMatchObject({
      path: file,
      schemaVersion: MIGRATIONS.length,
      bytes: fs.statSync(file).size,
    });
    const rows = Object.fromEntries(report.tables.map(({ name, rows }) => [name, rows]));
    expect(rows).toMatchObject({ api_keys: filled.keys.length, events: 500, alerts: 1, secrets: 1 });
    expect(report.rows).toBe(Object.values(rows).reduce((a, b) => a + b, 0));
    expect(report.keys).toBe(filled.keys.length - 1);
    expect(report.newestAt).toBe(filled.newestId);
    expect(report.oldestAt).toBe(filled.newestId - 499);
    expect(report.newestAt).toBeLessThanOrEqual(before);
    expect(fs.readdirSync(join(file, ".."))).toEqual(["copy.db"]);
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
    expect(store.checkDatabase().ok).toBe(true);
  });

  test("replaces a file only with --force", async () => {
    const { directory, file } = place();
    fs.writeFileSync(file, "precious");
    expect((await refusal(take(directory, file))).fix).toContain("--force");
    expect(fs.readFileSync(file, "utf8")).toBe("precious");
    await take(directory, file, { force: true });
    expect(examineDatabase(file).keys).toBe(29);
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
  });

  test("never replaces the daemon's files", async () => {
    const { directory, store } = place();
    const link = join(quickDirectory(), "link");
    fs.symlinkSync(directory, link);
    const before = fs.statSync(store.path).ino;
    const names = ["licmond.db", "licmond.db-wal", "licmond.lock", "state.db", "state.db.copy"];
    for (const file of [...names.map((name) => join(directory, name)), join(link, "licmond.db")])
      expect((await refusal(take(directory, file, { force: true }))).message).toContain("used by the daemon");
    expect(fs.statSync(store.path).ino).toBe(before);
  });

  test("names the problem: directory, file, database missing, foreign or damaged", async () => {
    const { directory, store, file } = place();
    const says = async (from: string, to = file) => (await refusal(take(from, to, { force: true }))).message;
    expect(await says(directory, join(file, "..", "no", "such.db"))).toContain("Directory not found");
    expect(await says(directory, join(file, ".."))).toContain("not a file");
    expect(await says(quickDirectory())).toContain("Database not found");
    const other = quickDirectory();
    makeForeign(join(other, "licmond.db"));
    expect(await says(other)).toContain("another program");
    store.close();
    fs.truncateSync(store.path, fs.statSync(store.path).size - 3 * 4096);
    expect(await says(directory)).toContain("is damaged");
    expect(fs.readdirSync(join(file, ".."))).toEqual([]);
  });

  test("that is cancelled leaves nothing, and removes leftovers", async () => {
    const { directory, file } = place();
    for (const suffix of ["", "-journal"]) fs.writeFileSync(`${file}.part${suffix}`, "half");
    const abort = new AbortController();
    const reason = new Error("called off");
    const work = take(directory, file, { signal: abort.signal, onStep: () => abort.abort(reason) });
    expect(await work.catch((error: unknown) => error)).toBe(reason);
    expect(fs.readdirSync(join(file, ".."))).toEqual([]);
  });

  test("needs space, and names the amount", () => {
    expect(() => requireSpace("/tmp", 50_000_000, "Free some.", 60_000_000)).toThrow(
      "Not enough space in /tmp: 60 MB free; a copy of the database needs 50 MB",
    );
    requireSpace("/tmp", 50_000_000, "Free some.", 90_000_000);
  });

  test.if(isRoot)(
    "by root belongs to the daemon's user in the storage directory, and to root elsewhere",
    async () => {
      const { directory, file } = place();
      fs.chownSync(directory, NOBODY, NOBODY);
      const inside = join(directory, "mine.db");
      await take(directory, inside);
      expect(fs.statSync(inside)).toMatchObject({ uid: NOBODY, gid: NOBODY });
      fs.chownSync(join(file, ".."), NOBODY, NOBODY);
      await take(directory, file);
      expect(fs.statSync(file)).toMatchObject({ uid: 0, gid: 0 });
    },
  );
});

describe("looking at a file", () => {
  test("leaves no trace, also of one in the middle of its life", () => {
    const { store, filled } = place();
    const directory = join(quickDirectory(), "raw");
    fs.mkdirSync(directory);
    const raw = join(directory, "raw.db");
    // Write everything to the file, because its write-ahead log is not copied.
    store.sqlite.run("PRAGMA wal_checkpoint(TRUNCATE)");
    Bun.spawnSync(["cp", store.path, raw]);
    fs.chmodSync(directory, 0o500);
    const before = fs.readFileSync(raw);
    expect(examineDatabase(raw).newestAt).toBe(filled.newestId);
    expect(fs.readdirSync(directory)).toEqual(["raw.db"]);
    expect(fs.readFileSync(raw).equals(before)).toBe(true);
  });

  const bad: readonly [string, RegExp, (path: string) => void][] = [
    ["a file that is not there", /does not exist/, () => {}],
    ["a directory", /is not a file/, (path) => fs.mkdirSync(path)],
    ["an empty file", /is empty/, (path) => fs.writeFileSync(path, "")],
    ["a text", /is not a database/, (path) => fs.writeFileSync(path, "hello ".repeat(1000))],
    [
      "a database of a newer licmond",
      /newer licmond/,
      (path) => copyOf(open(quickDirectory(), { migrations: NEWER }), path),
    ],
    ["another program's", /another program/, makeForeign],
    [
      "a damaged one",
      /is damaged/,
      (path) => {
        copyOf(place().store, path);
        fs.truncateSync(path, fs.statSync(path).size - 5000);
      },
    ],
  ];
  test.each(bad)("%s: %s", async (_, message, prepare) => {
    const path = join(quickDirectory(), "some.db");
    prepare(path);
    const error = await refusal((async () => examineDatabase(path))());
    expect(error.message).toMatch(message);
    // This file is not the daemon's database, so advice about the daemon would be wrong.
    expect(error.fix).not.toMatch(/daemon|storage|^$/);
  });
});
