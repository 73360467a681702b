import { Database } from "bun:sqlite";
import { messageOf } from "../domain/error-code.ts";
import { asStoreError, type StoreErrorCode } from "../store/database/store-error.ts";
import { createReader, type Reader } from "./reader.ts";

/**
 * Named queries of history, run in the worker: each takes the read side and plain parameters, and answers plain data
 * (both cross a thread: structured clone; a `body` of bytes is handed over). The worker's entry point says which there
 * are.
 */
export type QueryTable = Readonly<Record<string, (read: Reader, params: never) => unknown>>;
export type QueryName<Queries extends QueryTable> = keyof Queries & string;
export type QueryParams<Queries extends QueryTable, Name extends QueryName<Queries>> = Parameters<
  Queries[Name]
>[1];
export type QueryResult<Queries extends QueryTable, Name extends QueryName<Queries>> = Awaited<
  ReturnType<Queries[Name]>
>;

/** One query, as it crosses to the worker of history. */
export interface ToWorker {
  readonly id: number;
  /** The database file. */
  readonly path: string;
  readonly name: string;
  readonly params: unknown;
  /** Epoch ms of the client's clock: what lies behind has not been seen. */
  readonly now: number;
  readonly timeoutMs: number;
  /** One number, set to 1 when the answer is no longer wanted: a busy worker reads no messages. */
  readonly cancelled: SharedArrayBuffer;
}

export type FromWorker =
  | { readonly type: "result"; readonly id: number; readonly value: unknown }
  | { readonly type: "failed"; readonly id: number; readonly failure: Failure };

/** What went wrong. Neither a timeout nor of the store: the answer is no longer wanted, or there is a bug. */
export interface Failure {
  readonly message: string;
  readonly timeout: boolean;
  readonly store: { readonly code: StoreErrorCode; readonly fix: string } | null;
}

/** The time is up. */
class TooLate extends Error {}

/**
 * The worker's side of the protocol: the client asks one query after the other, and each has a read transaction of its
 * own.
 */
export function serveHistory(worker: Worker, queries: QueryTable): void {
  let open: { readonly path: string; readonly sqlite: Database } | null = null;

  /** The connection; a new one after an error, because the file may have been replaced. */
  function connection(path: string): Database {
    if (open?.path === path) return open.sqlite;
    open?.sqlite.close();
    open = null;
    const sqlite = new Database(path, { readonly: true, strict: true });
    sqlite.run("PRAGMA busy_timeout = 5000; PRAGMA query_only = ON");
    sqlite.run("PRAGMA cache_size = -32000; PRAGMA temp_store = MEMORY");
    open = { path, sqlite };
    return sqlite;
  }

  async function answer({ path, name, params, now, timeoutMs, cancelled }: ToWorker): Promise<unknown> {
    const flag = new Int32Array(cancelled);
    const deadline = performance.now() + timeoutMs;
    const checkpoint = () => {
      if (Atomics.load(flag, 0) !== 0) throw new Error("The answer is no longer wanted");
      if (performance.now() > deadline)
        throw new TooLate(`The query of history took longer than ${timeoutMs / 1000} s`);
    };
    checkpoint();
    if (!Object.hasOwn(queries, name)) throw new Error(`There is no query of history named ${name}`);
    // The client's types tie each name to its parameters; here any name may come.
    const query = queries[name] as (read: Reader, params: unknown) => unknown;
    const sqlite = connection(path);
    sqlite.run("BEGIN");
    try {
      return await query(createReader(sqlite, { now, checkpoint }), params);
    } finally {
      if (sqlite.inTransaction) sqlite.run("ROLLBACK");
    }
  }

  function failureOf(error: unknown, path: string): Failure {
    const store = asStoreError(error, path);
    if (store === null) return { message: messageOf(error), timeout: error instanceof TooLate, store };
    open?.sqlite.close();
    open = null;
    const { code, message, fix } = store;
    return { message, timeout: false, store: { code, fix } };
  }

  /** The bytes of a finished answer go to the other thread without a copy. */
  const post = (message: FromWorker, bytes: ArrayBuffer[] = []) => worker.postMessage(message, bytes);

  worker.onmessage = ({ data }: MessageEvent<ToWorker>) => {
    const { id, path } = data;
    answer(data)
      .then((value) => post({ type: "result", id, value }, bytesIn(value)))
      .catch((error) => post({ type: "failed", id, failure: failureOf(error, path) }));
  };
}

function bytesIn(value: unknown): ArrayBuffer[] {
  if (typeof value !== "object" || value === null || !("body" in value)) return [];
  const { body } = value;
  return body instanceof Uint8Array && body.buffer instanceof ArrayBuffer ? [body.buffer] : [];
}
