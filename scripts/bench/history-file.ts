import { Database } from "bun:sqlite";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { MonitoredServer } from "../../src/domain/server.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/domain/time/clock.ts";
import { createDirty } from "../../src/history/buckets.ts";
import type { HistoryClient } from "../../src/history/client.ts";
import { createDayPacker, DAY_QUERIES, type DayQueries } from "../../src/history/day-packer.ts";
import { createReader } from "../../src/history/reader.ts";
import type { QueryParams } from "../../src/history/serve.ts";
import { openStore, type Store } from "../../src/store/open/open.ts";
import { server } from "../../test/domain/make.ts";
import {
  createYear,
  nameOf,
  userName,
  writeDay,
  writeDenials,
  writeSessions,
  type Year,
  type YearSize,
} from "./history-year.ts";

export const SILENT = { debug() {}, info() {}, warn: console.error, error: console.error };

/**
 * Name of the file with the size of a generated history. It is written last, so its presence means that the
 * history is complete.
 */
const NOTE = "size.json";

/** A generated history: a store, and its last day as one row per poll. */
export interface HistoryFile {
  /** Directory of the store. */
  readonly store: string;
  readonly plain: PlainDay;
}

interface PlainDay {
  readonly path: string;
  readonly bytes: number;
}

/** Returns the history in a directory, or generates one in an empty directory. Throws if the directory has something else. */
export async function historyFile(directory: string, size: YearSize, year: Year): Promise<HistoryFile> {
  mkdirSync(directory, { recursive: true });
  const note = join(directory, NOTE);
  const wanted = JSON.stringify(size);
  const path = join(directory, "plain.db");
  const store = join(directory, "year");
  if (!existsSync(note)) {
    if (readdirSync(directory).length > 0)
      throw new Error(`${directory} has no complete history: delete it, or name an empty directory`);
    await generate(store, size, year);
    writePlainDay(path, size, year);
    writeFileSync(note, wanted);
  }
  const found = readFileSync(note, "utf8");
  if (found !== wanted) throw new Error(`${directory} has another history: ${found}, not ${wanted}`);
  const plain = new Database(path, { readonly: true });
  try {
    return { store, plain: { path, bytes: bytesOf(plain, ["polls"]) } };
  } finally {
    plain.close();
  }
}

/** Returns the size of tables with their indexes. */
export function bytesOf(sqlite: Database, tables: readonly string[]): number {
  const size = sqlite.query<{ bytes: number }, [string]>(
    `SELECT sum(pgsize) AS bytes FROM dbstat WHERE name IN
       (SELECT name FROM sqlite_schema WHERE tbl_name IN (SELECT value FROM json_each(?)))`,
  );
  return size.get(JSON.stringify(tables))?.bytes ?? Number.NaN;
}

export function serversOf({ servers, features }: YearSize): MonitoredServer[] {
  return Array.from({ length: servers }, (_, at) => {
    const id = nameOf({ servers, features, days: 0, end: 0 }, at * features).server;
    return server({ id, name: id, address: "27000@lic" });
  });
}

/** A failed file is generated again, so skip the journal and create indexes last. */
async function generate(directory: string, size: YearSize, year: Year): Promise<void> {
  const store = openStore({ directory, log: SILENT });
  const { sqlite } = store;
  try {
    for (const pragma of [
      "journal_mode = OFF",
      "synchronous = OFF",
      "foreign_keys = OFF",
      "cache_size = -400000",
    ])
      sqlite.run(`PRAGMA ${pragma}`);
    const later = sqlite
      .query<{ name: string; sql: string }, []>(
        `SELECT name, sql FROM sqlite_schema
         WHERE sql IS NOT NULL AND (tbl_name IN ('sessions', 'denials') AND type IN ('index', 'trigger'))`,
      )
      .all();
    for (const { name, sql } of later)
      sqlite.run(sql.startsWith("CREATE TRIGGER") ? `DROP TRIGGER ${name}` : `DROP INDEX ${name}`);
    const first = size.end - size.days * DAY_MS;
    writeNames(store, size, first);
    const begun = performance.now();
    const seconds = () => ((performance.now() - begun) / 1000).toFixed(0);
    for (let day = 0; day < size.days; day++) {
      const dayAt = first + day * DAY_MS;
      writeDay(store, year, size, dayAt);
      writeSessions(store, year, size, dayAt);
      writeDenials(store, year, size, dayAt);
      if (day % 30 === 29) console.error(`  day ${day + 1}, ${seconds()} s`);
    }
    writeUsers(store, year);
    for (const { sql } of later) sqlite.run(sql);
    console.error(`  sums of days, ${seconds()} s`);
    await writeSums(store, size);
    sqlite.run("PRAGMA journal_mode = WAL");
    console.error(`  ${size.days} days, ${seconds()} s`);
  } finally {
    store.close();
  }
}

/** Writes names, and coverage of the whole range. */
function writeNames(store: Store, size: YearSize, first: number): void {
  const insert = store.sqlite.query<null, [number, string, string, string]>(
    "INSERT INTO history_features (id, server_id, daemon, name) VALUES (?, ?, ?, ?)",
  );
  const server = store.sqlite.query<null, [string]>(
    "INSERT INTO servers (id, manager, address, name, first_seen, last_configured) VALUES (?, 'flexnet', '27000@lic', 'x', 0, 0)",
  );
  const coverage = store.sqlite.query<null, [string, number, number, number]>(
    "INSERT INTO coverage (server_id, from_at, read_at, until_at, running) VALUES (?, ?, ?, ?, 1)",
  );
  // Each server is silent for five minutes twice a day.
  const status = store.sqlite.query<null, [string, number, string, number]>(
    `INSERT INTO server_statuses (server_id, from_at, status, read_at, until_at, next_by) VALUES (?1, ?2, ?3, ?4, ?4, ?4)`,
  );
  const span = store.sqlite.query<null, [string, number]>(
    "INSERT INTO denial_spans (server_id, from_at) VALUES (?, ?)",
  );
  store.transaction(() => {
    for (const { id } of serversOf(size)) {
      server.run(id);
      coverage.run(id, first, size.end - MINUTE_MS, size.end);
      for (let at = first; at < size.end; at += DAY_MS / 2) {
        status.run(id, at, "up", at + DAY_MS / 2 - 5 * MINUTE_MS);
        status.run(id, at + DAY_MS / 2 - 5 * MINUTE_MS, "down", at + DAY_MS / 2);
      }
      span.run(id, first);
    }
    for (let index = 0; index < size.servers * size.features; index++) {
      const { server: id, daemon, feature } = nameOf(size, index);
      insert.run(index + 1, id, daemon, feature);
    }
  });
}

/** Writes the sums that the daemon makes of each finished day. */
async function writeSums(store: Store, { servers, features, days, end }: YearSize): Promise<void> {
  const polled = serversOf({ servers, features, days: 0, end });
  const ask = async (name: keyof DayQueries, asked: QueryParams<DayQueries, keyof DayQueries>) =>
    await DAY_QUERIES[name](createReader(store.sqlite, { now: end }), asked);
  const first = end - days * DAY_MS;
  store.transaction(() => {
    for (const kind of ["held", "site"] as const) createDirty(store).mark(kind, first, end - 1);
  });
  const step = createDayPacker({
    store,
    clock: { now: () => end + HOUR_MS },
    intervals: () => Object.fromEntries(polled.map(({ id, intervalMs }) => [id, intervalMs])),
    query: ask as HistoryClient<DayQueries>["query"],
  });
  while (await step());
}

function writeUsers(store: Store, year: Year): void {
  const insert = store.sqlite.query<null, [number, string]>(
    "INSERT OR IGNORE INTO history_users (id, name) VALUES (?, ?)",
  );
  store.transaction(() => {
    for (const id of year.users.values()) insert.run(id, userName(id));
  });
}

/** Writes the last day as one row per poll, in the densest order. */
function writePlainDay(path: string, size: YearSize, year: Year): void {
  const dayAt = size.end - DAY_MS;
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
    const steps = year.samples(index, dayAt, dayAt + DAY_MS);
    let at = 0;
    for (let minute = 0; minute < 1440; minute++) {
      const now = dayAt + minute * MINUTE_MS;
      while (steps[at + 1] !== undefined && (steps[at + 1]?.at ?? 0) < now + MINUTE_MS) at++;
      insert.run(index + 1, now + 417, steps[at]?.total ?? 0, steps[at]?.used ?? 0);
    }
  }
  sqlite.run("COMMIT");
  sqlite.close();
}

if (import.meta.main) {
  const [directory = "", text = "100,50,365"] = process.argv.slice(2);
  const [servers = 1, features = 1, days = 1] = text.split(",").map(Number);
  await historyFile(
    directory,
    { servers, features, days, end: Date.parse("2026-09-30T00:00:00Z") },
    createYear(),
  );
}
