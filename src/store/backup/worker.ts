import type { Database } from "bun:sqlite";
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { messageOf } from "../../domain/error-code.ts";
import { assertOurs, schemaVersion } from "../database/migrate.ts";
import { copyBoth } from "../database/precious.ts";
import { copyDatabase, openUntouched, tableNames } from "../database/read-only.ts";
import { asStoreError, corrupt, StoreError, type StoreErrorCode } from "../database/store-error.ts";
import { MIGRATIONS, STATE_MIGRATIONS } from "../migrations/migrations.ts";
import { assertWhole } from "../open/start-check.ts";

const TASKS = { copyBoth, copyDatabase, examineDatabase };
type Tasks = typeof TASKS;

/** Messages between the main thread and the worker. `code` null means a bug, not a store error. */
export type Asked = { readonly task: keyof Tasks; readonly args: readonly unknown[] };
type Answered = { result: unknown } | { code: StoreErrorCode | null; message: string; fix: string };

/**
 * Runs a task in a worker thread, so that the caller can show progress and cancel. Rejects with a
 * StoreError, or with the signal's reason once the signal is aborted.
 */
export async function inWorker<Name extends keyof Tasks>(
  signal: AbortSignal,
  task: Name,
  ...args: Parameters<Tasks[Name]>
): Promise<ReturnType<Tasks[Name]>> {
  signal.throwIfAborted();
  // The path of a separate entry point, which the binary embeds next to the program.
  const worker = new Worker(
    Bun.isStandaloneExecutable
      ? "./workers/backup.ts"
      : new URL("../../workers/backup.ts", import.meta.url).href,
  );
  try {
    const answered = await new Promise<Answered>((resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      worker.onmessage = ({ data }: MessageEvent<Answered>) => resolve(data);
      worker.onerror = (event) => {
        event.preventDefault();
        reject(new Error(event.message));
      };
      worker.postMessage({ task, args } satisfies Asked);
    });
    if ("result" in answered) return answered.result as ReturnType<Tasks[Name]>;
    const { code, message, fix } = answered;
    throw code === null ? new Error(message) : new StoreError(code, message, fix);
  } finally {
    worker.terminate();
  }
}

export function answer({ task, args }: Asked): Answered {
  try {
    return { result: (TASKS[task] as (...args: readonly unknown[]) => unknown)(...args) };
  } catch (error) {
    if (error instanceof StoreError) return { code: error.code, message: error.message, fix: error.fix };
    return { code: null, message: messageOf(error), fix: "" };
  }
}

export interface DatabaseReport {
  readonly path: string;
  readonly bytes: number;
  readonly schemaVersion: number;
  readonly knownSchema: number;
  /** Rows of all tables except those of the search index. */
  readonly rows: number;
  readonly tables: readonly { readonly name: string; readonly rows: number }[];
  readonly keys: number;
  /** Time of the oldest and newest collected data, epoch ms; null if nothing was collected. */
  readonly oldestAt: number | null;
  readonly newestAt: number | null;
  readonly isState: boolean;
}

/**
 * Queries for the oldest and newest time of each table. Each query is cheap: it reads the edge of a key, or
 * a small table.
 */
const TIMES: Readonly<Record<string, string>> = {
  coverage: "SELECT min(from_at), max(read_at) FROM coverage",
  events: "SELECT (SELECT at FROM events ORDER BY id), (SELECT at FROM events ORDER BY id DESC)",
  pictures: "SELECT NULL, max(saved_at) FROM pictures",
};

/**
 * Reads a whole database file (a backup, or a daily one of state.db) and reports its contents. Changes
 * neither the file nor files next to it. Throws StoreError: `CORRUPT`, `FOREIGN`, `NEWER`, `NOT_WRITABLE`
 * (the file cannot be opened), `IO`.
 */
export function examineDatabase(file: string): DatabaseReport {
  const path = resolve(file);
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat?.isFile() !== true) {
    const message = stat === undefined ? `${path} does not exist` : `${path} is not a file`;
    throw new StoreError("IO", message, "Name the file of a backup.");
  }
  try {
    using sqlite = openUntouched(path);
    const names = tableNames(sqlite);
    const isState = names.includes("api_keys") && !names.includes("servers");
    const migrations = isState ? STATE_MIGRATIONS : MIGRATIONS;
    assertOurs(sqlite, path, migrations);
    const version = schemaVersion(sqlite);
    if (version === 0) throw corrupt(path, `${path} is empty, not a licmond database`);
    assertWhole(sqlite, path);
    const schema = { schemaVersion: version, knownSchema: migrations.length };
    return { path, bytes: stat.size, ...schema, isState, ...contentsOf(sqlite) };
  } catch (error) {
    const known = asStoreError(error, path);
    // Replace the error's fix, which is about the daemon's database.
    if (known?.code === "CORRUPT" || known?.code === "FOREIGN")
      throw new StoreError(known.code, known.message, "Name another backup.", error);
    throw known ?? error;
  }
}

function contentsOf(sqlite: Database) {
  const names = tableNames(sqlite);
  const count = (table: string) =>
    sqlite.query<{ n: number }, []>(`SELECT count(*) AS n FROM ${table}`).get()?.n ?? 0;
  const tables = names.map((name) => ({ name, rows: count(`"${name}"`) }));
  const times = ["SELECT NULL AS oldest, NULL AS newest", ...names.flatMap((name) => TIMES[name] ?? [])];
  const edges = sqlite.query<Pick<DatabaseReport, "oldestAt" | "newestAt">, []>(
    `SELECT min(oldest) AS oldestAt, max(newest) AS newestAt
       FROM (${times.join(" UNION ALL ")})`,
  );
  return {
    rows: tables.reduce((sum, { rows }) => sum + rows, 0),
    tables,
    keys: names.includes("api_keys") ? count("api_keys WHERE revoked_at IS NULL") : 0,
    ...(edges.get() ?? { oldestAt: null, newestAt: null }),
  };
}
