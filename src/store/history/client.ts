import type { Clock } from "../../domain/clock.ts";
import type { Log } from "../../domain/log.ts";
import { StoreError } from "../store-error.ts";
import type { Failure, FromWorker, ToWorker } from "./protocol.ts";
import type { QUERIES, QueryName, QueryParams, QueryResult, QueryTable } from "./queries.ts";
import { createTurns } from "./turns.ts";

/** A query that is not answered by then is given up: before the HTTP side cuts the silent connection, after 30 s. */
const DEFAULT_TIMEOUT_MS = 25_000;
/** Queries that wait for the worker: more than this is refused at once. */
const MAX_WAITING = 500;
/** A worker that goes on with what nobody wants for longer than this is stuck in one statement. */
const STUCK_MS = 1_000;
/** Workers that were given up and whose statement still runs: with so many, who asks has to wait. */
const MAX_STUCK = 3;

/** History from the main thread: it never waits for the database, a worker with a connection of its own reads. */
export interface HistoryClient<Queries extends QueryTable = typeof QUERIES> {
  /**
   * One after the other, in turn by `who` asks: who has many questions waits for himself.
   * Rejects with a StoreError (the database; `BUSY` also when too many queries wait), a HistoryTimeout, the reason
   * of `signal`, or an Error that tells of a bug.
   */
  query<Name extends QueryName<Queries>>(
    name: Name,
    params: QueryParams<Queries, Name>,
    options?: { readonly who?: string; readonly signal?: AbortSignal; readonly timeoutMs?: number },
  ): Promise<QueryResult<Queries, Name>>;
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
  /** How long the worker may go on with what nobody wants; tests have less patience. */
  readonly stuckMs?: number;
  /** Told each time that the worker met damage in the database (`CORRUPT`). */
  readonly onDamage?: (error: StoreError) => void;
}

interface Waiting {
  readonly ask: Extract<ToWorker, { type: "query" }>;
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

/** `Queries` is what the worker serves. */
export function createHistoryClient<Queries extends QueryTable = typeof QUERIES>({
  path,
  clock,
  log,
  startWorker = startHistoryWorker,
  stuckMs = STUCK_MS,
  onDamage = () => {},
}: HistoryClientDeps): HistoryClient<Queries> {
  const waiting = new Map<number, Waiting>();
  /** What nobody has asked the worker yet. */
  const turns = createTurns<Waiting>();
  /** What the worker has not answered yet, wanted or not: one at a time. */
  const posted = new Set<number>();
  const ending = new Set<Worker>();
  let worker: Worker | null = null;
  let stuck: Timer | null = null;
  let lastId = 0;
  let stopped = false;

  /** The worker that runs, or a new one: after its death the next query starts it again. */
  function running(): Worker {
    if (worker !== null) return worker;
    const fresh = startWorker();
    const died = (reason: string) => {
      if (worker !== fresh) return;
      forget();
      if (!stopped)
        log.error("The worker of history ended, the next query starts it again", { error: reason });
      failAll(new StoreError("IO", "The query of history ended half-way", "Ask again; see the log."));
    };
    fresh.onmessage = ({ data }: MessageEvent<FromWorker>) => {
      if (worker !== fresh) return;
      posted.delete(data.id);
      const error = data.type === "failed" ? asError(data.failure) : null;
      if (error instanceof StoreError && error.code === "CORRUPT") onDamage(error);
      waiting.get(data.id)?.settle(data.type === "result" ? { value: data.value } : { error });
      postNext();
      watch();
    };
    fresh.onerror = (event) => {
      event.preventDefault();
      fresh.terminate();
      died(event.message);
    };
    fresh.addEventListener("close", () => {
      if (ending.delete(fresh)) watch();
      died("closed");
    });
    // It must not keep the process alive.
    fresh.unref();
    worker = fresh;
    fresh.postMessage({ type: "open", path } satisfies ToWorker);
    return fresh;
  }

  function forget(): void {
    worker = null;
    posted.clear();
    watch();
  }

  /** Keeps an eye on a worker that is busy with what nobody wants: one statement of SQL cannot be called off. */
  function watch(): void {
    if (stuck !== null) clearTimeout(stuck);
    stuck = null;
    const [first] = posted;
    if (first === undefined || waiting.has(first) || ending.size >= MAX_STUCK) return;
    stuck = setTimeout(replace, stuckMs);
    stuck.unref();
  }

  /** Another worker for those who wait; the stuck one ends when its statement does. */
  function replace(): void {
    const old = worker;
    forget();
    if (old !== null) {
      ending.add(old);
      old.terminate();
    }
    postNext();
  }

  function postNext(): void {
    while (posted.size === 0) {
      const entry = turns.next();
      if (entry === undefined) return;
      post(entry);
    }
  }

  function post({ ask, settle }: Waiting): void {
    try {
      const to = running();
      posted.add(ask.id);
      to.postMessage(ask);
    } catch (error) {
      posted.delete(ask.id);
      settle({ error });
    }
  }

  function failAll(error: unknown): void {
    for (const one of [...waiting.values()]) one.settle({ error });
  }

  return {
    query(name, params, { who = "", signal, timeoutMs = DEFAULT_TIMEOUT_MS } = {}) {
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
        watch();
      };
      const abort = () => giveUp(signal?.reason);
      // The worker keeps the time too, between pieces of work; this is for one that is stuck or busy with others.
      const timer = setTimeout(() => giveUp(late(timeoutMs)), timeoutMs);
      const entry: Waiting = {
        ask: {
          type: "query",
          id,
          name,
          params,
          timeoutMs,
          cancelled: shared,
          now: clock.now(),
        },
        settle(outcome) {
          if (!waiting.delete(id)) return;
          turns.remove(who, entry);
          clearTimeout(timer);
          signal?.removeEventListener("abort", abort);
          if ("error" in outcome) reject(outcome.error);
          else resolve(outcome.value);
        },
      };
      signal?.addEventListener("abort", abort, { once: true });
      waiting.set(id, entry);
      turns.add(who, entry);
      postNext();
      // The name decides on the type of the answer: see QueryTable.
      return promise as Promise<QueryResult<Queries, typeof name>>;
    },
    stop() {
      stopped = true;
      const last = worker;
      forget();
      last?.terminate();
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
