import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import type { LogEvent, ServerStatusEvent } from "../../src/domain/events.ts";
import { createEventRetention, createEvents, type Events } from "../../src/store/events.ts";
import { createLogs, type LogFilter, type Logs } from "../../src/store/logs.ts";
import { openStore, type Store } from "../../src/store/open.ts";

const T = Date.parse("2026-03-02T12:00:00.000Z");
const quiet = { debug() {}, info() {}, warn() {}, error() {} };

let directory: string;
let store: Store;
let events: Events;
let logs: Logs;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "licmond-logs-"));
  store = openStore({ directory, log: quiet });
  events = createEvents(store);
  logs = createLogs(store);
});
afterEach(() => {
  store.close();
  rmSync(directory, { recursive: true });
});

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

function put(...lines: LogEvent[]) {
  events.transaction(() => {
    for (const each of lines) events.insert(Number(each.id.slice(4)), each, JSON.stringify(each));
  });
}

const filter = (change: Partial<LogFilter> = {}): LogFilter => ({
  levels: null,
  sources: null,
  serverIds: null,
  start: null,
  end: null,
  q: null,
  hiddenSources: [],
  ...change,
});

const idsOf = (rows: readonly string[]) =>
  rows.map((row) => Number((JSON.parse(row) as LogEvent).id.slice(4)) - T);

describe("the filters", () => {
  beforeEach(() =>
    put(
      line(T + 1, { level: "error", source: "store" }),
      line(T + 2, { metadata: { server: "eda" } }),
      line(T + 3, { level: "warn", source: "auth" }),
      // Its id ran ahead of the clock: it tells an earlier time than its neighbours.
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
    ["by the time told, not by the id", { start: T + 5 }, []],
    ["sources that the caller may not see", { hiddenSources: ["auth", "store"] }, [2, 9_000]],
  ] as [string, Partial<LogFilter>, number[]][])("%s", (_, change, found) => {
    expect(idsOf(logs.recent(filter(change), 100).rows)).toEqual(found);
    expect(logs.search(filter(change), 100, 0)).toMatchObject({ total: found.length });
  });

  test("recent is the tail, oldest first; search is newest first with offset", () => {
    expect(idsOf(logs.recent(filter(), 2).rows)).toEqual([3, 9_000]);
    const { rows, total } = logs.search(filter(), 2, 1);
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
    ["( failed", [1]],
    ["( seat", []],
    ['"quoted"', [1]],
    ["%", [1]],
    ["42", [1]],
    ["muller", [2]],
    ["NEAR", [2]],
    ["tool AND", []],
    ["tool  failed", [1]],
    ["failed seat", []],
    ["message", []],
    ["", [1, 2]],
    ["* ^ :", []],
  ] as [string, number[]][])("%p", (q, found) => {
    expect(idsOf(logs.recent(filter({ q }), 10).rows)).toEqual(found);
  });

  test("NUL, at which FTS5 would stop reading the question, parts words", () => {
    expect(idsOf(logs.recent(filter({ q: "x-1\0failed" }), 10).rows)).toEqual([1]);
    expect(logs.recent(filter({ q: "x-1\0nowhere" }), 10).rows).toEqual([]);
    expect(() => logs.recent(filter({ q: "\0" }), 10)).not.toThrow();
  });

  test("letters younger than the index's Unicode are found all the same", () => {
    put(line(T + 90, { message: "\u19b0" }));
    expect(idsOf(logs.recent(filter({ q: "\u19b0" }), 10).rows)).toEqual([90]);
  });

  test("no text is syntax, and every line is found by its own words", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 1 }), (text) => {
        logs.recent(filter({ q: text }), 1);
        const id = (events.highestReserved() || T) + 1;
        put(line(id, { message: text }));
        expect(idsOf(logs.recent(filter({ q: text }), 1000).rows)).toContain(id - T);
      }),
      { numRuns: 150 },
    );
  });
});

describe("statistics", () => {
  test("follow every insert and delete", () => {
    put(line(T), line(T + 1, { level: "error" }), line(T + 3_600_000, { source: "audit" }));
    expect(logs.stats([])).toMatchObject({
      total: 3,
      byLevel: { info: 2, error: 1 },
      bySource: { collector: 2, audit: 1 },
      byHour: [
        { hour: T, count: 2 },
        { hour: T + 3_600_000, count: 1 },
      ],
      oldestAt: T,
      newestAt: T + 3_600_000,
    });
    expect(logs.stats(["audit"])).toMatchObject({ total: 2, newestAt: T + 1 });
    expect(logs.clearStep(null, T + 1)).toBe(2);
    expect(logs.stats([])).toMatchObject({ total: 1, byLevel: { info: 1 }, oldestAt: T + 3_600_000 });
  });

  test("tell the size of what is stored", () => {
    const size = () => logs.stats([]).sizeBytes;
    put(line(T));
    expect(size()).toBe(JSON.stringify(line(T)).length);
    while (logs.clearStep(null, T) > 0);
    expect(size()).toBe(0);
  });
});

describe("deleting", () => {
  const drain = (step: () => number) => {
    let sum = 0;
    for (let count = step(); count > 0; count = step()) sum += count;
    return sum;
  };

  test("clearing spares the audit trail, what came later, and leaves a mark for those who resume", () => {
    put(line(T), line(T + 1, { source: "audit" }), line(T + 2), line(T + 3));
    expect(drain(() => logs.clearStep(T + 3, T + 10))).toBe(2);
    expect(idsOf(logs.recent(filter(), 10).rows)).toEqual([1, 3]);
    expect(logs.recent(filter({ q: "again" }), 10).rows).toHaveLength(2);
    expect(events.deletedThrough("log")).toBe(T + 2);
    expect(events.deletedThrough()).toBe(T + 2);
  });

  test("retention goes by age, by class and by size, in steps", () => {
    put(
      ...Array.from({ length: 1_200 }, (_, index) =>
        line(T + index, { source: index % 2 ? "audit" : "http" }),
      ),
    );
    const keep = { now: T + 2_000, logsBefore: T + 1_000, auditBefore: T + 100, maxBytes: Infinity };
    const steps: number[] = [];
    drain(() => {
      const count = logs.retainStep(keep);
      steps.push(count);
      return count;
    });
    expect(Math.max(...steps)).toBeLessThanOrEqual(500);
    expect(logs.stats([])).toMatchObject({ bySource: { http: 100, audit: 550 } });
    drain(() => logs.retainStep({ ...keep, maxBytes: 0 }));
    expect(logs.stats([])).toMatchObject({ bySource: { audit: 550 } });
  });
});

describe("after a clock that was ahead", () => {
  const DAY = 86_400_000;
  const AHEAD = T + 500 * DAY;
  /** A line of an id that went on from the wrong time, at a right one. */
  const behind = (id: number, at: number, change: Partial<LogEvent> = {}) =>
    line(id, { timestamp: new Date(at).toISOString(), ...change });
  const drain = (step: () => number) => {
    while (step() > 0);
  };

  test("log lines go by the time that they tell, and those of the wrong time with the first that came later", () => {
    put(
      ...[line(T), line(AHEAD), line(AHEAD + 1, { source: "audit" })],
      ...[behind(AHEAD + 2, T + 1), behind(AHEAD + 3, T + 2, { source: "audit" })],
      behind(AHEAD + 4, T + 3 * DAY),
    );
    const left = () => idsOf(logs.recent(filter(), 10).rows);
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

  test("lines that a clock set far back told take no others with them", () => {
    put(line(T), behind(T + 1, T - 9_000 * DAY), line(T + 2));
    drain(() => logs.retainStep({ now: T + DAY, logsBefore: T - DAY, auditBefore: 0, maxBytes: Infinity }));
    expect(idsOf(logs.recent(filter(), 10).rows)).toEqual([0, 2]);
  });

  test("so do events", () => {
    const status = (id: number, at: number): ServerStatusEvent => ({
      type: "server_status",
      ...{ id: `server_status-${id}`, timestamp: new Date(at).toISOString(), server: "eda", daemon: null },
      ...{ from: "up", to: "down", reason: null },
    });
    events.transaction(() => {
      for (const [id, at] of [
        [T, T],
        [AHEAD, AHEAD],
        [AHEAD + 1, T + 1],
        [AHEAD + 2, T + 3 * DAY],
      ] as const)
        events.insert(id, status(id, at), JSON.stringify(status(id, at)));
    });
    const retention = createEventRetention(store, 2);
    drain(() => retention.step(T + 2 * DAY, T + 4 * DAY));
    expect(events.page(0, 10).map(({ id }) => id)).toEqual([AHEAD + 2]);
    expect(events.deletedThrough()).toBe(AHEAD + 1);
  });
});

describe("reading events back", () => {
  test("pages come in order, by type where asked, above an id", () => {
    const status = {
      type: "server_status",
      id: `server_status-${T + 1}`,
      timestamp: new Date(T + 1).toISOString(),
      server: "eda",
      daemon: null,
      from: "up",
      to: "down",
      reason: null,
    } as const;
    put(line(T), line(T + 2));
    events.transaction(() => events.insert(T + 1, status, JSON.stringify(status)));
    expect(events.page(T - 1, 10).map(({ id, type }) => [id - T, type])).toEqual([
      [0, "log"],
      [1, "server_status"],
      [2, "log"],
    ]);
    expect(events.page(T, 1, "log").map(({ id }) => id - T)).toEqual([2]);
    expect(events.oldestId()).toBe(T);
  });

  test("ids of a new process start above all reserved and all stored ones", () => {
    expect(events.highestReserved()).toBe(0);
    events.reserve(T + 500);
    put(line(T + 700));
    expect(events.highestReserved()).toBe(T + 700);
  });

  test("holes are kept, and told to who resumes below them", () => {
    events.transaction(() => events.insertHole(T + 5, T + 9));
    expect(events.holesAbove(T)).toEqual([{ from: T + 5, to: T + 9 }]);
    expect(events.holesAbove(T + 8)).toEqual([{ from: T + 5, to: T + 9 }]);
    expect(events.holesAbove(T + 9)).toEqual([]);
  });
});
