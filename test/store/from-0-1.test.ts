import { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeKey, printKey, systemRandom } from "../../src/domain/keys.ts";
import { logStats } from "../../src/history/log-queries.ts";
import { createReader } from "../../src/history/reader.ts";
import { createAlerts } from "../../src/store/alerts.ts";
import { restore } from "../../src/store/backup/restore.ts";
import { migrate } from "../../src/store/database/migrate.ts";
import { createEvents } from "../../src/store/events.ts";
import { createKeys } from "../../src/store/keys.ts";
import { MIGRATIONS } from "../../src/store/migrations/migrations.ts";
import { createNotifications } from "../../src/store/notifications.ts";
import { copiesOf } from "../../src/store/open/before-upgrade.ts";
import type { Store } from "../../src/store/open/open.ts";
import { createQuotas } from "../../src/store/quotas.ts";
import { storedSecret } from "../../src/store/secrets.ts";
import { cleanUp, later, open, openBoth, quickDirectory } from "./place.ts";
import { plainKey } from "./plain-key.ts";
import { recordingLog } from "./recording-log.ts";

afterEach(cleanUp);

const OF_0_1 = MIGRATIONS.slice(0, 15);
const NOW = Date.parse("2026-01-31T08:15:30Z");
const clock = { now: () => NOW };
const RESERVED = NOW + 700;
const SECRET = Buffer.alloc(32, 7);

const keyOf = () => {
  const parts = makeKey(systemRandom);
  return { ...parts, presented: printKey(parts), hash: Bun.SHA256.hash(parts.secret) as Uint8Array };
};
const KEYS = [keyOf(), keyOf(), keyOf()] as const;

/**
 * Creates a database of 0.1 and its side copy. `revokedInSideCopy` are keys that are revoked only in the
 * side copy.
 */
function place(revokedInSideCopy: readonly string[] = []) {
  const directory = quickDirectory();
  const path = join(directory, "licmond.db");
  const sqlite = new Database(path, { create: true, strict: true });
  migrate(sqlite, path, OF_0_1);
  const insert = sqlite.query(
    `INSERT INTO api_keys (id, name, role, secret_hash, created_at, revoked_at, last_used_at) VALUES (?, ?, 'admin', ?, ?, ?, ?)`,
  );
  KEYS.forEach(({ id, hash }, at) => {
    insert.run(id, `key-${at}`, hash, at + 1, at === 0 ? 50 : null, at === 1 ? 60 : null);
  });
  sqlite.run("INSERT INTO secrets VALUES ('pseudonyms', ?)", [SECRET]);
  const day = Math.floor(NOW / 86_400_000) * 86_400_000;
  sqlite.run("INSERT INTO quota_counts VALUES (?, ?, 3, ?, 4)", [KEYS[1].id, day, Date.UTC(2026, 0)]);
  sqlite.run(
    `INSERT INTO alerts (id, rule, severity, server, message, started_at, resolved_at, acknowledged_at, acknowledged_by, told)
     VALUES (3, 'usage', 'warning', 'eda', 'was full', 1, 2, NULL, NULL, '{}'), (4, 'usage', 'critical', 'eda', 'full', 5, NULL, 6, 'ada', '{}')`,
  );
  sqlite.run("INSERT INTO alert_watches VALUES ('{}', '{}')");
  sqlite.run("INSERT INTO notifications VALUES (9, 'mail', 'fired', 5, '{}')");
  sqlite.run(
    `INSERT INTO event_marks VALUES ('reserved', ${RESERVED}), ('keys_told', 3), ('deleted_logs', 5)`,
  );
  sqlite.run(`INSERT INTO events VALUES (${NOW}, ${NOW}, 'log', 'info', 'audit', NULL, '{}')`);
  const all = (table: string) => sqlite.query<Record<string, unknown>, []>(`SELECT * FROM ${table}`).all();
  const copied = ["secrets", "alert_watches", "notifications", "event_marks", "events"];
  const rows = Object.fromEntries(copied.map((table) => [table, all(table)]));
  const content = JSON.stringify(
    {
      ...rows,
      api_keys: all("api_keys").map((row) =>
        revokedInSideCopy.includes(String(row.name)) ? { ...row, revoked_at: 77 } : row,
      ),
      alerts: all("alerts").slice(1),
    },
    function (this: Record<string, unknown>, key, value: unknown) {
      const raw = this[key];
      return raw instanceof Uint8Array ? { hex: Buffer.from(raw).toString("hex") } : value;
    },
  );
  const sha256 = new Bun.CryptoHasher("sha256").update(content).digest("hex");
  const head = { format: "licmond vital 1", writtenAt: NOW, sha256 };
  writeFileSync(`${path}.vital`, `${JSON.stringify(head)}\n${content}\n`);
  sqlite.close();
  return { directory, path };
}

/** Copies the databases, because a connection of this process lingers until its statements are collected. */
function copyOf(directory: string): string {
  const elsewhere = quickDirectory();
  for (const name of ["licmond.db", "state.db"])
    writeFileSync(join(elsewhere, name), readFileSync(join(directory, name)));
  return elsewhere;
}

function putBack(path: string, bytes: Buffer): void {
  for (const suffix of ["-wal", "-shm"]) rmSync(path + suffix, { force: true });
  writeFileSync(path, bytes);
}

const outcomes = (store: Store): readonly string[] => {
  const keys = createKeys({ store, clock });
  return KEYS.map(({ presented }) => keys.verify(presented).outcome);
};
const AS_BEFORE = ["revoked", "valid", "valid"];

function holdsAll(store: Store): void {
  expect(outcomes(store)).toEqual(AS_BEFORE);
  const alerts = createAlerts(store);
  expect(alerts.firing()).toMatchObject([{ id: 4, rule: "seats", firedAt: 5, acknowledgedBy: "ada" }]);
  // One watch was stored; the other one belongs to the alert.
  expect(alerts.watches()).toHaveLength(2);
  expect(createNotifications(store, 0).load()).toHaveLength(1);
  expect(createEvents(store).highestReserved()).toBe(RESERVED);
  const both = openBoth(store);
  const read = { all: <Row>(query: string) => both.query<Row, []>(query).all() };
  expect(Buffer.from(storedSecret(read) ?? [])).toEqual(SECRET);
}

describe("a database of 0.1", () => {
  test("is moved to two files without loss, and its tables and side copy are removed", () => {
    const { directory, path } = place();
    const store = open(directory, { now: clock.now });
    holdsAll(store);
    expect(createKeys({ store, clock }).find("key-1")?.lastUsedAt).toBe(60);
    expect(createQuotas({ store, clock }).used(KEYS[1].id)).toEqual({ day: 3, month: 4 });
    expect(createAlerts(store).get(3)?.resolvedAt).toBe(2);
    const names = store.sqlite.query<{ name: string }, []>("SELECT name FROM sqlite_schema").all();
    expect(names.map(({ name }) => name)).not.toContain("api_keys");
    expect(existsSync(`${path}.vital`)).toBe(false);
    expect(existsSync(join(directory, "state.db.copy"))).toBe(true);
    expect(copiesOf(path)).toEqual([`${path}.schema-15-20260131T081530Z`]);
    store.close();
    const log = recordingLog();
    holdsAll(open(directory, { log }));
    expect(log.lines).toEqual([]);
  });

  test("takes a revocation from the side copy", () => {
    expect(outcomes(open(place(["key-1"]).directory))).toEqual(["revoked", "revoked", "valid"]);
  });

  test.each([
    ["damaged", (path: string) => writeFileSync(path, "x".repeat(10_000))],
    ["not there", (path: string) => rmSync(path)],
  ])("that is %s keeps its keys and open alerts", (_, change) => {
    const { directory, path } = place(["key-2"]);
    change(path);
    for (let start = 1; start <= 2; start++) {
      const store = open(directory, { damaged: "move-aside" });
      expect(outcomes(store)).toEqual(["revoked", "valid", "revoked"]);
      expect(createAlerts(store).firing()).toMatchObject([{ id: 4, acknowledgedBy: "ada" }]);
      const stats = logStats(createReader(store.sqlite, { now: NOW }), []);
      expect(stats).toMatchObject({ bySource: { audit: 1 } });
      store.close();
    }
  });

  test("that was used again after an upgrade keeps the changes and revocations of both versions", () => {
    const { directory, path } = place();
    const before = readFileSync(path);
    const store = open(directory);
    const keys = createKeys({ store, clock });
    keys.revoke(KEYS[1].id);
    const made = keys.create(plainKey({ name: "made by 0.2" }));
    store.close();
    // Go back to 0.1 and revoke another key there.
    putBack(path, before);
    const sqlite = new Database(path);
    sqlite.run("UPDATE api_keys SET revoked_at = 90 WHERE name = 'key-2'");
    sqlite.close();
    const next = open(directory);
    expect(outcomes(next)).toEqual(["revoked", "revoked", "revoked"]);
    expect(createKeys({ store: next, clock }).get(made.key.id)?.state).toBe("active");
  });

  test("can be restored: keys that were revoked since stay revoked", async () => {
    const { path } = place();
    const directory = join(quickDirectory(), "storage");
    const restored = await restore({ directory, file: path, now: NOW });
    expect(restored).toMatchObject({ aside: null, revoked: [], lost: [], report: { keys: 2 } });
    const store = open(directory);
    expect(outcomes(store)).toEqual(AS_BEFORE);
    createKeys({ store, clock }).revoke(KEYS[2].id);
    store.close();
    const elsewhere = copyOf(directory);
    expect((await restore({ directory: elsewhere, file: path, now: NOW })).revoked).toEqual(["key-2"]);
    expect(outcomes(open(elsewhere))).toEqual(["revoked", "valid", "revoked"]);
  });
});

test("going back: 0.1 gets later revocations, and reuses no event id", async () => {
  const { directory, path } = place();
  const store = open(directory);
  createKeys({ store, clock }).revoke(KEYS[2].id);
  createEvents(store).reserve(RESERVED + 99);
  store.close();
  const elsewhere = copyOf(directory);
  const [file = ""] = copiesOf(path);
  await restore({ directory: elsewhere, file, now: NOW });
  const sqlite = new Database(join(elsewhere, "licmond.db"), { readonly: true });
  later(() => sqlite.close());
  expect(sqlite.query("SELECT name FROM api_keys WHERE revoked_at IS NULL").values()).toEqual([["key-1"]]);
  const reserved = sqlite.query("SELECT value FROM event_marks WHERE name = 'reserved'");
  expect(reserved.values()).toEqual([[RESERVED + 99]]);
});

describe("kill -9 while it is moved", () => {
  /** Each step ends by renaming or removing a file. After a kill, the next start repeats the step. */
  test.each(["before the copy", "after state.db", "after its copy", "after the last step"])("%s", (when) => {
    const { directory, path } = place();
    const untouched = readFileSync(path);
    const store = open(directory);
    store.close();
    if (when !== "after the last step") {
      // licmond.db changes last, in one transaction.
      putBack(path, untouched);
      if (when !== "after its copy") rmSync(join(directory, "state.db.copy"));
      if (when === "before the copy") rmSync(join(directory, "state.db"));
    }
    holdsAll(open(directory));
  });
});
