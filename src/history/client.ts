import type { Log } from "../domain/log.ts";
import type { Clock } from "../domain/time/clock.ts";
import { StoreError } from "../store/database/store-error.ts";
import type {
  Failure,
  FromWorker,
  QueryName,
  QueryParams,
  QueryResult,
  QueryTable,
  ToWorker,
} from "./serve.ts";

/** A query that is not answered by then is given up: before the HTTP side cuts the silent connection, after 30 s. */
const DEFAULT_TIMEOUT_MS = 25_000;
/** Queries that wait for the worker: more than this is refused at once. */
const MAX_WAITING = 500;
/** A worker that goes on for longer than this with a query that was given up is stuck in one statement. */
const STUCK_MS = 1_000;
/** Workers that were given up and whose statement still runs: with so many, new queries have to wait. */
const MAX_STUCK = 3;

/** History from the main thread: it never waits for the database, a worker with a connection of its own reads. */
export type HistoryClient<Queries extends QueryTable> = ReturnType<typeof createHistoryClient<Queries>>;

/** A query took longer than it may. */
export class HistoryTimeout extends Error {
  override readonly name = "HistoryTimeout";
}

interface HistoryClientDeps {
  /** The database file, or what tells the worker where history is now. */
  readonly path: string | (() => string);
  /** How messages call it. */
  readonly title?: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Starts the worker; tests give their own. */
  readonly startWorker?: () => Worker;
  /** How long the worker may go on with a query that was given up; tests have less patience. */
  readonly stuckMs?: number;
  /** Called each time that the worker met damage in the database (`CORRUPT`). */
  readonly onDamage?: (error: StoreError) => void;
}

interface Waiting {
  readonly message: ToWorker;
  settle(outcome: { value: unknown } | { error: unknown }): void;
}

/** The worker is an entry point of its own, which in the binary lies beside the program's. */
export function startWorkerOf(name: "history" | "hub-history"): Worker {
  const file = `workers/${name}.ts`;
  return new Worker(Bun.isStandaloneExecutable ? `./${file}` : new URL(`../${file}`, import.meta.url).href);
}

/** `Queries` is what the worker serves. */
export function createHistoryClient<Queries extends QueryTable>({
  path,
  title = String(path),
  clock,
  log,
  startWorker = () => startWorkerOf("history"),
  stuckMs = STUCK_MS,
  onDamage = () => {},
}: HistoryClientDeps) {
  const waiting = new Map<number, Waiting>();
  /** Ids of queries that were not posted yet, by client. The first client has the next turn. */
  const queues = new Map<string, number[]>();
  /** The query that the worker has not answered yet, wanted or not; 0 = none. */
  let posted = 0;
  /** Replaced workers whose statement still runs. */
  const ending = new Set<Worker>();
  let worker: Worker | null = null;
  let stuck: Timer | undefined;
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
      posted = 0;
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
    return fresh;
  }

  function forget(): void {
    worker = null;
    posted = 0;
    watch();
  }

  /** Watches a worker that is busy with a query that was given up: one statement of SQL cannot be called off. */
  function watch(): void {
    clearTimeout(stuck);
    if (posted === 0 || waiting.has(posted) || ending.size >= MAX_STUCK) return;
    stuck = setTimeout(replace, stuckMs).unref();
  }

  /** Another worker serves what waits; the stuck one ends when its statement does. */
  function replace(): void {
    const old = worker;
    forget();
    if (old !== null) {
      ending.add(old);
      old.terminate();
    }
    postNext();
  }

  /** Takes the oldest query of the client that had no turn for the longest time; those given up have none. */
  function takeNext(): Waiting | undefined {
    for (const [who, ids] of queues) {
      queues.delete(who);
      const [id = 0, ...later] = ids.filter((one) => waiting.has(one));
      if (later.length > 0) queues.set(who, later);
      if (id !== 0) return waiting.get(id);
    }
    return undefined;
  }

  function postNext(): void {
    while (posted === 0) {
      const next = takeNext();
      if (next === undefined) return;
      try {
        const to = running();
        posted = next.message.id;
        to.postMessage(next.message);
      } catch (error) {
        posted = 0;
        next.settle({ error });
      }
    }
  }

  function failAll(error: unknown): void {
    for (const one of [...waiting.values()]) one.settle({ error });
  }

  const closed = () => new StoreError("CLOSED", `The history of ${title} is closed`, "Start licmond again.");

  return {
    /**
     * Served one after the other, round-robin per client (`who`), so that one busy client cannot delay the others.
     * Rejects with a StoreError (the database; `BUSY` also when too many queries wait), a HistoryTimeout, the reason
     * of `signal`, or an Error that tells of a bug.
     */
    query<Name extends QueryName<Queries>>(
      name: Name,
      params: QueryParams<Queries, Name>,
      options: { readonly who?: string; readonly signal?: AbortSignal; readonly timeoutMs?: number } = {},
    ): Promise<QueryResult<Queries, Name>> {
      const { who = "", signal, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
      const { promise, resolve, reject } = Promise.withResolvers<QueryResult<Queries, Name>>();
      if (stopped) reject(closed());
      else if (signal?.aborted === true) reject(signal.reason);
      else if (waiting.size >= MAX_WAITING)
        reject(new StoreError("BUSY", "Too many queries of history wait for an answer", "Ask again later."));
      else {
        const id = ++lastId;
        const cancelled = new SharedArrayBuffer(4);
        const giveUp = (error: unknown) => {
          Atomics.store(new Int32Array(cancelled), 0, 1);
          waiting.get(id)?.settle({ error });
          watch();
        };
        const abort = () => giveUp(signal?.reason);
        const late = `The query of history took longer than ${timeoutMs / 1000} s`;
        // The worker keeps the time too, between pieces of work; this is for one that is stuck or busy with others.
        const timer = setTimeout(() => giveUp(new HistoryTimeout(late)), timeoutMs);
        signal?.addEventListener("abort", abort, { once: true });
        waiting.set(id, {
          message: {
            id,
            path: typeof path === "string" ? path : path(),
            name,
            params,
            timeoutMs,
            cancelled,
            now: clock.now(),
          },
          settle(outcome) {
            waiting.delete(id);
            clearTimeout(timer);
            signal?.removeEventListener("abort", abort);
            if ("error" in outcome) reject(outcome.error);
            // The name decides on the type of the answer: see QueryTable.
            else resolve(outcome.value as QueryResult<Queries, Name>);
          },
        });
        queues.getOrInsert(who, []).push(id);
        postNext();
      }
      return promise;
    },
    /** Ends the worker; what waits is rejected. */
    stop(): void {
      stopped = true;
      const last = worker;
      forget();
      last?.terminate();
      failAll(closed());
    },
  };
}

function asError({ store, timeout, message }: Failure): Error {
  if (store !== null) return new StoreError(store.code, message, store.fix);
  return timeout ? new HistoryTimeout(message) : new Error(message);
}
