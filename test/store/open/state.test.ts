import { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import * as fs from "node:fs";
import { join } from "node:path";
import { createAlerts } from "../../../src/store/alerts.ts";
import { migrate } from "../../../src/store/database/migrate.ts";
import { tableNames } from "../../../src/store/database/read-only.ts";
import { createKeys } from "../../../src/store/keys.ts";
import { ALERTS_MOVED, MIGRATIONS, STATE_MIGRATIONS } from "../../../src/store/migrations/migrations.ts";
import { createNotifications } from "../../../src/store/notifications.ts";
import type { Store } from "../../../src/store/open/open.ts";
import { installationSecret } from "../../../src/store/secrets.ts";
import { fillPage, PAGE } from "../damage.ts";
import { type Filled, fill } from "../filled.ts";
import { cleanUp, open, quickDirectory } from "../place.ts";
import { recordingLog } from "../recording-log.ts";

afterEach(cleanUp);

const clock = { now: () => Date.now() };
const CAME_BACK = "state.db was restored from its copy, with the API keys";

/** Returns the files of a filled store that was killed. */
function killed(more: (store: Store, filled: Filled) => void = () => {}) {
  const store = open(quickDirectory());
  const filled = fill(store, { keys: 4, events: 60 });
  more(store, filled);
  const bytes = new Map(
    fs
      .readdirSync(store.directory)
      .filter((name) => /\.db(-wal|\.copy)?$/.test(name))
      .map((name) => [name, fs.readFileSync(join(store.directory, name))]),
  );
  return { bytes, filled };
}

/** Writes the files to another directory, changes them, and opens the store. */
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
    "any damaged page of %s loses no key and restores no revoked key",
    async (name) => {
      const { bytes, filled } = killed((store) => {
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
  ])("without %s revoked keys stay revoked, and the others work", async (_, lost) => {
    const { bytes, filled } = killed((store) => {
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
      // The store has both files again, so state.db may be lost once more.
      store.close();
      fs.rmSync(join(directory, "state.db"));
      expect(outcomes(open(directory, { damaged: "move-aside" }), filled)).toEqual(AFTER);
    }
  });

  test("a restored copy is logged and makes health degraded", async () => {
    const { bytes } = killed((store) => store.state.sqlite.run("PRAGMA wal_checkpoint(TRUNCATE)"));
    const { store, log } = reopen(bytes, (directory) => fillPage(join(directory, "state.db"), 2));
    expect(log.lines).toMatchObject([{ level: "error", message: CAME_BACK }]);
    expect(fs.existsSync(String(log.lines[0]?.fields.movedTo))).toBe(true);
    expect(store.checkDatabase()).toMatchObject({ ok: true, degraded: true });
  });

  test("a damaged state.db without a usable copy is replaced by an empty one, with an error", async () => {
    const { bytes } = killed((store) => store.state.sqlite.run("PRAGMA wal_checkpoint(TRUNCATE)"));
    const { store, log } = reopen(bytes, (directory) => {
      for (const name of ["state.db", "state.db.copy"]) fillPage(join(directory, name), 1, 0);
    });
    expect(createKeys({ store, clock }).list()).toEqual([]);
    expect(log.lines).toMatchObject([
      { level: "error", message: expect.stringContaining("without API keys") },
    ]);
  });

  test("a command refuses a damaged state.db, and restores a missing one", async () => {
    const { bytes, filled } = killed();
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

  test("a key that is revoked while the copy fails stays revoked", async () => {
    const { bytes, filled } = killed();
    const { store, log, directory } = reopen(bytes);
    // Block the path of the new copy.
    fs.mkdirSync(join(directory, `state.db.copy-${process.pid}`));
    fs.writeFileSync(join(directory, `state.db.copy-${process.pid}`, "x"), "");
    revokeAnother(store);
    expect(log.lines.map(({ message }) => message)).toEqual(["The copy of the state could not be written"]);
    const left = new Map([...bytes].filter(([name]) => name.startsWith("licmond")));
    left.set("state.db.copy", fs.readFileSync(join(directory, "state.db.copy")));
    expect(outcomes(reopen(left).store, filled)).toEqual(AFTER);
  });
});

test("a secret is created once per installation", () => {
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

describe("alerts", () => {
  const endedAlert = (store: Store, id: number) => {
    const alerts = createAlerts(store);
    const [alert] = alerts.firing();
    if (alert === undefined) throw new Error("no alert");
    store.state.write(() => alerts.write({ ...alert, id, silencedUntil: null, resolvedAt: 10 }));
  };

  test("are written in one transaction with their notes", () => {
    const store = open(quickDirectory());
    const queue = createNotifications(store, 0);
    const note = { target: "t", kind: "fired", at: 1, alert: "{}" };
    expect(() =>
      store.state.write(() => {
        queue.write([{ id: 1, ...note }]);
        throw new Error("no");
      }),
    ).toThrow("no");
    store.state.write(() => queue.write([2, 3].map((id) => ({ id, ...note }))));
    queue.remove([2]);
    expect(queue.load()).toEqual([{ id: 3, ...note }]);
  });

  test("are in the copy of state.db while they fire, and ids of ended ones are not reused", async () => {
    const { bytes } = killed((store) => {
      for (const id of [8, 9]) endedAlert(store, id);
      store.close();
    });
    const { store } = reopen(bytes, (directory) => fillPage(join(directory, "state.db"), 1, 0));
    const alerts = createAlerts(store);
    expect([7, 8, 9].map((id) => alerts.get(id)?.id ?? null)).toEqual([7, null, 9]);
    expect(alerts.nextId()).toBe(10);
  });

  /** Creates the files of a version that stored alerts in both databases. */
  function beforeTheMove() {
    const directory = quickDirectory();
    const files = [
      ["licmond.db", MIGRATIONS.slice(0, ALERTS_MOVED - 1)],
      ["state.db", STATE_MIGRATIONS.slice(0, 3)],
    ] as const;
    for (const [name, migrations] of files) {
      using sqlite = new Database(join(directory, name), { create: true });
      migrate(sqlite, name, migrations);
      const { columns, rows } = ALERT_ROWS;
      const insert = sqlite.query(
        `INSERT INTO alerts (${columns}) VALUES (?, 'disk', 'warning', ?, '{}', 1, 1, ?)`,
      );
      for (const [id, message, resolvedAt, file] of rows)
        if (file === "both" || file === name) insert.run(id, message, resolvedAt);
      sqlite.run("INSERT INTO alert_watches VALUES ('{}', ?)", [name]);
      if (name === "state.db") continue;
      sqlite.run("INSERT INTO notifications VALUES (4, 't', 'fired', 1, '{}')");
      sqlite.run("INSERT INTO alert_baselines VALUES ('eda', '{}')");
    }
    return directory;
  }
  const ALERT_ROWS = {
    columns: "id, rule, severity, message, told, started_at, fired_at, resolved_at",
    rows: [
      [6, "ended", 10, "licmond.db"],
      [7, "fires", null, "both"],
      // state.db did not have this end yet, and licmond.db lost its newest rows in a power cut.
      [8, "ended since", 12, "licmond.db"],
      [8, "fires", null, "state.db"],
      [9, "fires", null, "state.db"],
    ] as const,
  };

  test.each(["once", "again, after a kill before licmond.db changed"])("move to state.db %s", (when) => {
    const directory = beforeTheMove();
    const path = join(directory, "licmond.db");
    const before = fs.readFileSync(path);
    open(directory).close();
    if (when !== "once") {
      for (const suffix of ["-wal", "-shm"]) fs.rmSync(path + suffix, { force: true });
      fs.writeFileSync(path, before);
    }
    const store = open(directory);
    const alerts = createAlerts(store);
    expect([6, 7, 8, 9].map((id) => alerts.get(id)?.message)).toEqual([
      "ended",
      "fires",
      "ended since",
      "fires",
    ]);
    expect(alerts.watches()).toEqual([{ subject: {}, body: "licmond.db" }] as never);
    expect([...alerts.baselines()]).toEqual([["eda", "{}"]]);
    expect(createNotifications(store, 0).load()).toMatchObject([{ id: 4 }]);
    expect(tableNames(store.sqlite).filter((name) => /alert|notification/.test(name))).toEqual([]);
  });
});
