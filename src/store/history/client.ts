import type { Clock } from "../../domain/clock.ts";
import type { Log } from "../../domain/log.ts";
import { StoreError } from "../store-error.ts";
import type { Failure, FromWorker, ToWorker } from "./protocol.ts";
import type { QueryName, QueryParams, QueryResult } from "./queries.ts";

/** A query that is not answered by then is given up. */
const DEFAULT_TIMEOUT_MS = 30_000;
/** Queries that wait for the worker: more than this is refused at once. */
const MAX_WAITING = 500;

/** History from the main thread: it never waits for the database, a worker with a connection of its own reads. */
export interface HistoryClient {
  /**
   * Rejects with a StoreError (the database; `BUSY` also when too many queries wait), a HistoryTimeout, the reason
   * of `signal`, or an Error that tells of a bug.
   */
  query<Name extends QueryName>(
    name: Name,
    params: QueryParams<Name>,
    options?: { readonly signal?: AbortSignal; readonly timeoutMs?: number },
  ): Promise<QueryResult<Name>>;
  /** Ends the worker; what waits is rejected. */
  stop(): void;
}

/** A query took longer than it may. */
export class HistoryTimeout extends Error {
  override readonly name = "HistoryTimeout";
}

export interface HistoryClientDeps {
  /** The database file. */
  readonly path: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Starts the worker; tests give their own. */
  readonly startWorker?: () => Worker;
}

interface Waiting {
  readonly cancelled: Int32Array;
  settle(outcome: { value: unknown } | { error: unknown }): void;
}

/** The worker is an entry point of its own, which in the binary lies beside the program's. */
function startHistoryWorker(): Worker {
  return new Worker(
    Bun.isStandaloneExecutable
      ? "./workers/history.ts"
      : new URL("../../workers/history.ts", import.meta.url).href,
  );
}

export function createHistoryClient({
  path,
  clock,
  log,
  startWorker = startHistoryWorker,
}: HistoryClientDeps): HistoryClient {
  const waiting = new Map<number, Waiting>();
  let worker: Worker | null = null;
  let lastId = 0;
  let stopped = false;

  /** The worker that runs, or a new one: after its death the next query starts it again. */
  function running(): Worker {
    if (worker !== null) return worker;
    const fresh = startWorker();
    const died = (reason: string) => {
      if (worker !== fresh) return;
      worker = null;
      if (!stopped)
        log.error("The worker of history ended, the next query starts it again", { error: reason });
      failAll(new StoreError("IO", "The query of history ended half-way", "Ask again; see the log."));
    };
    fresh.onmessage = ({ data }: MessageEvent<FromWorker>) => {
      waiting
        .get(data.id)
        ?.settle(data.type === "result" ? { value: data.value } : { error: asError(data.failure) });
    };
    fresh.onerror = (event) => {
      event.preventDefault();
      fresh.terminate();
      died(event.message);
    };
    fresh.addEventListener("close", () => died("closed"));
    // It must not keep the process alive.
    fresh.unref();
    worker = fresh;
    fresh.postMessage({ type: "open", path } satisfies ToWorker);
    return fresh;
  }

  function failAll(error: unknown): void {
    for (const one of [...waiting.values()]) one.settle({ error });
  }

  return {
    query(name, params, { signal, timeoutMs = DEFAULT_TIMEOUT_MS } = {}) {
      if (stopped) return Promise.reject(closed(path));
      if (signal?.aborted === true) return Promise.reject(signal.reason);
      if (waiting.size >= MAX_WAITING) return Promise.reject(overloaded());
      const id = ++lastId;
      const shared = new SharedArrayBuffer(4);
      const cancelled = new Int32Array(shared);
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      const giveUp = (error: unknown) => {
        Atomics.store(cancelled, 0, 1);
        entry.settle({ error });
      };
      const abort = () => giveUp(signal?.reason);
      // The worker keeps the time too, between pieces of work; this is for one that is stuck or busy with others.
      const timer = setTimeout(() => giveUp(late(timeoutMs)), timeoutMs);
      const entry: Waiting = {
        cancelled,
        settle(outcome) {
          if (!waiting.delete(id)) return;
          clearTimeout(timer);
          signal?.removeEventListener("abort", abort);
          if ("error" in outcome) reject(outcome.error);
          else resolve(outcome.value);
        },
      };
      signal?.addEventListener("abort", abort, { once: true });
      waiting.set(id, entry);
      try {
        const ask: ToWorker = {
          ...{ type: "query", id, name, params, timeoutMs, cancelled: shared },
          now: clock.now(),
        };
        running().postMessage(ask);
      } catch (error) {
        entry.settle({ error });
      }
      // The name decides on the type of the answer: see QUERIES.
      return promise as Promise<QueryResult<typeof name>>;
    },
    stop() {
      stopped = true;
      worker?.terminate();
      worker = null;
      failAll(closed(path));
    },
  };
}

function asError(failure: Failure): Error {
  switch (failure.kind) {
    case "store":
      return new StoreError(failure.code, failure.message, failure.fix);
    case "timeout":
      return new HistoryTimeout(failure.message);
    case "cancelled":
    case "bug":
      return new Error(failure.message);
  }
}

function late(timeoutMs: number): HistoryTimeout {
  return new HistoryTimeout(`The query of history took longer than ${timeoutMs / 1000} s`);
}

function closed(path: string): StoreError {
  return new StoreError("CLOSED", `The history of ${path} is closed`, "Start licmond again.");
}

function overloaded(): StoreError {
  return new StoreError("BUSY", "Too many queries of history wait for an answer", "Ask again later.");
}
