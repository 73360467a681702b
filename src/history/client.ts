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

/**
 * Time after which a query is abandoned. It is shorter than the 30 s after which the HTTP side closes a
 * silent connection.
 */
const DEFAULT_TIMEOUT_MS = 25_000;
const MAX_WAITING = 500;
/** Time after which a worker that still runs an abandoned query counts as stuck in one statement. */
const STUCK_MS = 1_000;
/** Maximum number of replaced workers whose statement is still running. At this number, new queries wait. */
const MAX_STUCK = 3;

/** Reads history in a worker with its own connection, so that the main thread does not wait. */
export type HistoryClient<Queries extends QueryTable> = ReturnType<typeof createHistoryClient<Queries>>;

export class HistoryTimeout extends Error {
  override readonly name = "HistoryTimeout";
}

interface HistoryClientDeps {
  readonly path: string | (() => string);
  readonly title?: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly startWorker?: () => Worker;
  readonly stuckMs?: number;
  readonly onDamage?: (error: StoreError) => void;
}

interface Waiting {
  readonly message: ToWorker;
  settle(outcome: { value: unknown } | { error: unknown }): void;
}

export function startWorkerOf(name: "history" | "hub-history"): Worker {
  const file = `workers/${name}.ts`;
  return new Worker(Bun.isStandaloneExecutable ? `./${file}` : new URL(`../${file}`, import.meta.url).href);
}

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
  /** Ids of queries that are not posted yet, by client. The first client in the map is served next. */
  const queues = new Map<string, number[]>();
  /** Id of the query that the worker has not answered, abandoned or not; 0 means none. */
  let posted = 0;
  const ending = new Set<Worker>();
  let worker: Worker | null = null;
  let stuck: Timer | undefined;
  let lastId = 0;
  let stopped = false;

  function running(): Worker {
    if (worker !== null) return worker;
    const fresh = startWorker();
    const died = (reason: string) => {
      if (worker !== fresh) return;
      forget();
      if (!stopped) log.error("The history worker ended; the next query restarts it", { error: reason });
      failAll(new StoreError("IO", "The history query was interrupted", "Ask again; see the log."));
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
    fresh.unref();
    worker = fresh;
    return fresh;
  }

  function forget(): void {
    worker = null;
    posted = 0;
    watch();
  }

  /** Watches a worker that is busy with an abandoned query, because an SQL statement cannot be cancelled. */
  function watch(): void {
    clearTimeout(stuck);
    if (posted === 0 || waiting.has(posted) || ending.size >= MAX_STUCK) return;
    stuck = setTimeout(replace, stuckMs).unref();
  }

  function replace(): void {
    const old = worker;
    forget();
    if (old !== null) {
      ending.add(old);
      old.terminate();
    }
    postNext();
  }

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
     * Queries run one after the other, round-robin per client (`who`), so that a busy client cannot delay the
     * others. Rejects with a StoreError (from the database, or `BUSY` if too many queries wait), a
     * HistoryTimeout, the reason of `signal`, or an Error for a bug.
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
        reject(new StoreError("BUSY", "Too many history queries are waiting", "Ask again later."));
      else {
        const id = ++lastId;
        const cancelled = new SharedArrayBuffer(4);
        const giveUp = (error: unknown) => {
          Atomics.store(new Int32Array(cancelled), 0, 1);
          waiting.get(id)?.settle({ error });
          watch();
        };
        const abort = () => giveUp(signal?.reason);
        const late = `The history query took longer than ${timeoutMs / 1000} s`;
        // The worker checks the time only between steps.
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
            else resolve(outcome.value as QueryResult<Queries, Name>);
          },
        });
        queues.getOrInsert(who, []).push(id);
        postNext();
      }
      return promise;
    },
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
