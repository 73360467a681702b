import { Database } from "bun:sqlite";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FeatureReading } from "../../src/domain/reading.ts";
import type { MonitoredServer } from "../../src/domain/server.ts";
import { DAY, MINUTE } from "../../src/simulator/calendar.ts";
import { wholeReading } from "../../src/simulator/reading-parts.ts";
import { createHistoryClient } from "../../src/store/history/client.ts";
import { createHistory } from "../../src/store/history/history.ts";
import { createLive } from "../../src/store/live.ts";
import { openStore, type Store } from "../../src/store/open.ts";
import { createYear, nameOf, writeDay, writeSessions, type Year, type YearSize } from "./history-year.ts";
import { longestStall, median, quantile } from "./measure.ts";
import { type Bench, type Row, tableOf } from "./table.ts";

const FULL = { servers: 100, features: 50, days: 365 };
const CYCLES = 15;
const TURNS = 3;
const SILENT = { debug() {}, info() {}, warn: console.error, error: console.error };
/** A Wednesday: its polls at noon are those of a working day. */
const END = Date.parse("2026-09-30T00:00:00Z");

/** A year of history: what it takes on disk, what a poll costs at its end, and what questions cost. */
export const history: Bench = {
  name: "history",
  what: "a year of 100 servers × 50 features: bytes, ingest, queries (minutes; HISTORY_SIZE=servers,features,days)",
  run: () => measure(sizeOf(process.env.HISTORY_SIZE)),
};

function sizeOf(text: string | undefined): YearSize {
  const [servers = FULL.servers, features = FULL.features, days = FULL.days] = (text ?? "")
    .split(",")
    .filter((part) => part !== "")
    .map(Number);
  return { servers, features, days, end: END };
}

async function measure(size: YearSize): Promise<Row[]> {
  const directory = mkdtempSync(join(tmpdir(), "licmond-history-"));
  const rows: Row[] = [];
  try {
    const year = createYear();
    const first = END - size.days * DAY;

    const main = join(directory, "year");
    const store = openStore({ directory: main, log: SILENT });
    await prepare(store, size, first);
    let begun = performance.now();
    for (let day = 0; day < size.days; day++) {
      const dayAt = first + day * DAY;
      writeDay(store, year, size, dayAt);
      writeSessions(store, year, size, dayAt);
      if (day % 30 === 29)
        console.error(`  day ${day + 1}, ${((performance.now() - begun) / 1000).toFixed(0)} s`);
    }
    writeUsers(store, year);
    begun = performance.now();
    const bytes = bytesOf(store, [
      "coverage",
      "history_features",
      "sample_days",
      "rollup_hours",
      "rollup_days",
    ]);
    const plain = plainDay(directory, year, size, END - DAY);
    rows.push({
      what: `history of ${size.days} days on disk, beside one row a poll`,
      ...{ ours: bytes / 1e6, baseline: (plain.bytes * size.days) / 1e6, unit: "MB" },
      bound: { of: "ratio", atMost: 1 / 20 },
    });
    rows.push({
      what: "  and their sessions",
      ...{ ours: bytesOf(store, ["sessions"]) / 1e6, baseline: null, unit: "MB", bound: null },
    });
    store.close();

    rows.push(...(await queries(main, size, plain)));
    // The same polls on both, in turns: a working day behind the year, and nothing before it.
    const times: [number, number][] = [];
    for (let turn = 0; turn <= TURNS; turn++) {
      const at = END + (9 + 2 * turn) * 60 * MINUTE;
      const ours = await ingest(main, year, size, at);
      const fresh = await ingest(join(directory, `fresh-${turn}`), year, size, at);
      // The first turn warms up.
      if (turn > 0) times.push([ours, fresh]);
    }
    const [ingestLast, ingestFirst] = [0, 1].map((which) =>
      median(times.map((pair) => pair[which] ?? Number.NaN)),
    );
    rows.push({
      what: `a cycle of ${size.servers} polls at the end, beside an empty store`,
      ...{ ours: ingestLast ?? Number.NaN, baseline: ingestFirst ?? Number.NaN, unit: "ms" },
      bound: { of: "ratio", atMost: 1.3 },
    });
    return rows;
  } finally {
    if (process.env.HISTORY_KEEP === undefined) rmSync(directory, { recursive: true, force: true });
    else console.error(`  kept in ${directory}`);
  }
}

function serversOf({ servers, features }: YearSize): MonitoredServer[] {
  return Array.from({ length: servers }, (_, at): MonitoredServer => {
    const id = nameOf({ servers, features, days: 0, end: 0 }, at * features).server;
    return {
      ...{
        id,
        name: id,
        manager: "flexnet",
        address: "27000@lic",
        tool: null,
        timezone: "UTC",
        enabled: true,
      },
      ...{ intervalMs: MINUTE, timeoutMs: 30_000, labels: {}, logFile: null },
    };
  });
}

/** Names and coverage of the whole range. */
async function prepare(store: Store, size: YearSize, first: number): Promise<void> {
  const insert = store.sqlite.query<null, [number, string, string, string]>(
    "INSERT INTO history_features (id, server_id, daemon, name) VALUES (?, ?, ?, ?)",
  );
  const server = store.sqlite.query<null, [string]>(
    "INSERT INTO servers (id, manager, address, name, first_seen, last_configured) VALUES (?, 'flexnet', '27000@lic', 'x', 0, 0)",
  );
  const coverage = store.sqlite.query<null, [string, number, number, number]>(
    "INSERT INTO coverage (server_id, from_at, read_at, until_at, running) VALUES (?, ?, ?, ?, 1)",
  );
  store.transaction(() => {
    for (const { id } of serversOf(size)) {
      server.run(id);
      coverage.run(id, first, END - MINUTE, END);
    }
    for (let index = 0; index < size.servers * size.features; index++) {
      const { server: id, daemon, feature } = nameOf(size, index);
      insert.run(index + 1, id, daemon, feature);
    }
  });
}

function writeUsers(store: Store, year: Year): void {
  const insert = store.sqlite.query<null, [number, string]>(
    "INSERT OR IGNORE INTO history_users (id, name) VALUES (?, ?)",
  );
  store.transaction(() => {
    for (const id of year.users.values()) insert.run(id, `user${String(id).padStart(5, "0")}`);
  });
}

/** Median ms of a cycle: every server polled once, each poll a transaction with its picture, sessions and counts. */
async function ingest(directory: string, year: Year, size: YearSize, at: number): Promise<number> {
  const store = openStore({ directory, log: SILENT });
  try {
    const clock = { time: at, now: () => clock.time };
    const room = createHistory({ store, clock, log: SILENT, timers: { set: () => null, clear() {} } });
    const servers = serversOf(size);
    const live = createLive({
      ...{ store, servers, clock, log: SILENT, recorder: room.recorder },
      commit: async (work) => store.transaction(() => work()),
      timers: { after: () => () => {} },
    });
    const times: number[] = [];
    for (let cycle = 0; cycle <= CYCLES; cycle++) {
      clock.time = at + cycle * MINUTE;
      const outcomes = servers.map((server, place) => pollOf(year, size, server, place, clock.time));
      Bun.gc(true);
      const begun = performance.now();
      for (const outcome of outcomes) await live.record(outcome, null);
      // The first one opens everything.
      if (cycle > 0) times.push(performance.now() - begun);
    }
    await live.stop();
    return median(times);
  } finally {
    store.close();
  }
}

function pollOf(year: Year, size: YearSize, server: MonitoredServer, place: number, at: number) {
  const features = Array.from({ length: size.features }, (_, number): FeatureReading => {
    const index = place * size.features + number;
    const { held, total } = year.weekOf(index, at).played;
    const now = held.filter(({ from, until }) => from <= at && at < until);
    return {
      ...{ daemon: "vendord", name: nameOf(size, index).feature, total, unlimited: false, error: null },
      ...{ pools: [], reservations: [], queue: [], consistency: "ok", cut: false },
      used: now.reduce((sum, { count }) => sum + count, 0),
      checkouts: now.map(({ user, from, count }) => ({
        ...{
          user: `user${user}`,
          host: `ws-${user}`,
          display: null,
          qualifier: null,
          version: "v2026.09",
          count,
        },
        ...{ handle: null, pid: null, startedAt: from, lingerSeconds: null, borrowed: false, pool: 0 },
      })),
    };
  });
  const empty = new Uint8Array();
  return {
    ...{
      serverId: server.id,
      startedAt: at - 40,
      finishedAt: at,
      durationMs: 40,
      error: null,
      reachability: [],
    },
    reading: wholeReading({
      ...{
        manager: "flexnet",
        reportTime: null,
        toolVersion: null,
        members: [],
        daemons: [],
        features,
        errors: [],
      },
    }),
    raw: { argv: [], exitCode: 0, signal: null, stdout: empty, stderr: empty, truncated: false },
  };
}

function bytesOf({ sqlite }: Pick<Store, "sqlite">, tables: readonly string[]): number {
  const size = sqlite.query<{ bytes: number }, [string]>(
    `SELECT sum(pgsize) AS bytes FROM dbstat WHERE name IN
       (SELECT name FROM sqlite_schema WHERE tbl_name IN (SELECT value FROM json_each(?)))`,
  );
  return size.get(JSON.stringify(tables))?.bytes ?? Number.NaN;
}

interface PlainDay {
  readonly path: string;
  readonly bytes: number;
}

/** One measured day as one row a poll, in the densest order. */
function plainDay(directory: string, year: Year, size: YearSize, dayAt: number): PlainDay {
  const path = join(directory, "plain.db");
  const sqlite = new Database(path, { create: true, strict: true });
  sqlite.run("PRAGMA journal_mode = OFF");
  sqlite.run("PRAGMA synchronous = OFF");
  sqlite.run(
    `CREATE TABLE polls (feature_id INTEGER NOT NULL, at INTEGER NOT NULL, total INTEGER, used INTEGER, reserved INTEGER,
       queued INTEGER, unlimited INTEGER NOT NULL, PRIMARY KEY (feature_id, at)) STRICT, WITHOUT ROWID`,
  );
  const insert = sqlite.query<null, [number, number, number, number]>(
    "INSERT INTO polls VALUES (?, ?, ?, ?, 0, 0, 0)",
  );
  sqlite.run("BEGIN");
  for (let index = 0; index < size.servers * size.features; index++) {
    const steps = year.samples(index, dayAt, dayAt + DAY);
    let at = 0;
    for (let minute = 0; minute < 1440; minute++) {
      const now = dayAt + minute * MINUTE;
      while (steps[at + 1] !== undefined && (steps[at + 1]?.at ?? 0) < now + MINUTE) at++;
      insert.run(index + 1, now + 417, steps[at]?.total ?? 0, steps[at]?.used ?? 0);
    }
  }
  sqlite.run("COMMIT");
  const bytes = bytesOf({ sqlite }, ["polls"]);
  sqlite.close();
  return { path, bytes };
}

async function queries(directory: string, size: YearSize, plain: PlainDay): Promise<Row[]> {
  const clock = { now: () => END };
  const client = createHistoryClient({ path: join(directory, "licmond.db"), clock, log: SILENT });
  const sqlite = new Database(plain.path, { readonly: true });
  const asked = {
    now: END,
    intervals: Object.fromEntries(serversOf(size).map(({ id, intervalMs }) => [id, intervalMs])),
  };
  const days = (count: number) => ({ start: END - Math.min(count, size.days) * DAY, end: END });
  const named = (index: number) => {
    const { server, feature } = nameOf(size, index);
    return { servers: [server], features: [feature] };
  };
  const stats = { ...asked, timezone: "UTC", sort: null, limit: null, offset: 0 };
  const some = Array.from({ length: 20 }, (_, at) => (at * 7) % (size.servers * size.features));
  const everything = { servers: null, features: null };
  const rows: Row[] = [];

  async function row(
    what: string,
    bound: { p95?: boolean; ms: number },
    asks: readonly (() => Promise<unknown>)[],
    scanMs: number,
  ): Promise<void> {
    const times: number[] = [];
    await client.query("reach", null);
    const stall = await longestStall(async () => {
      for (const ask of asks) {
        const begun = performance.now();
        await ask();
        times.push(performance.now() - begun);
      }
    });
    const ours = bound.p95 === true ? quantile(times, 0.95) : median(times);
    rows.push({ what, ours, baseline: scanMs, unit: "ms", bound: { of: "ours", atMost: bound.ms } });
    rows.push({
      what: "  stall of the event loop meanwhile",
      ...{ ours: stall, baseline: null, unit: "ms", bound: { of: "ours", atMost: 20 } },
    });
  }
  /** The plain table's day, scanned in SQL: times the days is what the range would take. */
  const scan = (where: string, count: number): number => {
    const begun = performance.now();
    sqlite.query(`SELECT feature_id, avg(used), max(used) FROM polls ${where} GROUP BY feature_id`).all();
    return (performance.now() - begun) * Math.min(count, size.days);
  };
  const one = "WHERE feature_id = 8";
  try {
    await row(
      "stats of one feature over a year, p95",
      { p95: true, ms: 50 },
      some.map(
        (index) => () =>
          client.query("stats", {
            ...stats,
            ...days(365),
            filter: named(index),
            interval: null,
            series: true,
          }),
      ),
      scan(one, 365),
    );
    await row(
      "stats of all features over a month",
      { ms: 1_000 },
      [1, 2, 3].map(
        () => () =>
          client.query("stats", { ...stats, ...days(30), filter: everything, interval: null, series: false }),
      ),
      scan("", 30),
    );
    await row(
      "heat map of a feature over a year",
      { ms: 500 },
      some
        .slice(0, 5)
        .map(
          (index) => () =>
            client.query("heatmap", { ...days(365), filter: named(index), timezone: "Europe/Berlin" }),
        ),
      scan(one, 365),
    );
    await row(
      "efficiency of a feature over a year",
      { ms: 500 },
      some.slice(0, 5).map(
        (index) => () =>
          client.query("efficiency", {
            ...asked,
            ...days(365),
            filter: named(index),
            limit: 100,
            offset: 0,
          }),
      ),
      scan(one, 365),
    );
    return rows;
  } finally {
    client.stop();
    sqlite.close();
  }
}

if (import.meta.main) console.log(tableOf(await history.run()));
