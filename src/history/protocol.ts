import type { StoreErrorCode } from "../store/database/store-error.ts";
import type { Reader } from "./reader.ts";

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
