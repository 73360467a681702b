import { Database } from "bun:sqlite";
import { messageOf } from "../domain/error-code.ts";
import { attachState } from "../store/database/read-only.ts";
import { asStoreError, type StoreError, type StoreErrorCode } from "../store/database/store-error.ts";
import { createReader, type Reader } from "./reader.ts";

/**
 * Queries that run in the worker. Parameters and results cross threads by structured clone, so both must be
 * plain data. A `body` of bytes is transferred.
 */
export type QueryTable<Source = never> = Readonly<Record<string, (source: Source, params: never) => unknown>>;
export type QueryName<Queries extends QueryTable> = keyof Queries & string;
export type QueryParams<Queries extends QueryTable, Name extends QueryName<Queries>> = Parameters<
  Queries[Name]
>[1];
export type QueryResult<Queries extends QueryTable, Name extends QueryName<Queries>> = Awaited<
  ReturnType<Queries[Name]>
>;

export interface ToWorker {
  readonly id: number;
  readonly path: string;
  readonly name: string;
  readonly params: unknown;
  readonly now: number;
  readonly timeoutMs: number;
  /**
   * One number in shared memory, which is set to 1 when the query is abandoned; a busy worker would not
   * read a message.
   */
  readonly cancelled: SharedArrayBuffer;
}

export type FromWorker =
  | { readonly type: "result"; readonly id: number; readonly value: unknown }
  | { readonly type: "failed"; readonly id: number; readonly failure: Failure };

/** A failure that is neither a timeout nor a store error: the query was abandoned, or there is a bug. */
export interface Failure {
  readonly message: string;
  readonly timeout: boolean;
  readonly store: { readonly code: StoreErrorCode; readonly fix: string } | null;
}

export class TooMuch extends Error {}

export interface Backend<Source> {
  /** `checkpoint` throws if the client has gone or the time is up. */
  run(
    asked: ToWorker,
    checkpoint: () => void,
    query: (source: Source) => unknown,
  ): Promise<unknown> | unknown;
  /**
   * Returns the store error behind an error, if there is one. After a store error, the store is opened
   * again.
   */
  troubleOf(error: unknown, asked: ToWorker): StoreError | null;
}

export function sqliteBackend(): Backend<Reader> {
  let open: { readonly path: string; readonly sqlite: Database } | null = null;

  /** Opens a new connection after an error, because the file may have been replaced. */
  function connection(path: string): Database {
    if (open?.path === path) return open.sqlite;
    open?.sqlite.close();
    open = null;
    const sqlite = new Database(path, { readonly: true, strict: true });
    sqlite.run("PRAGMA busy_timeout = 5000; PRAGMA query_only = ON");
    sqlite.run("PRAGMA cache_size = -32000; PRAGMA temp_store = MEMORY");
    attachState(sqlite, path);
    open = { path, sqlite };
    return sqlite;
  }

  return {
    async run({ path, now }, checkpoint, query) {
      const sqlite = connection(path);
      sqlite.run("BEGIN");
      try {
        return await query(createReader(sqlite, { now, checkpoint }));
      } finally {
        if (sqlite.inTransaction) sqlite.run("ROLLBACK");
      }
    },
    troubleOf(error, { path }) {
      const store = asStoreError(error, path);
      if (store === null) return null;
      open?.sqlite.close();
      open = null;
      return store;
    },
  };
}

export function serveHistory<Source>(
  worker: Worker,
  queries: QueryTable<Source>,
  backend: Backend<Source>,
): void {
  async function answer(asked: ToWorker): Promise<unknown> {
    const { name, params, timeoutMs, cancelled } = asked;
    const flag = new Int32Array(cancelled);
    const deadline = performance.now() + timeoutMs;
    const checkpoint = () => {
      if (Atomics.load(flag, 0) !== 0) throw new Error("The query was abandoned");
      if (performance.now() > deadline)
        throw new TooMuch(`The history query took longer than ${timeoutMs / 1000} s`);
    };
    checkpoint();
    if (!Object.hasOwn(queries, name)) throw new Error(`Unknown history query ${name}`);
    // The client's types tie each name to its parameters, but here any name may arrive.
    const query = queries[name] as (source: Source, params: unknown) => unknown;
    return backend.run(asked, checkpoint, (source) => query(source, params));
  }

  function failureOf(error: unknown, asked: ToWorker): Failure {
    const store = backend.troubleOf(error, asked);
    if (store === null) return { message: messageOf(error), timeout: error instanceof TooMuch, store };
    const { code, message, fix } = store;
    return { message, timeout: false, store: { code, fix } };
  }

  const post = (message: FromWorker, bytes: ArrayBuffer[] = []) => worker.postMessage(message, bytes);

  worker.onmessage = ({ data }: MessageEvent<ToWorker>) => {
    const { id } = data;
    answer(data)
      .then((value) => post({ type: "result", id, value }, bytesIn(value)))
      .catch((error) => post({ type: "failed", id, failure: failureOf(error, data) }));
  };
}

function bytesIn(value: unknown): ArrayBuffer[] {
  if (typeof value !== "object" || value === null || !("body" in value)) return [];
  const { body } = value;
  return body instanceof Uint8Array && body.buffer instanceof ArrayBuffer ? [body.buffer] : [];
}
