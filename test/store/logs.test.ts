import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { LogEvent, ServerStatusEvent } from "../../src/domain/events.ts";
import { type LogFilter, logStats, searchLogs } from "../../src/history/log-queries.ts";
import { createReader } from "../../src/history/reader.ts";
import { migrate } from "../../src/store/database/migrate.ts";
import { createEvents, type Events } from "../../src/store/events.ts";
import { createLogIndex, wordsOf } from "../../src/store/log-words.ts";
import { createEventRetention, createLogs, type Logs } from "../../src/store/logs.ts";

import { MIGRATIONS } from "../../src/store/migrations/migrations.ts";
import type { Store } from "../../src/store/open/open.ts";
import { cleanUp, open, temporaryDirectory } from "./place.ts";

const T = Date.parse("2026-03-02T12:00:00.000Z");

let store: Store;
let events: Events;
let logs: Logs;
beforeEach(() => {
  store = open(temporaryDirectory());
  events = createEvents(store);
  logs = createLogs(store);
});
afterEach(cleanUp);

const line = (id: number, change: Partial<LogEvent> = {}): LogEvent => ({
  type: "log",
  id: `log-${id}`,
  timestamp: new Date(id).toISOString(),
  level: "info",
  message: "Server is up again",
  source: "collector",
  metadata: {},
  ...change,
});

const status = (id: number, at = id): ServerStatusEvent => ({
  type: "server_status",
  id: `server_status-${id}`,
  timestamp: new Date(at).toISOString(),
  server: "eda",
  daemon: null,
  from: "up",
  to: "down",
  reason: null,
});

function put(...list: (LogEvent | ServerStatusEvent)[]) {
  events.transaction(() => {
    for (const each of list) events.insert(Number(each.id.split("-")[1]), each, JSON.stringify(each));
  });
}

const reader = () => createReader(store.sqlite, { now: T });
const search = (asked: LogFilter, limit = 1000, offset = 0) => searchLogs(reader(), asked, limit, offset);
const stats = (hidden: LogFilter["hiddenSources"] = []) => logStats(reader(), hidden);

function clear(before: number | null, through: number): number {
  let cleared = 0;
  for (let after = 0; ; ) {
    const step = logs.clearStep(before, after, through);
    if (step.last === null) return cleared;
    cleared += step.cleared;
    after = step.last;
  }
}

function fill(from: number, count: number, source: LogEvent["source"] = "http") {
  put(...Array.from({ length: count }, (_, n) => line(from + n, { source })));
}

const ANY = { levels: null, sources: null, serverIds: null, start: null, end: null, q: null };
const filter = (change: Partial<LogFilter> = {}): LogFilter => ({ ...ANY, hiddenSources: [], ...change });

const idsOf = (rows: readonly string[]) =>
  rows.map((row) => Number((JSON.parse(row) as LogEvent).id.slice(4)) - T);

const drain = (step: () => number) => {
  while (step() > 0);
};

describe("filters", () => {
  beforeEach(() =>
    put(
      line(T + 1, { level: "error", source: "store" }),
      line(T + 2, { metadata: { server: "eda" } }),
      line(T + 3, { level: "warn", source: "auth" }),
      // The id ran ahead of the clock, so it is later than the timestamp.
      line(T + 9_000, { timestamp: new Date(T + 4).toISOString() }),
    ),
  );
  test.each([
    ["everything", {}, [1, 2, 3, 9_000]],
    ["levels", { levels: ["error", "warn"] }, [1, 3]],
    ["sources", { sources: ["collector"] }, [2, 9_000]],
    ["unknown sources", { sources: ["nobody"] }, []],
    ["servers", { serverIds: ["eda"] }, [2]],
    ["from a time", { start: T + 3 }, [3, 9_000]],
    ["to a time", { end: T + 3 }, [1, 2]],
    ["by the timestamp, not by the id", { start: T + 5 }, []],
    ["sources that the caller may not see", { hiddenSources: ["auth", "store"] }, [2, 9_000]],
  ] as [string, Partial<LogFilter>, number[]][])("%s", (_, change, found) => {
    expect(idsOf(search(filter(change)).rows)).toEqual(found.toReversed());
    expect(search(filter(change), 1)).toMatchObject({ total: found.length });
  });

  test("the newest lines come first, from an offset", () => {
    const { rows, total } = search(filter(), 2, 1);
    expect([idsOf(rows), total]).toEqual([[3, 2], 4]);
  });
});

describe("words", () => {
  beforeEach(() =>
    put(
      line(T + 1, {
        message: "tool x-1 failed (o'neil)",
        metadata: { feature: 'a "quoted" 50%_\\ name', n: 42 },
      }),
      line(T + 2, { message: "Müller took NEAR the seat" }),
    ),
  );
  test.each([
    ["x-1", [1]],
    ["o'neil", [1]],
    ["(", [1]],
    ["(o'neil)", [1]],
    ["(tool", []],
    ["oo", []],
    ["name 50%_\\", [1]],
    ["( failed", [1]],
    ["( seat", []],
    ['"quoted"', [1]],
    ["%", [1]],
    ["42", [1]],
    ["muller", [2]],
    ["MÜLLER", [2]],
    ["NEAR", [2]],
    ["tool AND", []],
    ["tool  failed", [1]],
    ["failed seat", []],
    ["message", []],
    ["", [1, 2]],
    ["* ^ :", []],
    ["x-1\0failed", [1]],
    ["x-1\0nowhere", []],
    ["\0", [1, 2]],
  ] as [string, number[]][])("%p, before the lines are indexed and after", (q, found) => {
    expect(idsOf(search(filter({ q })).rows)).toEqual(found.toReversed());
    fill(T + 100, 500);
    expect(logs.indexStep()).toBe(500);
    expect(idsOf(search(filter({ q, end: T + 100 })).rows)).toEqual(found.toReversed());
  });

  test("no text is syntax, and each line is found by its own words", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 1 }), (text) => {
        const id = (events.highestReserved() || T) + 1;
        put(line(id, { message: text }));
        expect(idsOf(search(filter({ q: text })).rows)).toContain(id - T);
      }),
      { numRuns: 150 },
    );
  });

  test("different words count once", () => {
    expect(wordsOf("Tool tool TOOL tóol . . (").sort()).toEqual(["(", ".", "TOOL"]);
  });
});

describe("the index of words", () => {
  /** Counts the message bodies that a search reads. */
  function looked(q: string): number {
    let bodies = 0;
    const { all, checkpoint } = reader();
    const counting: typeof all = (sql, ...values) => {
      const rows = all<never>(sql, ...values);
      if (sql.includes("body")) bodies += rows.length;
      return rows;
    };
    searchLogs({ all: counting, checkpoint }, filter({ q }), 10, 0);
    return bodies;
  }

  test("lets a search skip runs of lines without a word, also for punctuation", () => {
    fill(T + 100, 1_000);
    put(line(T + 5_000, { message: "tool -> (seat)" }));
    fill(T + 6_000, 500);
    drain(logs.indexStep);
    expect(store.sqlite.query("SELECT count(*) AS n FROM log_words").get()).toEqual({ n: 3 });
    // The last line is not indexed yet, because its run is not full, so every search reads it.
    expect([looked("->"), looked("( ) % ->"), looked("nowhere"), looked(".")]).toEqual([501, 1, 1, 1]);
    expect(idsOf(search(filter({ q: "-> (seat)" })).rows)).toEqual([5_000]);
    expect(search(filter({ q: "server AGAIN" }), 2, 700)).toMatchObject({ total: 1_500 });
  });

  test("follows deletions, and remaining audit lines are found", () => {
    fill(T + 100, 400, "audit");
    fill(T + 1_000, 1_600);
    drain(logs.indexStep);
    clear(T + 1_700, T + 10_000);
    expect(search(filter({ q: "server" }), 1)).toMatchObject({ total: 400 + 900 });
    expect(logs.indexStep()).toBe(0);
    clear(null, T + 10_000);
    expect(search(filter({ q: "server" }), 1)).toMatchObject({ total: 400 });
    fill(T + 20_000, 500);
    drain(logs.indexStep);
    expect(search(filter({ q: "server" }), 1)).toMatchObject({ total: 900 });
    expect(looked("nowhere")).toBeLessThan(500);
  });

  test("stops a search whose time is up", () => {
    fill(T + 100, 5_000);
    let looks = 0;
    const read = createReader(store.sqlite, {
      now: T,
      checkpoint() {
        if (++looks === 2) throw new Error("the time is up");
      },
    });
    expect(() => searchLogs(read, filter({ q: "server" }), 10, 0)).toThrow("the time is up");
  });

  test("is rebuilt for the lines of an older database", () => {
    const before = new Database(":memory:", { strict: true });
    migrate(before, "x.db", MIGRATIONS.slice(0, 17));
    const insert = before.query("INSERT INTO events VALUES (?1, ?1, 'log', 'info', 'collector', NULL, ?2)");
    for (let id = 1; id <= 600; id++) {
      const event = line(id, { message: `line ${id} (of before)` });
      insert.run(id, JSON.stringify(event));
      before.run("INSERT INTO log_words (rowid, words) VALUES (?, ?)", [id, event.message]);
    }
    migrate(before, "x.db", MIGRATIONS);
    const read = createReader(before, { now: T });
    const found = () => searchLogs(read, filter({ q: "(of 77" }), 10, 0).total;
    expect(found()).toBe(1);
    const { step } = createLogIndex({ sqlite: before, transaction: store.transaction });
    expect([step(), step(), found()]).toEqual([500, 0, 1]);
    before.close();
  });
});

describe("statistics", () => {
  test("follow every insert and delete", () => {
    put(line(T), line(T + 1, { level: "error" }), line(T + 3_600_000, { source: "audit" }));
    expect(stats([])).toMatchObject({
      total: 3,
      byLevel: { info: 2, error: 1 },
      bySource: { collector: 2, audit: 1 },
      byHour: [2, 1].map((count, hour) => ({ hour: T + hour * 3_600_000, count })),
      oldestAt: T,
      newestAt: T + 3_600_000,
    });
    expect(stats(["audit"])).toMatchObject({ total: 2, newestAt: T + 1 });
    expect(clear(null, T + 1)).toBe(2);
    const left = line(T + 3_600_000, { source: "audit" });
    expect(stats([])).toMatchObject({ total: 1, byLevel: { info: 1 }, oldestAt: T + 3_600_000 });
    expect(stats([]).sizeBytes).toBe(JSON.stringify(left).length);
  });
});

describe("deleting", () => {
  test("clearing keeps the audit trail and later lines, and leaves a mark for clients that resume", () => {
    put(line(T), line(T + 1, { source: "audit" }), line(T + 2), line(T + 3));
    expect(clear(T + 3, T + 10)).toBe(2);
    expect(idsOf(search(filter()).rows)).toEqual([3, 1]);
    expect(search(filter({ q: "again" })).rows).toHaveLength(2);
    expect(events.deletedThrough("log")).toBe(T + 2);
    expect(events.deletedThrough()).toBe(T + 2);
  });

  test("retention deletes by age, kind and size, in steps", () => {
    for (let at = T; at < T + 1_200; at += 2)
      put(line(at, { source: "http" }), line(at + 1, { source: "audit" }));
    const keep = { now: T + 2_000, logsBefore: T + 1_000, auditBefore: T + 100, maxBytes: Infinity };
    drain(() => {
      const count = logs.retainStep(keep);
      expect(count).toBeLessThanOrEqual(500);
      return count;
    });
    expect(stats([])).toMatchObject({ bySource: { http: 100, audit: 550 } });
    drain(() => logs.retainStep({ ...keep, maxBytes: 0 }));
    expect(stats([])).toMatchObject({ bySource: { audit: 550 } });
  });
});

describe("after a clock that was ahead", () => {
  const DAY = 86_400_000;
  const AHEAD = T + 500 * DAY;
  /** Makes a line with a correct timestamp and an id that continues from a wrong time. */
  const behind = (id: number, at: number, change: Partial<LogEvent> = {}) =>
    line(id, { timestamp: new Date(at).toISOString(), ...change });

  test("log lines are deleted by their timestamp, and lines with a wrong time together with the next line", () => {
    put(line(T), line(AHEAD), line(AHEAD + 1, { source: "audit" }), behind(AHEAD + 2, T + 1));
    put(behind(AHEAD + 3, T + 2, { source: "audit" }), behind(AHEAD + 4, T + 3 * DAY));
    const left = () => idsOf(search(filter()).rows).toReversed();
    const keepSince = (before: number, auditBefore: number) =>
      drain(() =>
        logs.retainStep({ now: before + DAY, logsBefore: before, auditBefore, maxBytes: Infinity }),
      );
    keepSince(T, T);
    expect(left()).toHaveLength(6);
    keepSince(T + 2 * DAY, T);
    expect(left()).toEqual([AHEAD + 1, AHEAD + 3, AHEAD + 4].map((id) => id - T));
    keepSince(T + 2 * DAY, T + 2 * DAY);
    expect(left()).toEqual([AHEAD + 4 - T]);
  });

  test("lines with a time far in the past delete no others", () => {
    put(line(T), behind(T + 1, T - 9_000 * DAY), line(T + 2));
    drain(() => logs.retainStep({ now: T + DAY, logsBefore: T - DAY, auditBefore: 0, maxBytes: Infinity }));
    expect(idsOf(search(filter()).rows).toReversed()).toEqual([0, 2]);
  });

  test("events are deleted in the same way", () => {
    put(status(T), status(AHEAD), status(AHEAD + 1, T + 1), status(AHEAD + 2, T + 3 * DAY));
    const retention = createEventRetention(store, 2);
    drain(() => retention(T + 2 * DAY, T + 4 * DAY));
    expect(events.page(0, 10).map(({ id }) => id)).toEqual([AHEAD + 2]);
    expect(events.deletedThrough()).toBe(AHEAD + 1);
  });
});

describe("reading events back", () => {
  test("pages are in order, above an id, optionally by type", () => {
    put(line(T), status(T + 1), line(T + 2));
    const page = events.page(T - 1, 10).map(({ id, type }) => `${id - T} ${type}`);
    expect(page).toEqual(["0 log", "1 server_status", "2 log"]);
    expect(events.page(T, 1, "log").map(({ id }) => id - T)).toEqual([2]);
    expect(events.oldestId()).toBe(T);
  });
});
