import { afterEach, describe, expect, test } from "bun:test";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { LogEvent } from "../../../src/domain/events.ts";
import { createEvents } from "../../../src/store/events.ts";
import { createReader } from "../../../src/store/history/reader.ts";
import { createKeys } from "../../../src/store/keys.ts";
import { logStats, searchLogs } from "../../../src/store/log-queries.ts";
import type { Store } from "../../../src/store/open.ts";
import { installationSecret } from "../../../src/store/secrets.ts";
import { createVitalFile } from "../../../src/store/vital/file.ts";
import { type Filled, fill } from "../damage/filled.ts";
import { cleanUp, open, quickDirectory } from "../place.ts";
import { plainKey } from "../plain-key.ts";
import { recordingLog } from "../recording-log.ts";

afterEach(cleanUp);

const clock = { now: () => Date.now() };
const PAGE = 4096;
const FILES = ["", "-wal", ".vital"] as const;

/** Files as `kill -9` leaves them, of a store that `fill` filled, with an audit line; by the ends of their names. */
function killed(more: (store: Store, filled: Filled) => void = () => {}) {
  const store = open(quickDirectory());
  const filled = fill(store, { keys: 4, events: 60 });
  const events = createEvents(store);
  const id = filled.newestId + 1;
  const audit: LogEvent = {
    type: "log",
    ...{ id: `log-${id}`, timestamp: new Date(id).toISOString(), level: "info", source: "audit" },
    ...{ message: "API key revoked", metadata: { name: "key-0" } },
  };
  events.transaction(() => events.insert(id, audit, JSON.stringify(audit)));
  store.sqlite.run("UPDATE api_keys SET last_used_at = 5 WHERE name = 'key-3'");
  // What the daemon does from time to time.
  store.keepVital();
  store.sqlite.run("PRAGMA wal_checkpoint(TRUNCATE)");
  more(store, filled);
  const bytes = new Map(
    FILES.filter((end) => existsSync(store.path + end)).map((end) => [end, readFileSync(store.path + end)]),
  );
  return { bytes, filled };
}

/** Lays such files down in a directory of their own, changed, and opens them. */
function reopen(bytes: ReadonlyMap<string, Buffer>, change: (path: string) => void) {
  const directory = join(quickDirectory(), "storage");
  mkdirSync(directory, { mode: 0o700 });
  const path = join(directory, "licmond.db");
  for (const [end, content] of bytes) writeFileSync(path + end, content, { mode: 0o600 });
  change(path);
  const log = recordingLog();
  return { store: open(directory, { log, damaged: "move-aside" }), log, path };
}

const outcomes = (store: Store, { keys }: Filled): readonly string[] => {
  const repository = createKeys({ store, clock });
  return keys.map((key) => repository.verify(key).outcome);
};
const AS_BEFORE = ["revoked", "valid", "valid", "valid"];

function fillPage(path: string, page: number, byte: number): void {
  const content = readFileSync(path);
  content.fill(byte, page * PAGE, (page + 1) * PAGE);
  writeFileSync(path, content);
}

describe("the side copy", () => {
  test("is private, and holds no key, only its hash", () => {
    const store = open(quickDirectory());
    const { keys } = fill(store, { keys: 3, events: 1 });
    const file = `${store.path}.vital`;
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const text = readFileSync(file, "utf8");
    for (const key of keys) expect(text).not.toContain(key.slice(-43));
    const { vital, fault } = createVitalFile(store.path).read();
    expect(fault).toBeNull();
    expect(vital?.rows.api_keys).toEqual(
      store.sqlite.query("SELECT * FROM api_keys ORDER BY id").all() as [],
    );
  });

  test.each([0, 0xa5])(
    "gives the keys back, whichever page is filled with %i",
    (byte) => {
      const { bytes, filled } = killed();
      const pages = (bytes.get("")?.length ?? 0) / PAGE;
      expect(pages).toBeGreaterThan(30);
      for (let page = 0; page < pages; page++) {
        const { store } = reopen(bytes, (path) => fillPage(path, page, byte));
        expect({ page, outcomes: outcomes(store, filled) }).toEqual({ page, outcomes: AS_BEFORE });
        expect(Buffer.from(installationSecret(store, "pseudonyms")).equals(filled.secret)).toBe(true);
        store.close();
      }
    },
    60_000,
  );

  test("gives everything that is vital back where the first page is gone, and the log says from when it is", () => {
    const { bytes, filled } = killed();
    const { store, log } = reopen(bytes, (path) => fillPage(path, 0, 0));
    expect(createKeys({ store, clock }).find("key-3")?.lastUsedAt).toBe(5);
    expect(store.sqlite.query("SELECT id FROM alerts").all()).toEqual([{ id: 7 }]);
    expect(store.sqlite.query("SELECT key_id AS key FROM quota_counts").all()).toEqual([{ key: "k" }]);
    const read = createReader(store.sqlite, { now: Date.now() });
    const filter = { levels: null, sources: null, serverIds: null, start: null, end: null };
    const found = searchLogs(read, { ...filter, q: "revoked", hiddenSources: [] }, 10, 0);
    expect(found.total).toBe(1);
    expect(logStats(read, [])).toMatchObject({ total: 1, bySource: { audit: 1 } });
    expect(createEvents(store).highestReserved()).toBeGreaterThan(filled.newestId);
    expect(log.lines.at(-1)?.fields).toMatchObject({
      rescued: "nothing",
      fromSideCopy: "4 api_keys, 1 secrets, 1 quota_counts, 1 alerts, 1 audit lines",
      sideCopy: expect.stringMatching(/^of \d{4}-\d\d-\d\dT/),
    });
  });

  test("gives nothing back that was read in the damaged database and was over since", () => {
    const { bytes } = killed((store) => {
      store.sqlite.run("UPDATE alerts SET resolved_at = 10");
      store.sqlite.run("PRAGMA wal_checkpoint(TRUNCATE)");
    });
    const { store } = reopen(bytes, (path) => {
      const content = readFileSync(path);
      fillPage(path, Math.floor(content.lastIndexOf("Line 60 of a store") / PAGE), 0xa5);
    });
    expect(store.sqlite.query("SELECT id, resolved_at AS at FROM alerts").all()).toEqual([{ id: 7, at: 10 }]);
  });

  test("damaged itself is not believed", () => {
    const { bytes } = killed();
    const { store, log } = reopen(bytes, (path) => {
      fillPage(path, 0, 0);
      const text = readFileSync(`${path}.vital`, "utf8");
      writeFileSync(
        `${path}.vital`,
        text.replace('"role":"admin"', '"role":"viewer"').replace("key-1", "key-x"),
      );
    });
    expect(createKeys({ store, clock }).list()).toEqual([]);
    expect(log.lines.find(({ level }) => level === "error")?.fields).toMatchObject({
      sideCopy: "not used: it is damaged too",
    });
  });
});

describe("a key that was revoked stays revoked", () => {
  const revokeAnother = (store: Store) => {
    const keys = createKeys({ store, clock });
    expect(keys.revoke(keys.find("key-1")?.id ?? "")).toBe("revoked");
  };
  const after = ["revoked", "revoked", "valid", "valid"];

  const losses: readonly [string, (path: string) => void][] = [
    ["page 1 is gone", (path) => fillPage(path, 0, 0)],
    ["the log that has it is gone", (path) => rmSync(`${path}-wal`)],
    ["the log that has it has a damaged header", (path) => fillPage(`${path}-wal`, 0, 0xa5)],
    [
      "the database lost all its bytes",
      (path) => {
        rmSync(`${path}-wal`);
        writeFileSync(path, "");
      },
    ],
  ];
  test.each(losses)("when %s", (_, change) => {
    const { bytes, filled } = killed(revokeAnother);
    expect(bytes.get("-wal")?.length).toBeGreaterThan(0);
    const { store } = reopen(bytes, change);
    expect(outcomes(store, filled)).toEqual(after);
  });

  test("when the database was met to be damaged before it was revoked", () => {
    const { bytes, filled } = killed();
    const { store, path } = reopen(bytes, () => {});
    store.metDamage({ name: "StoreError", message: "damaged", code: "CORRUPT", fix: "" });
    revokeAnother(store);
    const { store: next } = reopen(
      new Map(FILES.filter((end) => existsSync(path + end)).map((end) => [end, readFileSync(path + end)])),
      (copy) => fillPage(copy, 0, 0),
    );
    expect(outcomes(next, filled)).toEqual(after);
  });

  test("and where the copy cannot be written, there is none", () => {
    const { bytes } = killed();
    const { store, log, path } = reopen(bytes, () => {});
    // Where the new copy would be made.
    mkdirSync(`${path}.vital-new`);
    writeFileSync(`${path}.vital-new/x`, "");
    revokeAnother(store);
    expect(existsSync(`${path}.vital`)).toBe(false);
    expect(log.lines.map(({ message }) => message)).toContain(
      "The side copy of the keys could not be written",
    );
    const made = createKeys({ store, clock }).create(plainKey({ name: "later" }));
    expect(made.outcome).toBe("created");
  });
});

test("a database that was taken away on purpose begins anew, without the keys", () => {
  const { bytes, filled } = killed();
  const { store } = reopen(bytes, (path) => rmSync(path));
  expect(outcomes(store, filled)).toEqual(Array(4).fill("invalid"));
});

test("a second start on what was rescued changes nothing", () => {
  const { bytes, filled } = killed();
  const first = reopen(bytes, (path) => fillPage(path, 0, 0));
  first.store.close();
  const directory = join(quickDirectory(), "again");
  mkdirSync(directory);
  for (const end of ["", ".vital"]) copyFileSync(first.path + end, join(directory, `licmond.db${end}`));
  const log = recordingLog();
  const store = open(directory, { log, damaged: "move-aside" });
  expect(log.lines).toEqual([]);
  expect(outcomes(store, filled)).toEqual(AS_BEFORE);
});
