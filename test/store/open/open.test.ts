import { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createAlerts } from "../../../src/store/alerts.ts";
import { StoreError, type StoreErrorCode } from "../../../src/store/database/store-error.ts";
import { createKeys } from "../../../src/store/keys.ts";
import { MIGRATIONS } from "../../../src/store/migrations/migrations.ts";
import type { Store } from "../../../src/store/open/open.ts";
import { cleanUp, later, linesOf, open, spawnScript, temporaryDirectory } from "../place.ts";
import { plainKey } from "../plain-key.ts";

afterEach(cleanUp);

const isRoot = process.getuid?.() === 0;
const NOBODY = 65534;
if (!isRoot) console.warn("Tests of ownership need root: skipped");

const clock = { now: () => Date.now() };
const FILES = ["licmond.db", "state.db"]
  .flatMap((name) => [name, `${name}-wal`, `${name}-shm`])
  .concat("state.db.copy", "licmond.lock");
/** A write that licmond.db takes. */
const write = (store: Store, words = "x") =>
  store.transaction(() => createAlerts(store).writeBaseline(words, words));
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

function failure(work: () => unknown): StoreError {
  try {
    work();
  } catch (error) {
    expect(error).toBeInstanceOf(StoreError);
    if (error instanceof StoreError) return error;
  }
  throw new Error("it did not fail");
}

describe("opening a store", () => {
  test("makes the directory and files that only their owner can read, whatever the umask", () => {
    const directory = join(temporaryDirectory(), "new");
    for (const umask of [0o000, 0o277]) {
      const before = process.umask(umask);
      try {
        rmSync(directory, { recursive: true, force: true });
        mkdirSync(directory);
        chmodSync(directory, 0o700);
        const store = open(directory);
        createKeys({ store, clock }).create(plainKey());
        for (const file of FILES) {
          expect([file, modeOf(join(directory, file))]).toEqual([file, "600"]);
        }
        store.close();
      } finally {
        process.umask(before);
      }
    }
    const made = join(temporaryDirectory(), "made");
    open(made);
    expect(modeOf(made)).toBe("700");
  });

  test("has the settings that the house needs", () => {
    const { db } = open(temporaryDirectory());
    const pragma = (name: string) =>
      Object.values(db.get<Record<string, unknown>>(`PRAGMA ${name}`) ?? {})[0];
    expect(pragma("journal_mode")).toBe("wal");
    expect(pragma("synchronous")).toBe(1);
    expect(pragma("foreign_keys")).toBe(1);
    expect(pragma("busy_timeout")).toBe(5000);
  });

  test("again finds what was written, and leaves nothing in the write-ahead log at the end", () => {
    const directory = temporaryDirectory();
    const first = open(directory);
    const made = createKeys({ store: first, clock }).create(plainKey());
    first.close();
    first.close();
    const log = join(directory, "licmond.db-wal");
    expect(existsSync(log) ? statSync(log).size : 0).toBe(0);
    const keys = createKeys({ store: open(directory), clock });
    expect(keys.list().map((key) => key.id)).toEqual([made.key.id]);
  });

  test.if(isRoot)("as root gives what it makes to the owner of the directory", () => {
    const directory = temporaryDirectory();
    chownSync(directory, NOBODY, NOBODY);
    const store = open(directory);
    createKeys({ store, clock }).create(plainKey());
    for (const file of FILES) {
      const { uid, gid } = statSync(join(directory, file));
      expect([file, uid, gid]).toEqual([file, NOBODY, NOBODY]);
    }
  });

  test("is over after close: whatever is asked then says so", () => {
    const store = open(temporaryDirectory());
    const keys = createKeys({ store, clock });
    store.close();
    expect(failure(() => keys.list()).code).toBe("CLOSED");
    expect(failure(() => keys.create(plainKey())).code).toBe("CLOSED");
    expect(store.checkDatabase()).toMatchObject({ ok: false, code: "CLOSED" });
  });
});

describe("a store that cannot be opened says what is wrong and what would be right", () => {
  const cases: readonly [string, StoreErrorCode, RegExp, (directory: string) => void][] = [
    [
      "a parent that is not there",
      "NOT_WRITABLE",
      /does not exist/,
      (directory) => rmSync(directory, { recursive: true }),
    ],
    [
      "a file in place of the directory",
      "NOT_WRITABLE",
      /is not a directory/,
      (directory) => writeFileSync(join(directory, "data"), ""),
    ],
    [
      "a directory in place of the file",
      "NOT_WRITABLE",
      /is not a file/,
      (directory) => mkdirSync(join(directory, "data", "licmond.db"), { recursive: true }),
    ],
    [
      "a file that is no database",
      "CORRUPT",
      /is not a database/,
      (directory) => {
        mkdirSync(join(directory, "data"));
        writeFileSync(join(directory, "data", "licmond.db"), "x".repeat(10_000));
      },
    ],
    [
      "a damaged database",
      "CORRUPT",
      /is damaged/,
      (directory) => {
        const path = join(directory, "data", "licmond.db");
        open(join(directory, "data")).close();
        const bytes = Buffer.from(new Uint8Array(statSync(path).size).fill(0xa5));
        // The header stays, the table of tables behind it goes.
        writeFileSync(path, Buffer.concat([readFirst(path, 100), bytes.subarray(100)]));
      },
    ],
    [
      "another program's database",
      "FOREIGN",
      /another program/,
      (directory) => {
        mkdirSync(join(directory, "data"));
        const other = new Database(join(directory, "data", "licmond.db"));
        other.run("CREATE TABLE songs (title TEXT)");
        other.close();
      },
    ],
    [
      "a database of a newer licmond",
      "NEWER",
      new RegExp(`schema ${MIGRATIONS.length + 1}, this one knows up to ${MIGRATIONS.length}`),
      (directory) => {
        const more = [...MIGRATIONS, { name: "9999-future", sql: "CREATE TABLE future (x TEXT)" }];
        open(join(directory, "data"), { migrations: more }).close();
      },
    ],
  ];

  test.each(cases)("%s: %s", (_, code, message, prepare) => {
    const directory = temporaryDirectory();
    prepare(directory);
    const error = failure(() => open(join(directory, "data")));
    expect(error.code).toBe(code);
    expect(error.message).toMatch(message);
    expect(error.message).toContain(directory);
    expect(error.fix).not.toBe("");
  });

  test("a file that is not ours is left as it was", () => {
    const directory = temporaryDirectory();
    const path = join(directory, "licmond.db");
    const other = new Database(path);
    other.run("CREATE TABLE songs (title TEXT)");
    other.close();
    const before = Bun.hash(readFirst(path));
    failure(() => open(directory));
    expect(Bun.hash(readFirst(path))).toBe(before);
  });

  test("after the trouble is gone, it opens", () => {
    const directory = temporaryDirectory();
    writeFileSync(
      join(directory, "licmond.db"),
      "not a database at all, but long enough to be read".repeat(99),
    );
    failure(() => open(directory));
    rmSync(join(directory, "licmond.db"));
    expect(open(directory).checkDatabase().ok).toBe(true);
  });

  test.if(isRoot)("a directory that this user may not write", async () => {
    const directory = temporaryDirectory();
    chmodSync(directory, 0o755);
    const asNobody = ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups", "--"];
    expect(await saying(spawnScript("holder.ts", [directory], asNobody))).toMatchObject({
      code: "NOT_WRITABLE",
      message: `${directory} cannot be written by uid ${NOBODY}`,
    });
    open(directory).close();
    chownSync(directory, NOBODY, NOBODY);
    // A file that root made before and did not give away.
    chownSync(join(directory, "licmond.db"), 0, 0);
    expect(await saying(spawnScript("holder.ts", [directory, "cli"], asNobody))).toMatchObject({
      code: "NOT_WRITABLE",
      message: `${join(directory, "licmond.db")} cannot be written by uid ${NOBODY}`,
    });
  });

  const canMount = isRoot && Bun.spawnSync(["unshare", "-m", "true"]).exitCode === 0;
  if (!canMount)
    console.warn("Mounting is not allowed here: the tests of full and read-only disks are skipped");

  test.if(canMount).each([
    ["tmpfs", "size=64k,nr_inodes=100", "FULL", "no space"],
    ["tmpfs", "ro", "NOT_WRITABLE", "mounted read-only (EROFS)"],
  ])("a %s with %s: %s", async (type, options, code, words) => {
    const directory = temporaryDirectory();
    const script = `mount -t ${type} -o "${options}" none "$0" && exec "$@"`;
    const child = spawnScript("holder.ts", [directory], ["unshare", "-m", "sh", "-c", script, directory]);
    expect(await saying(child)).toMatchObject({ code, message: expect.stringContaining(words) });
  });

  test.each([
    ["/proc/licmond", "the file system of /proc takes no new directory (ENOENT)"],
    ["/no/such/place/licmond", "/no/such/place does not exist"],
    ["/etc/passwd/licmond", "/etc/passwd is not a directory"],
  ])("%s cannot be made, and the right directory is named", (directory, why) => {
    expect(failure(() => open(directory))).toMatchObject({
      code: "NOT_WRITABLE",
      message: `The storage directory ${directory} cannot be made: ${why}`,
    });
  });
});

describe("two at once", () => {
  test("a second daemon is refused and told who holds the directory", async () => {
    const directory = temporaryDirectory();
    open(directory);
    const answer = await saying(spawnScript("holder.ts", [directory]));
    expect(answer).toMatchObject({ code: "HELD" });
    expect(answer.message).toContain(`process ${process.pid}`);
    expect(answer.message).toContain(directory);
  });

  test("the lock dies with its holder, kill -9 included", async () => {
    const directory = temporaryDirectory();
    const child = spawnScript("holder.ts", [directory]);
    later(() => child.kill("SIGKILL"));
    for await (const line of linesOf(child.stdout)) {
      expect(line).toBe("open");
      break;
    }
    expect(failure(() => open(directory)).message).toContain(`process ${child.pid}`);
    child.kill("SIGKILL");
    await child.exited;
    expect(open(directory).checkDatabase().ok).toBe(true);
  });

  test("a daemon that is just ending is waited for", async () => {
    const directory = temporaryDirectory();
    const child = spawnScript("holder.ts", [directory]);
    for await (const line of linesOf(child.stdout)) {
      expect(line).toBe("open");
      break;
    }
    child.stdin.end();
    expect(open(directory, { lockWaitMs: 10_000 }).checkDatabase().ok).toBe(true);
    expect(await child.exited).toBe(0);
  });

  test("commands work beside the daemon, and each sees what the other did", () => {
    const directory = temporaryDirectory();
    const daemon = open(directory);
    const command = open(directory, { mode: "cli" });
    const before = daemon.state.dataVersion();
    const made = createKeys({ store: command, clock }).create(plainKey());
    if (made.outcome !== "created") throw new Error(made.outcome);
    expect(daemon.state.dataVersion()).not.toBe(before);
    const keys = createKeys({ store: daemon, clock });
    expect(keys.verify(made.presented).outcome).toBe("valid");
    createKeys({ store: command, clock }).revoke(made.key.id);
    command.close();
    expect(keys.verify(made.presented).outcome).toBe("revoked");
    expect(daemon.checkDatabase().ok).toBe(true);
  });

  test("a command of a newer version does not change the tables under a running daemon", () => {
    const directory = temporaryDirectory();
    const daemon = open(directory);
    const newer = [...MIGRATIONS, { name: "9999-future", sql: "CREATE TABLE future (x TEXT)" }];
    const error = failure(() => open(directory, { mode: "cli", migrations: newer }));
    expect(error.code).toBe("HELD");
    expect(error.fix).toContain("Restart the daemon");
    daemon.close();
    expect(open(directory, { mode: "cli", migrations: newer }).schemaVersion).toBe(newer.length);
  });

  test.each(["licmond.db", "state.db"])(
    "one that keeps %s locked past the timeout is told as BUSY",
    (name) => {
      const store = open(temporaryDirectory());
      const file = name === "state.db" ? store.state : store;
      const keys = createKeys({ store, clock });
      let made = 0;
      const change = () =>
        name === "state.db" ? keys.create(plainKey({ name: `key ${made++}` })).outcome : write(store);
      file.db.run("PRAGMA busy_timeout = 20");
      const other = new Database(file.path);
      later(() => other.close());
      other.run("BEGIN IMMEDIATE");
      expect(failure(change).code).toBe("BUSY");
      expect(store.checkDatabase()).toMatchObject({ ok: false, code: "BUSY" });
      other.run("ROLLBACK");
      change();
      expect(store.checkDatabase().ok).toBe(true);
    },
  );
});

describe("the check of a working store", () => {
  test("a full database is told after the write that met it, and no longer once one went well", () => {
    const store = open(temporaryDirectory());
    const [pages = 0] = store.db.get<number[]>("PRAGMA page_count") ?? [];
    expect(pages).toBeGreaterThan(0);
    store.db.run(`PRAGMA max_page_count = ${pages}`);
    const fill = () => {
      for (let n = 0; n < 1000; n++) write(store, `${"x".repeat(900)}${n}`);
    };
    expect(failure(fill).code).toBe("FULL");
    expect(store.checkDatabase()).toEqual({
      ok: false,
      message: "There is no space left for the database",
      code: "FULL",
    });
    store.db.run("PRAGMA max_page_count = 100000");
    write(store, "fits again");
    expect(store.checkDatabase()).toEqual({ ok: true, message: "The database works", code: null });
  });

  test("a read-only database is told", () => {
    const store = open(temporaryDirectory());
    store.db.run("PRAGMA query_only = ON");
    expect(failure(() => write(store)).code).toBe("NOT_WRITABLE");
    expect(store.checkDatabase()).toMatchObject({ ok: false, code: "NOT_WRITABLE" });
  });

  test.each(["licmond.db", "state.db"])("a %s that was removed is told", (name) => {
    const store = open(temporaryDirectory());
    const path = join(store.directory, name);
    rmSync(path);
    expect(store.checkDatabase()).toMatchObject({ ok: false });
    writeFileSync(path, "");
    expect(store.checkDatabase()).toMatchObject({ ok: false });
  });

  test("no message of it holds a path", () => {
    const store = open(temporaryDirectory());
    rmSync(store.path);
    expect(store.checkDatabase().message).not.toContain("/");
  });
});

test("the size counts the write-ahead log", () => {
  const store = open(temporaryDirectory());
  const before = store.sizeBytes();
  createKeys({ store, clock }).create(plainKey());
  expect(store.sizeBytes()).toBeGreaterThan(before);
  expect(before).toBeGreaterThan(0);
});

function readFirst(path: string, bytes = Number.POSITIVE_INFINITY): Buffer {
  return Buffer.from(readFileSync(path)).subarray(0, bytes);
}

/** What the holder says first. */
async function saying(child: ReturnType<typeof spawnScript>): Promise<{ code?: string; message?: string }> {
  later(() => child.kill("SIGKILL"));
  child.stdin.end();
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (!out.startsWith("{")) throw new Error(`${out}${err}`);
  return JSON.parse(out) as { code?: string; message?: string };
}
