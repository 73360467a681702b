import { afterEach, describe, expect, test } from "bun:test";
import * as fs from "node:fs";
import { join } from "node:path";
import { createAlerts } from "../../../src/store/alerts.ts";
import { createKeys } from "../../../src/store/keys.ts";
import { createNotifications } from "../../../src/store/notifications.ts";
import type { Store } from "../../../src/store/open/open.ts";
import { installationSecret } from "../../../src/store/secrets.ts";
import { fillPage, PAGE } from "../damage.ts";
import { type Filled, fill } from "../filled.ts";
import { cleanUp, open, quickDirectory } from "../place.ts";
import { recordingLog } from "../recording-log.ts";

afterEach(cleanUp);

const clock = { now: () => Date.now() };
const CAME_BACK = "The state came back from its copy, with the API keys";

/** Files as `kill -9` leaves them, of a store that `fill` filled, by their names. */
async function killed(more: (store: Store, filled: Filled) => void = () => {}) {
  const store = open(quickDirectory());
  const filled = fill(store, { keys: 4, events: 60 });
  more(store, filled);
  // What both files have is written to the second one in a microtask.
  await Promise.resolve();
  const bytes = new Map(
    fs
      .readdirSync(store.directory)
      .filter((name) => /\.db(-wal|\.copy)?$/.test(name))
      .map((name) => [name, fs.readFileSync(join(store.directory, name))]),
  );
  return { bytes, filled };
}

/** Lays such files down in a directory of their own, changed, and opens them. */
function reopen(bytes: ReadonlyMap<string, Buffer>, change: (directory: string) => void = () => {}) {
  const directory = join(quickDirectory(), "storage");
  fs.mkdirSync(directory, { mode: 0o700 });
  for (const [name, content] of bytes) fs.writeFileSync(join(directory, name), content, { mode: 0o600 });
  change(directory);
  const log = recordingLog();
  return { store: open(directory, { log, damaged: "move-aside" }), log, directory };
}

const outcomes = (store: Store, { keys }: Filled): readonly string[] => {
  const repository = createKeys({ store, clock });
  return keys.map((key) => repository.verify(key).outcome);
};
const AS_BEFORE = ["revoked", "valid", "valid", "valid"];

const revokeAnother = (store: Store) => {
  const keys = createKeys({ store, clock });
  expect(keys.revoke(keys.find("key-1")?.id ?? "")).toBe("revoked");
};
const AFTER = ["revoked", "revoked", "valid", "valid"];

describe("state.db and its copy", () => {
  test.each(["state.db", "state.db-wal", "state.db.copy", "licmond.db", "licmond.db-wal"])(
    "no key is lost and no revoked one comes back, whichever page of %s is gone",
    async (name) => {
      const { bytes, filled } = await killed((store) => {
        store.state.sqlite.run("PRAGMA wal_checkpoint(TRUNCATE)");
        revokeAnother(store);
      });
      const pages = Math.ceil((bytes.get(name)?.length ?? 0) / PAGE);
      expect(pages).toBeGreaterThan(0);
      for (const byte of [0, 0xa5]) {
        for (let page = 0; page < pages; page++) {
          const { store } = reopen(bytes, (directory) => fillPage(join(directory, name), page + 1, byte));
          expect({ byte, page, outcomes: outcomes(store, filled) }).toEqual({ byte, page, outcomes: AFTER });
          expect(Buffer.from(installationSecret(store)).equals(filled.secret)).toBe(true);
          expect(createAlerts(store).firing()).toMatchObject([{ id: 7, comment: "known" }]);
          store.close();
        }
      }
    },
  );

  test.each([
    ["state.db", /^state\.db$/],
    ["the log that has it", /^state\.db-wal$/],
    ["licmond.db", /^licmond\.db$/],
    ["the copy", /^state\.db\.copy$/],
    ["all of licmond.db", /^licmond\./],
  ])("a key that was revoked stays revoked, and the others work, without %s", async (_, lost) => {
    const { bytes, filled } = await killed((store) => {
      store.state.sqlite.run("PRAGMA wal_checkpoint(TRUNCATE)");
      revokeAnother(store);
    });
    expect(bytes.get("state.db-wal")?.length).toBeGreaterThan(0);
    const lose = { removed: fs.rmSync, emptied: (path: string) => fs.writeFileSync(path, "") };
    for (const act of Object.values(lose)) {
      const { store, directory } = reopen(bytes, (place) => {
        for (const name of fs.readdirSync(place)) if (lost.test(name)) act(join(place, name));
      });
      expect(outcomes(store, filled)).toEqual(AFTER);
      expect(createAlerts(store).firing()).toHaveLength(1);
      // And the next start has both again.
      store.close();
      fs.rmSync(join(directory, "state.db"));
      expect(outcomes(open(directory, { damaged: "move-aside" }), filled)).toEqual(AFTER);
    }
  });

  test("what came back from the copy is said, in the log and by the check", async () => {
    const { bytes } = await killed((store) => store.state.sqlite.run("PRAGMA wal_checkpoint(TRUNCATE)"));
    const { store, log } = reopen(bytes, (directory) => fillPage(join(directory, "state.db"), 2));
    expect(log.lines).toMatchObject([{ level: "error", message: CAME_BACK }]);
    expect(fs.existsSync(String(log.lines[0]?.fields.movedTo))).toBe(true);
    expect(store.checkDatabase()).toMatchObject({ ok: true, degraded: true });
  });

  test("without a usable copy a damaged one is begun anew, and that is said", async () => {
    const { bytes } = await killed((store) => store.state.sqlite.run("PRAGMA wal_checkpoint(TRUNCATE)"));
    const { store, log } = reopen(bytes, (directory) => {
      for (const name of ["state.db", "state.db.copy"]) fillPage(join(directory, name), 1, 0);
    });
    expect(createKeys({ store, clock }).list()).toEqual([]);
    expect(log.lines).toMatchObject([
      { level: "error", message: expect.stringContaining("without API keys") },
    ]);
  });

  test("a command refuses a damaged one, and puts the copy in the place of a missing one", async () => {
    const { bytes, filled } = await killed();
    const place = reopen(bytes);
    place.store.close();
    const directory = quickDirectory();
    for (const name of ["licmond.db", "state.db", "state.db.copy"])
      fs.copyFileSync(join(place.directory, name), join(directory, name));
    fillPage(join(directory, "state.db"), 1, 0);
    expect(() => open(directory, { mode: "cli" })).toThrow(/is not a database/);
    fs.rmSync(join(directory, "state.db"));
    expect(outcomes(open(directory, { mode: "cli" }), filled)).toEqual(AS_BEFORE);
  });

  test("a key that is revoked while the copy cannot be made stays revoked all the same", async () => {
    const { bytes, filled } = await killed();
    const { store, log, directory } = reopen(bytes);
    // Where the new copy would be made.
    fs.mkdirSync(join(directory, `state.db.copy-${process.pid}`));
    fs.writeFileSync(join(directory, `state.db.copy-${process.pid}`, "x"), "");
    revokeAnother(store);
    expect(log.lines.map(({ message }) => message)).toEqual(["The copy of the state could not be written"]);
    const left = new Map([...bytes].filter(([name]) => name.startsWith("licmond")));
    left.set("state.db.copy", fs.readFileSync(join(directory, "state.db.copy")));
    expect(outcomes(reopen(left).store, filled)).toEqual(AFTER);
  });
});

test("a secret is made once, is the same for a command and after a restart, and another elsewhere", () => {
  const directory = quickDirectory();
  const store = open(directory);
  const secret = installationSecret(store, (bytes) => new Uint8Array(bytes).fill(7));
  expect(secret).toEqual(Buffer.alloc(32, 7));
  for (const each of [store, open(directory, { mode: "cli" })])
    expect(installationSecret(each)).toEqual(secret);
  store.close();
  expect(installationSecret(open(directory))).toEqual(secret);
  expect(installationSecret(open(quickDirectory()))).not.toEqual(secret);
});

describe("rows that both files have", () => {
  /** Ids of the rows that state.db has, once what waits is written. */
  const idsOf = async ({ state }: Store, table: string) => {
    await Promise.resolve();
    const rows = state.sqlite.query<{ id: number }, []>(`SELECT id FROM ${table} ORDER BY id`).all();
    return rows.map(({ id }) => id);
  };

  test("are written to state.db once licmond.db has them, and not after a rollback", async () => {
    const store = open(quickDirectory());
    const queue = createNotifications(store, 0);
    const note = { target: "t", kind: "fired", at: 1, alert: "{}" };
    expect(() =>
      store.transaction(() => {
        queue.write([{ id: 1, ...note }]);
        throw new Error("no");
      }),
    ).toThrow("no");
    store.transaction(() => queue.write([2, 3].map((id) => ({ id, ...note }))));
    expect(await idsOf(store, "notifications")).toEqual([2, 3]);
    queue.remove([2]);
    expect(await idsOf(store, "notifications")).toEqual([3]);
  });

  test("an alert that is over leaves state.db, but not while its silence goes on", async () => {
    const store = open(quickDirectory());
    fill(store, { keys: 1, events: 1 });
    const alerts = createAlerts(store);
    const [alert] = alerts.firing();
    if (alert === undefined) throw new Error("no alert");
    for (const [id, silencedUntil, left] of [
      [8, null, [7]],
      [7, 99, [7]],
      [7, null, []],
    ] as const) {
      store.transaction(() => alerts.write({ ...alert, id, silencedUntil, resolvedAt: 10 }));
      expect(await idsOf(store, "alerts")).toEqual([...left]);
    }
  });

  test("are those of licmond.db again at the next start, as kill -9 may have come between the two", async () => {
    const { bytes } = await killed((store) => {
      store.sqlite.run("UPDATE alerts SET resolved_at = 10");
      store.sqlite.run("INSERT INTO notifications VALUES (4, 't', 'fired', 1, '{}')");
    });
    const { store } = reopen(bytes);
    expect(await idsOf(store, "alerts")).toEqual([]);
    expect(await idsOf(store, "notifications")).toEqual([4]);
    expect(createAlerts(store).firing()).toEqual([]);
  });
});
