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
} from "./protocol.ts";

/** A queue in which everybody has a turn: who asks much waits for itself, not others for it. */
interface Turns<Item> {
  add(who: string, item: Item): void;
  /** Forgets an item that need not be served any more; nothing when it was. */
  remove(who: string, item: Item): void;
  /** The oldest of who had no turn for the longest time; undefined when nothing waits. */
  next(): Item | undefined;
}

export function createTurns<Item>(): Turns<Item> {
  /** Who is first has the next turn. */
  const queues = new Map<string, Set<Item>>();
  return {
    add(who, item) {
      const queue = queues.get(who);
      if (queue === undefined) queues.set(who, new Set([item]));
      else queue.add(item);
    },
    remove(who, item) {
      const queue = queues.get(who);
      queue?.delete(item);
      if (queue?.size === 0) queues.delete(who);
    },
    next() {
      for (const [who, queue] of queues) {
        queues.delete(who);
        for (const item of queue) {
          queue.delete(item);
          if (queue.size > 0) queues.set(who, queue);
          return item;
        }
      }
      return undefined;
    },
  };
}

/** A query that is not answered by then is given up: before the HTTP side cuts the silent connection, after 30 s. */
const DEFAULT_TIMEOUT_MS = 25_000;
/** Queries that wait for the worker: more than this is refused at once. */
const MAX_WAITING = 500;
/** A worker that goes on with what nobody wants for longer than this is stuck in one statement. */
const STUCK_MS = 1_000;
/** Workers that were given up and whose statement still runs: with so many, who asks has to wait. */
const MAX_STUCK = 3;

/** History from the main thread: it never waits for the database, a worker with a connection of its own reads. */
export interface HistoryClient<Queries extends QueryTable> {
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

interface HistoryClientDeps {
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
      : new URL("../workers/history.ts", import.meta.url).href,
  );
}

/** `Queries` is what the worker serves. */
export function createHistoryClient<Queries extends QueryTable>({
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
  /** The query that the worker has not answered yet, wanted or not; 0 = none. */
  let posted = 0;
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
    fresh.postMessage({ type: "open", path } satisfies ToWorker);
    return fresh;
  }

  function forget(): void {
    worker = null;
    posted = 0;
    watch();
  }

  /** Keeps an eye on a worker that is busy with what nobody wants: one statement of SQL cannot be called off. */
  function watch(): void {
    if (stuck !== null) clearTimeout(stuck);
    stuck = null;
    if (posted === 0 || waiting.has(posted) || ending.size >= MAX_STUCK) return;
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
    while (posted === 0) {
      const next = turns.next();
      if (next === undefined) return;
      try {
        const to = running();
        posted = next.ask.id;
        to.postMessage(next.ask);
      } catch (error) {
        posted = 0;
        next.settle({ error });
      }
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

function asError({ store, timeout, message }: Failure): Error {
  if (store !== null) return new StoreError(store.code, message, store.fix);
  return timeout ? new HistoryTimeout(message) : new Error(message);
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
