import { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { startDespiteDamage } from "../../src/daemon/process.ts";
import { openDaemonStore } from "../../src/daemon/store.ts";
import { corrupt, StoreError } from "../../src/store/database/store-error.ts";
import { createKeys } from "../../src/store/keys.ts";
import { createLogging } from "../../src/system/log.ts";
import { cleanUp, later, open, quickDirectory } from "../store/place.ts";
import { plainKey } from "../store/plain-key.ts";

afterEach(cleanUp);

const clock = { now: () => Date.now() };
const damage = corrupt("x", "The database x is damaged");

describe("a start", () => {
  /** Starts until a start succeeds. Each start fails with the next of these errors; null means success. */
  const outcome = async (errors: readonly (Error | null)[]) => {
    const steps: string[] = [];
    const ends = [...errors];
    const done = startDespiteDamage(
      async () => {
        steps.push("start");
        const error = ends.shift() ?? null;
        if (error !== null) throw error;
        return "runs";
      },
      async (reason) =>
        void steps.push(`undo ${reason instanceof StoreError ? reason.code : String(reason)}`),
    );
    const result = await done.catch((error: unknown) => error);
    return { steps, result };
  };
  const other = new Error("the port is taken");

  test.each<[string, (Error | null)[], string[], unknown]>([
    ["that succeeds runs once", [null], ["start"], "runs"],
    ["that fails is undone", [other], ["start", "undo Error: the port is taken"], other],
    ["that finds damage is undone and repeated", [damage, null], ["start", "undo CORRUPT", "start"], "runs"],
    [
      "that finds damage again is given up",
      [damage, damage],
      ["start", "undo CORRUPT", "start", "undo CORRUPT"],
      damage,
    ],
  ])("%s", async (_, errors, steps, result) => {
    expect(await outcome(errors)).toEqual({ steps, result });
  });
});

describe("the store of a daemon", () => {
  const logging = createLogging("info", clock, []);

  test("loses nothing to a lingering earlier connection", () => {
    const directory = quickDirectory();
    const first = open(directory);
    createKeys({ store: first, clock }).create(plainKey({ name: "written before" }));
    const prepared = first.sqlite.prepare("SELECT count(*) FROM events");
    prepared.get();
    first.close();
    writeFileSync(first.path, "not a database");
    const { store } = openDaemonStore({ directory, backupBeforeUpgrade: true }, logging, null);
    later(() => store.close());
    store.transaction(() => store.sqlite.run("INSERT INTO event_holes VALUES (1, 2)"));
    // The first connection ends with its last statement. SQLite then removes the -wal of its file by name,
    // unless it detects that the file was moved.
    for (let turn = 0; turn < 3; turn++) Bun.gc(true);
    prepared.finalize();
    expect(existsSync(`${store.path}-wal`)).toBe(true);
    const other = new Database(store.path, { readonly: true });
    expect(other.query("SELECT * FROM event_holes").values()).toEqual([[1, 2]]);
    other.close();
  });
});
