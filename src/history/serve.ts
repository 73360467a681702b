import { Database } from "bun:sqlite";
import { messageOf } from "../domain/error-code.ts";
import { asStoreError } from "../store/database/store-error.ts";
import type { Failure, FromWorker, QueryTable, ToWorker } from "./protocol.ts";
import { createReader, type Reader } from "./reader.ts";

/** The time is up. */
class TooLate extends Error {}

export interface HistoryServer {
  /** Takes a message of the main thread; the answer to a query goes to `post`. */
  take(message: ToWorker): void;
}

/**
 * The worker's side of the protocol: the client asks one query after the other, each has a read transaction of its own. What `post` is
 * told to hand over is memory that goes to the other thread instead of being copied.
 */
export function createHistoryServer(
  post: (message: FromWorker, handedOver: ArrayBuffer[]) => void,
  queries: QueryTable,
): HistoryServer {
  let path = "";
  let database: Database | null = null;

  /** The connection; opened anew after an error, because the file may have been replaced. */
  function connection(): Database {
    if (database !== null) return database;
    const opened = new Database(path, { readonly: true, strict: true });
    opened.run("PRAGMA busy_timeout = 5000");
    opened.run("PRAGMA query_only = ON");
    opened.run("PRAGMA cache_size = -32000");
    opened.run("PRAGMA temp_store = MEMORY");
    database = opened;
    return opened;
  }

  async function answer(asked: Extract<ToWorker, { type: "query" }>): Promise<unknown> {
    const { name, params, now, timeoutMs, cancelled } = asked;
    const flag = new Int32Array(cancelled);
    const deadline = performance.now() + timeoutMs;
    const checkpoint = () => {
      if (Atomics.load(flag, 0) !== 0) throw new Error("nobody waits for the answer");
      if (performance.now() > deadline)
        throw new TooLate(`The query of history took longer than ${timeoutMs / 1000} s`);
    };
    checkpoint();
    if (!Object.hasOwn(queries, name)) throw new Error(`There is no query of history named ${name}`);
    // The client's types tie each name to its parameters; here any name may come.
    const query = queries[name] as (read: Reader, params: unknown) => unknown;
    const sqlite = connection();
    sqlite.run("BEGIN");
    try {
      return await query(createReader(sqlite, { now, checkpoint }), params);
    } finally {
      if (sqlite.inTransaction) sqlite.run("ROLLBACK");
    }
  }

  function failureOf(error: unknown): Failure {
    const store = asStoreError(error, path);
    if (store === null) return { message: messageOf(error), timeout: error instanceof TooLate, store };
    database?.close();
    database = null;
    const { code, message, fix } = store;
    return { message, timeout: false, store: { code, fix } };
  }

  return {
    take(message) {
      if (message.type === "open") {
        database?.close();
        database = null;
        path = message.path;
        return;
      }
      const { id } = message;
      answer(message)
        .then((value) => post({ type: "result", id, value }, bytesIn(value)))
        .catch((error) => post({ type: "failed", id, failure: failureOf(error) }, []));
    },
  };
}

/** The bytes of a finished answer. */
function bytesIn(value: unknown): ArrayBuffer[] {
  if (typeof value !== "object" || value === null || !("body" in value)) return [];
  const { body } = value;
  return body instanceof Uint8Array && body.buffer instanceof ArrayBuffer ? [body.buffer] : [];
}
