import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createLogsPort } from "../../src/daemon/http-deps.ts";
import type { LogEvent } from "../../src/domain/events.ts";
import { createReader } from "../../src/history/reader.ts";
import { createEvents } from "../../src/store/events.ts";
import { cleanUp, open, temporaryDirectory } from "../store/place.ts";
import { historyPort } from "./history-port.ts";
import { type Ask, type Bench, bench } from "./make.ts";

const T = Date.parse("2026-03-02T12:00:00.000Z");
const MINUTE = 60_000;
let store: ReturnType<typeof open>;
let site: Bench;
let newest = 0;

/** A stored line, some minutes after T. */
const line = (
  level: LogEvent["level"],
  source: LogEvent["source"],
  message: string,
  metadata: LogEvent["metadata"],
) => ({ level, source, message, metadata });
const LINES = [
  line("info", "system", "licmond started", { version: "1.2.3" }),
  line("warn", "collector", "server does not answer", { server: "eda", code: "X" }),
  line("info", "collector", "server answers again", { server: "eda" }),
  line("error", "config", "Config problem", { problem: "it's (not) x-1, o'neil" }),
  line("warn", "auth", "API key refused", { outcome: "invalid" }),
  line("info", "audit", "Logs were cleared", { keyId: "k" }),
  line("debug", "http", "Request", { path: "/api/ping", status: 200 }),
  line("warn", "collector", '=server, is "odd"\r\nand long', { server: "cad" }),
];

beforeEach(() => {
  store = open(temporaryDirectory());
  const events = createEvents(store);
  store.transaction(() => {
    for (const [index, fields] of LINES.entries()) {
      const id = T + index * MINUTE;
      const timestamp = new Date(id).toISOString();
      const event: LogEvent = { type: "log", id: `log-${id}`, timestamp, ...fields };
      events.insert(id, event, JSON.stringify(event));
      newest = id;
    }
  });
  site = bench({
    logs: createLogsPort(store, { commit: async () => {}, lastPublished: () => newest }),
    history: historyPort(() => createReader(store.sqlite, { now: newest })),
  });
});
afterEach(cleanUp);

interface List {
  readonly logs: readonly LogEvent[];
  readonly total: number;
  readonly limit: number;
  readonly offset: number;
}

const as = (role: keyof Bench["keys"], path: string, ask: Ask = {}) =>
  site.get(path, { key: site.keys[role], ...ask });

async function list(path: string, role: keyof Bench["keys"] = "operator"): Promise<List> {
  const response = await as(role, path);
  expect({ path, status: response.status }).toEqual({ path, status: 200 });
  return (await response.json()) as List;
}

/** Returns the indexes of {@link LINES} in the answer. */
const indexes = ({ logs }: List) => logs.map(({ timestamp }) => (Date.parse(timestamp) - T) / MINUTE);

const at = (index: number) => new Date(T + index * MINUTE).toISOString();

describe("GET /api/logs/recent", () => {
  test("returns log events as streams send them, oldest first", async () => {
    const answer = await list("/api/logs/recent");
    expect(indexes(answer)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    const second = line("warn", "collector", "server does not answer", { server: "eda", code: "X" });
    expect(answer.logs[1]).toEqual({ type: "log", id: `log-${T + MINUTE}`, timestamp: at(1), ...second });
    expect(answer).toMatchObject({ total: 8, limit: 100, offset: 0 });
  });

  test("returns the last `lines` matches, and the number of all", async () => {
    const two = await list("/api/logs/recent?lines=2");
    expect([indexes(two), two.total, two.limit, two.offset]).toEqual([[6, 7], 8, 2, 0]);
    const one = await list("/api/logs/recent?lines=1&sources=collector");
    expect([indexes(one), one.total]).toEqual([[7], 3]);
  });
});

describe("GET /api/logs/search", () => {
  test("returns the newest first, one page, and the total", async () => {
    const answer = await list("/api/logs/search?limit=3&offset=2");
    expect(indexes(answer)).toEqual([5, 4, 3]);
    expect(answer).toMatchObject({ total: 8, limit: 3, offset: 2 });
  });

  // Each parameter is used once; the store's tests cover words and filters.
  test.each([
    ["q=SERVER+eda", [2, 1]],
    [`q=${encodeURIComponent("o'neil")}`, [3]],
    ["levels=error,warn", [7, 4, 3, 1]],
    ["levels=error&levels=debug", [6, 3]],
    ["level=error&levels=debug", [6, 3]],
    ["source=collector&sources=config", [7, 3, 2, 1]],
    ["sources=collector,config", [7, 3, 2, 1]],
    ["server_ids=eda,cad", [7, 2, 1]],
    [`start_time=${at(5)}`, [7, 6, 5]],
    [`start_time=${T + MINUTE}&end_time=${T + 3 * MINUTE}`, [2, 1]],
    ["start_time=2026-03-02&end_time=2026-03-02", [7, 6, 5, 4, 3, 2, 1, 0]],
    ["q=answer&levels=warn&sources=collector&server_ids=eda", [1]],
  ])("?%s finds %p, and so does recent", async (query, expected) => {
    expect(indexes(await list(`/api/logs/search?${query}`))).toEqual(expected);
    expect(indexes(await list(`/api/logs/recent?${query}`))).toEqual(expected.toReversed());
  });

  test.each(["source", "sources"])("an unknown %s is INVALID_QUERY with the list", async (name) => {
    for (const path of ["/api/logs/recent", "/api/logs/search", "/stream/logs", "/stream/combined"]) {
      const response = await as("viewer", `${path}?${name}=license-server`);
      const { code, message } = (await response.json()) as { code: string; message: string };
      expect([path, response.status, code]).toEqual([path, 400, "INVALID_QUERY"]);
      expect(message).toContain("collector, http, auth, audit, store, alerts, config, system");
    }
  });

  const twenty = Array.from({ length: 20 }, (_, n) => `w${n}`).join("+");

  test.each([`${twenty}+w20`, `${twenty}+.`])("q=%s is INVALID_QUERY: the limit is 20", async (q) => {
    for (const path of ["search", "recent"]) {
      const response = await as("viewer", `/api/logs/${path}?q=${q}`);
      const { code, message } = (await response.json()) as { code: string; message: string };
      expect([response.status, code]).toEqual([400, "INVALID_QUERY"]);
      expect(message).toContain("at most 20 different words");
    }
  });

  test("only distinct words count", async () => {
    expect(indexes(await list(`/api/logs/search?q=${twenty}`))).toEqual([]);
    expect(indexes(await list(`/api/logs/search?q=${Array(1000).fill("server+SERVER").join("+")}`))).toEqual([
      7, 2, 1,
    ]);
  });
});

describe("access by role", () => {
  test("a viewer sees nothing of auth, audit and http, with any filter", async () => {
    expect(indexes(await list("/api/logs/recent", "viewer"))).toEqual([0, 1, 2, 3, 7]);
    expect(indexes(await list("/api/logs/recent?sources=auth,audit,http", "viewer"))).toEqual([]);
    expect(await list("/api/logs/search?q=refused", "viewer")).toMatchObject({ logs: [], total: 0 });
    const stats = (await (await as("viewer", "/api/logs/stats")).json()) as Record<string, object>;
    expect(stats.bySource).toEqual({ system: 1, collector: 3, config: 1 });
    expect(stats.total).toBe(5 as unknown as object);
  });

  test.each(["operator", "admin"] as const)("an %s sees all sources", async (role) => {
    expect(indexes(await list("/api/logs/recent", role))).toHaveLength(8);
  });

  test.each(["viewer", "operator"] as const)("a %s may not clear", async (role) => {
    const response = await as(role, "/api/logs/clear", { method: "POST" });
    expect([response.status, await response.json()]).toMatchObject([403, { code: "AUTH_INSUFFICIENT" }]);
    expect(indexes(await list("/api/logs/recent"))).toHaveLength(8);
  });

  test("a calendar key sees nothing", async () => {
    for (const path of ["/api/logs/recent", "/api/logs/search", "/api/logs/stats"]) {
      expect((await as("calendar", path)).status).toBe(403);
    }
  });
});

describe("GET /api/logs/stats", () => {
  test("counts by level, source and hour, with first, last and size", async () => {
    const stats: unknown = await (await as("operator", "/api/logs/stats")).json();
    const bytes = LINES.map((fields, index) =>
      JSON.stringify({ type: "log", id: `log-${T + index * MINUTE}`, timestamp: at(index), ...fields }),
    ).join("").length;
    expect(stats).toEqual({
      total: 8,
      byLevel: { info: 3, warn: 3, error: 1, debug: 1 },
      bySource: { system: 1, collector: 3, config: 1, auth: 1, audit: 1, http: 1 },
      byHour: [{ hour: at(0), count: 8 }],
      oldest: at(0),
      newest: at(7),
      sizeBytes: bytes,
    });
  });
});

describe("CSV", () => {
  test.each([
    ["format=csv", {}],
    ["", { accept: "text/csv" }],
  ])("?%s with %p is a named CSV with its count and safe cells", async (query, headers) => {
    const response = await as("operator", `/api/logs/search?sources=collector&limit=2&${query}`, { headers });
    expect(response.headers.get("content-type")).toBe("text/csv; charset=utf-8");
    expect(response.headers.get("content-disposition")).toContain("licmond-logs.csv");
    expect(response.headers.get("x-total-count")).toBe("3");
    const text = await response.text();
    const [head, first] = text.split("\r\n");
    expect(head).toBe("type,id,timestamp,level,message,source,metadata");
    expect(first).toStartWith(`log,log-${T + 7 * MINUTE},${at(7)},warn,`);
    // Cells do not start a formula, and quotes are doubled.
    expect(text).toContain(`"'=server, is ""odd""`);
  });
});

describe("POST /api/logs/clear", () => {
  const clear = (body: object) => site.post("/api/logs/clear", body);

  test("deletes everything except the audit trail, and is recorded there", async () => {
    const response = await clear({});
    expect([response.status, await response.json()]).toEqual([200, { cleared: 7 }]);
    expect(indexes(await list("/api/logs/recent"))).toEqual([5]);
    const fields = { cleared: 7, by: "key000000003" };
    expect(site.linesOf("audit").at(-1)).toMatchObject({ message: "Logs were cleared", fields });
  });

  test("deletes lines older than `before`", async () => {
    expect(await (await clear({ before: at(3) })).json()).toEqual({ cleared: 3 });
    expect(indexes(await list("/api/logs/recent"))).toEqual([3, 4, 5, 6, 7]);
    expect(await (await clear({ before: String(T + 4 * MINUTE) })).json()).toEqual({ cleared: 1 });
  });

  test.each([[{ before: "yesterday" }], [{ before: 7 }], [{ befor: at(3) }]])("refuses %p", async (body) => {
    const response = await clear(body);
    expect([response.status, await response.json()]).toMatchObject([400, { code: "INVALID_FIELD" }]);
    expect(indexes(await list("/api/logs/recent"))).toHaveLength(8);
  });
});
