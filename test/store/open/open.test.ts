import { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import * as fs from "node:fs";
import { join } from "node:path";
import { StoreError, type StoreErrorCode } from "../../../src/store/database/store-error.ts";
import { createKeys } from "../../../src/store/keys.ts";
import { MIGRATIONS } from "../../../src/store/migrations/migrations.ts";
import type { Store } from "../../../src/store/open/open.ts";
import { canMount, isRoot, makeForeign, NEWER, NOBODY } from "../backup/shared.ts";
import { noise, overwrite } from "../damage.ts";
import {
  cleanUp,
  firstLine,
  later,
  linesOf,
  open,
  quickDirectory,
  spawnScript,
  temporaryDirectory,
} from "../place.ts";
import { plainKey } from "../plain-key.ts";
import { recordingLog } from "../recording-log.ts";

afterEach(cleanUp);

if (!isRoot) console.warn("Tests of ownership need root: skipped");

const clock = { now: () => Date.now() };
const FILES = ["licmond.db", "state.db"]
  .flatMap((name) => [name, `${name}-wal`, `${name}-shm`])
  .concat("state.db.copy", "licmond.lock");
const write = (store: Store, words = "x") =>
  store.transaction(() =>
    store.sqlite.run("INSERT OR REPLACE INTO fleet_marks (name, value) VALUES (?1, ?1)", [words]),
  );
const modeOf = (path: string) => (fs.statSync(path).mode & 0o777).toString(8);
const keysOf = (store: Store) => createKeys({ store, clock });

function failure(work: () => unknown): StoreError {
  try {
    work();
  } catch (error) {
    if (error instanceof StoreError) return error;
    throw error;
  }
  throw new Error("it did not fail");
}

describe("opening a store", () => {
  test("creates a directory and files that only their owner can read, with any umask", () => {
    for (const umask of [0o000, 0o277]) {
      const directory = temporaryDirectory();
      const before = process.umask(umask);
      try {
        keysOf(open(directory)).create(plainKey());
        for (const file of FILES) expect([file, modeOf(join(directory, file))]).toEqual([file, "600"]);
      } finally {
        process.umask(before);
      }
    }
    const made = join(temporaryDirectory(), "made");
    open(made);
    expect(modeOf(made)).toBe("700");
  });

  test("sets the options of the connection", () => {
    const { sqlite } = open(temporaryDirectory());
    const pragma = (name: string) => sqlite.query(`PRAGMA ${name}`).values()[0]?.[0];
    const names = ["journal_mode", "synchronous", "foreign_keys", "busy_timeout"];
    expect(names.map(pragma)).toEqual(["wal", 1, 1, 5000]);
  });

  test("finds what was written, and leaves nothing in the write-ahead log", () => {
    const directory = temporaryDirectory();
    const first = open(directory);
    const before = first.sizeBytes();
    const made = keysOf(first).create(plainKey());
    // The size includes the write-ahead log.
    expect(first.sizeBytes()).toBeGreaterThan(before);
    first.close();
    first.close();
    const log = join(directory, "licmond.db-wal");
    expect(fs.existsSync(log) ? fs.statSync(log).size : 0).toBe(0);
    const keys = keysOf(open(directory));
    expect(keys.list().map((key) => key.id)).toEqual([made.key.id]);
  });

  test.if(isRoot)("as root gives its files to the owner of the directory", () => {
    const directory = temporaryDirectory();
    fs.chownSync(directory, NOBODY, NOBODY);
    const store = open(directory);
    keysOf(store).create(plainKey());
    for (const file of FILES) {
      const { uid, gid } = fs.statSync(join(directory, file));
      expect([file, uid, gid]).toEqual([file, NOBODY, NOBODY]);
    }
  });

  test("reports CLOSED after close", () => {
    const store = open(temporaryDirectory());
    const keys = keysOf(store);
    store.close();
    expect(failure(() => keys.list()).code).toBe("CLOSED");
    expect(failure(() => keys.create(plainKey())).code).toBe("CLOSED");
    expect(store.checkDatabase()).toMatchObject({ ok: false, code: "CLOSED" });
  });
});

describe("a store that cannot be opened names the problem and the fix", () => {
  const inData =
    (make: (path: string) => void, name = "licmond.db") =>
    (directory: string) => {
      fs.mkdirSync(join(directory, "data"));
      make(join(directory, "data", name));
    };
  const junk = (path: string) => fs.writeFileSync(path, "x".repeat(10_000));
  const cases: readonly [string, StoreErrorCode, RegExp, (directory: string) => void][] = [
    ["a missing parent", "NOT_WRITABLE", /does not exist/, (at) => fs.rmSync(at, { recursive: true })],
    ["a file as directory", "NOT_WRITABLE", /is not a dir/, (at) => fs.writeFileSync(join(at, "data"), "")],
    ["a directory for the file", "NOT_WRITABLE", /is not a file/, inData((path) => fs.mkdirSync(path))],
    ["no database", "CORRUPT", /is not a database.*begins a new one/, inData(junk)],
    [
      "a damaged state.db",
      "CORRUPT",
      /state\.db is .*puts its copy .* in its place/,
      inData(junk, "state.db"),
    ],
    [
      "a damaged database",
      "CORRUPT",
      /is damaged/,
      (directory) => {
        const store = open(join(directory, "data"));
        store.close();
        // Keep the header and damage the schema behind it.
        overwrite(store.path, 100, noise(fs.statSync(store.path).size));
      },
    ],
    ["another program's database", "FOREIGN", /another program/, inData(makeForeign)],
    [
      "a database of a newer licmond",
      "NEWER",
      new RegExp(`schema ${NEWER.length}, this one knows up to ${MIGRATIONS.length}`),
      (directory) => open(join(directory, "data"), { migrations: NEWER }).close(),
    ],
  ];

  test.each(cases)("%s: %s", (_, code, message, prepare) => {
    const directory = temporaryDirectory();
    prepare(directory);
    const error = failure(() => open(join(directory, "data")));
    expect(error.code).toBe(code);
    expect(`${error.message}. ${error.fix}`).toMatch(message);
    expect(error.message).toContain(directory);
    expect(error.fix).not.toBe("");
  });

  test("another program's file is not changed, and without it the store opens", () => {
    const directory = temporaryDirectory();
    const path = join(directory, "licmond.db");
    makeForeign(path);
    const before = fs.readFileSync(path);
    failure(() => open(directory, { damaged: "move-aside" }));
    expect(fs.readFileSync(path).equals(before)).toBe(true);
    fs.rmSync(path);
    expect(open(directory).checkDatabase().ok).toBe(true);
  });

  test.if(isRoot)("a directory that this user may not write", async () => {
    const directory = temporaryDirectory();
    fs.chmodSync(directory, 0o755);
    const asNobody = ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups", "--"];
    expect(await saying(spawnScript("holder.ts", [directory], asNobody))).toMatchObject({
      code: "NOT_WRITABLE",
      message: `${directory} cannot be written by uid ${NOBODY}`,
    });
    open(directory).close();
    fs.chownSync(directory, NOBODY, NOBODY);
    // Give the file to root, as if root had created it.
    fs.chownSync(join(directory, "licmond.db"), 0, 0);
    expect(await saying(spawnScript("holder.ts", [directory, "cli"], asNobody))).toMatchObject({
      code: "NOT_WRITABLE",
      message: `${join(directory, "licmond.db")} cannot be written by uid ${NOBODY}`,
    });
  });

  test.if(canMount).each([
    ["tmpfs", "size=64k,nr_inodes=100", "FULL", "No space"],
    ["tmpfs", "ro", "NOT_WRITABLE", "mounted read-only (EROFS)"],
  ])("a %s with %s: %s", async (type, options, code, words) => {
    const directory = temporaryDirectory();
    const script = `mount -t ${type} -o "${options}" none "$0" && exec "$@"`;
    const child = spawnScript("holder.ts", [directory], ["unshare", "-m", "sh", "-c", script, directory]);
    expect(await saying(child)).toMatchObject({ code, message: expect.stringContaining(words) });
  });

  test.each([
    ["/proc/licmond", "the file system of /proc does not accept a new directory (ENOENT)"],
    ["/no/such/place/licmond", "/no/such/place does not exist"],
    ["/etc/passwd/licmond", "/etc/passwd is not a directory"],
  ])("%s cannot be created, and the reason is named", (directory, why) => {
    expect(failure(() => open(directory))).toMatchObject({
      code: "NOT_WRITABLE",
      message: `The storage directory ${directory} cannot be created: ${why}`,
    });
  });
});

describe("two processes", () => {
  test("a second daemon is refused, with the process id of the first", async () => {
    const directory = temporaryDirectory();
    open(directory);
    const answer = await saying(spawnScript("holder.ts", [directory]));
    expect(answer).toMatchObject({ code: "HELD" });
    expect(answer.message).toContain(`process ${process.pid}`);
    expect(answer.message).toContain(directory);
  });

  test("a start waits for a daemon that is shutting down", async () => {
    const directory = temporaryDirectory();
    const child = spawnScript("holder.ts", [directory]);
    expect(await firstLine(child)).toBe("open");
    child.stdin.end();
    expect(open(directory, { lockWaitMs: 10_000 }).checkDatabase().ok).toBe(true);
    expect(await child.exited).toBe(0);
  });

  test("a daemon and a command may write at the same time", async () => {
    const directory = quickDirectory();
    const keys = keysOf(open(directory));
    const writer = spawnScript("holder.ts", [directory, "cli", "write"]);
    later(() => writer.kill("SIGKILL"));
    const made: string[] = [];
    for await (const line of linesOf(writer.stdout)) {
      const own = keys.create(plainKey({ name: `beside ${made.length}` }));
      made.push(line, own.outcome === "created" ? own.presented : "");
      if (made.length >= 60) break;
    }
    expect(made.filter((key) => keys.verify(key).outcome !== "valid")).toEqual([]);
    writer.kill("SIGKILL");
    await writer.exited;
  });

  test("a command of a newer version does not change the tables under a running daemon", () => {
    const directory = temporaryDirectory();
    const daemon = open(directory);
    const error = failure(() => open(directory, { mode: "cli", migrations: NEWER }));
    expect(error.code).toBe("HELD");
    expect(error.fix).toContain("Restart the daemon");
    daemon.close();
    expect(open(directory, { mode: "cli", migrations: NEWER }).schemaVersion).toBe(NEWER.length);
  });

  test.each(["licmond.db", "state.db"])("%s locked for longer than the timeout is BUSY", (name) => {
    const store = open(temporaryDirectory());
    const file = name === "state.db" ? store.state : store;
    const keys = keysOf(store);
    let made = 0;
    const change = () =>
      name === "state.db" ? keys.create(plainKey({ name: `key ${made++}` })).outcome : write(store);
    file.sqlite.run("PRAGMA busy_timeout = 20");
    const other = new Database(file.path);
    later(() => other.close());
    other.run("BEGIN IMMEDIATE");
    expect(failure(change).code).toBe("BUSY");
    expect(store.checkDatabase()).toMatchObject({ ok: false, code: "BUSY" });
    other.run("ROLLBACK");
    change();
    expect(store.checkDatabase().ok).toBe(true);
  });
});

test("kill -9 at any moment loses nothing that was committed", async () => {
  const directory = quickDirectory();
  const made: string[] = [];
  // Number of commits in each round before the process is killed.
  const rounds = [1, 2, 7, 23, 40];
  for (const commits of rounds) {
    const writer = spawnScript("holder.ts", [directory, "daemon", "write"]);
    later(() => writer.kill("SIGKILL"));
    let seen = 0;
    // Lines that are already in the pipe were committed, too.
    for await (const line of linesOf(writer.stdout)) {
      made.push(line);
      if (++seen === commits) writer.kill("SIGKILL");
    }
    await writer.exited;
    expect([writer.signalCode, seen >= commits]).toEqual(["SIGKILL", true]);
    const store = open(directory);
    const keys = keysOf(store);
    expect(made.filter((key) => keys.verify(key).outcome !== "valid")).toEqual([]);
    // The last commit of each round may not have been printed.
    expect(keys.count() - made.length).toBeLessThanOrEqual(rounds.length);
    expect(store.sqlite.query("PRAGMA integrity_check").values()).toEqual([["ok"]]);
    store.close();
  }
});

test("unfinished files of a killed licmond are removed by the next daemon, not by a command", () => {
  const directory = quickDirectory();
  const daemon = open(directory);
  const left = ["licmond.db.restoring-journal", "licmond.db.rescuing", "state.db.copy-4711"];
  // Similar names that are not licmond's.
  const others = [
    "licmond.db.restoring.txt",
    "licmond.db.upgrading-notes",
    "licmond.db.replaced-20260131T081530Z",
  ];
  for (const name of [...left, ...others]) fs.writeFileSync(join(directory, name), name);
  fs.mkdirSync(join(directory, "licmond.db.upgrading"));
  const there = (names: readonly string[]) => names.filter((name) => fs.existsSync(join(directory, name)));
  open(directory, { mode: "cli" });
  expect(there(left)).toEqual(left);
  daemon.close();
  const log = recordingLog();
  open(directory, { log });
  expect([there(left), there([...others, "licmond.db.upgrading"]).length]).toEqual([[], 4]);
  expect(log.lines.map(({ message }) => message)).toEqual(["Removed unfinished files of a killed licmond"]);
});

describe("the health check", () => {
  test("a full or read-only database is reported until a write succeeds", () => {
    const store = open(temporaryDirectory());
    const pages = Number(store.sqlite.query("PRAGMA page_count").values()[0]?.[0]);
    expect(pages).toBeGreaterThan(0);
    store.sqlite.run(`PRAGMA max_page_count = ${pages}`);
    const fill = () => {
      for (let n = 0; n < 1000; n++) write(store, `${"x".repeat(900)}${n}`);
    };
    expect(failure(fill).code).toBe("FULL");
    const message = "No space left for the database";
    expect(store.checkDatabase()).toEqual({ ok: false, message, code: "FULL" });
    store.sqlite.run("PRAGMA max_page_count = 100000");
    write(store, "fits again");
    expect(store.checkDatabase()).toEqual({ ok: true, message: "The database works", code: null });
    store.sqlite.run("PRAGMA query_only = ON");
    expect(failure(() => write(store)).code).toBe("NOT_WRITABLE");
    expect(store.checkDatabase()).toMatchObject({ ok: false, code: "NOT_WRITABLE" });
  });

  test.each(["licmond.db", "state.db"])("a removed %s is reported", (name) => {
    const store = open(temporaryDirectory());
    const path = join(store.directory, name);
    fs.rmSync(path);
    expect(store.checkDatabase()).toMatchObject({ ok: false });
    expect(store.checkDatabase().message).not.toContain("/");
    fs.writeFileSync(path, "");
    expect(store.checkDatabase()).toMatchObject({ ok: false });
  });
});

/** Returns the first line of the process. */
async function saying(child: ReturnType<typeof spawnScript>): Promise<{ code?: string; message?: string }> {
  later(() => child.kill("SIGKILL"));
  child.stdin.end();
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (!out.startsWith("{")) throw new Error(`${out}${err}`);
  return JSON.parse(out) as { code?: string; message?: string };
}
