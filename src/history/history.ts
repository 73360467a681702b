import type { Log } from "../domain/log.ts";
import type { Clock } from "../domain/time/clock.ts";
import type { Store } from "../store/open/open.ts";
import { createLoop, type HistoryTimers } from "./loop.ts";
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

export interface HistoryDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly timers: HistoryTimers;
  readonly log: Log;
}

/** Whether an hour ended is looked at this often. */
const IDLE_MS = 30_000;
export function createHistory({ store, clock, timers, log }: HistoryDeps): History {
  const open = createOpenBuckets(store);
  const packer = createPacker({ store, open, clock });
  const loop = createLoop(() => packer.step(), IDLE_MS, "History could not be packed", timers, log);

  return {
    recorder: createRecorder(store, open),
    start: loop.start,
    stop: loop.stop,
    packAll(between) {
      while (packer.step(20)) between?.();
    },
    oldestSampleAt: () =>
      store.read(() => createReader(store.sqlite, { now: clock.now() }).reach().samplesFrom),
    reopen: (from, until) => void store.transaction(() => open.touch(from, Math.max(from, until - 1))),
  };
}
