import type { Clock } from "../../domain/clock.ts";
import type { Log } from "../../domain/log.ts";
import type { Store } from "../open.ts";
import { StoreError } from "../store-error.ts";
import { createOpenBuckets } from "./open-buckets.ts";
import { createPacker } from "./packer.ts";
import { createReader } from "./reader.ts";
import { createRecorder, type Recorder } from "./recorder.ts";

/** The writing side of history, one a process: what polls add, and its packing in the background. */
export interface History {
  /** For `createLive`. */
  readonly recorder: Recorder;
  /** Begins to pack hours as they end. */
  start(): void;
  stop(): void;
  /** Packs everything that is due, now: for back-fills and tests. `between` is called between slices. */
  packAll(between?: () => void): void;
  /** When the oldest stored counts begin, to the day; null when there are none. */
  oldestSampleAt(): number | null;
  /** Has the hours and days that [from, until) touches rolled up again, e.g. when sessions were learnt late. */
  reopen(from: number, until: number): void;
}

export interface HistoryTimers {
  set(work: () => void, ms: number): unknown;
  clear(timer: unknown): void;
}

export interface HistoryDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly timers: HistoryTimers;
  readonly log: Log;
}

/** Whether an hour ended is looked at this often. */
const IDLE_MS = 30_000;
/** Between two slices of 5 ms others get the event loop. */
const PAUSE_MS = 20;

export function createHistory({ store, clock, timers, log }: HistoryDeps): History {
  const open = createOpenBuckets(store);
  const packer = createPacker({ store, open, clock });
  let timer: unknown = null;
  let failing = false;
  let stopped = true;

  const run = () => {
    timer = null;
    if (stopped) return;
    let wait = IDLE_MS;
    try {
      if (packer.step()) wait = PAUSE_MS;
      failing = false;
    } catch (error) {
      if (!failing) {
        log.warn("History could not be packed, it is tried again", {
          error: error instanceof Error ? error.message : String(error),
          fix: error instanceof StoreError ? error.fix : null,
        });
      }
      failing = true;
    }
    timer = timers.set(run, wait);
  };

  return {
    recorder: createRecorder(store, open),
    start() {
      stopped = false;
      timer = timers.set(run, PAUSE_MS);
    },
    stop() {
      stopped = true;
      if (timer !== null) timers.clear(timer);
      timer = null;
    },
    packAll(between) {
      while (packer.step(20)) between?.();
    },
    oldestSampleAt: () =>
      store.read(() => createReader(store.sqlite, { now: clock.now() }).reach().samplesFrom),
    reopen: (from, until) => void store.transaction(() => open.touch(from, Math.max(from, until - 1))),
  };
}
