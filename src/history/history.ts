import type { Log } from "../domain/log.ts";
import type { Clock } from "../domain/time/clock.ts";
import type { Timers } from "../domain/time/timers.ts";
import type { Store } from "../store/open/open.ts";
import { createLoop } from "./loop.ts";
import { createOpenBuckets } from "./open-buckets.ts";
import { createPacker } from "./packer.ts";
import { createReader } from "./reader.ts";
import { createRecorder } from "./recorder.ts";

export interface HistoryDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
}

export type History = ReturnType<typeof createHistory>;

/** How often the packer looks whether an hour has ended. */
const IDLE_MS = 30_000;

/** The writing side of history, one a process: what polls add, and its packing in the background. */
export function createHistory({ store, clock, timers, log }: HistoryDeps) {
  const open = createOpenBuckets(store);
  const pack = createPacker(store, open, clock);
  return {
    /** `start` begins to pack hours as they end. */
    ...createLoop(pack, IDLE_MS, "History could not be packed", timers, log),
    /** For `createLive`. */
    recorder: createRecorder(store, open),
    /** Packs everything that is due, now: for back-fills and tests. `between` is called between slices. */
    packAll(between?: () => void): void {
      while (pack(20)) between?.();
    },
    /** When the oldest stored counts begin, to the day; null when there are none. */
    oldestSampleAt: () =>
      store.read(() => createReader(store.sqlite, { now: clock.now() }).reach().samplesFrom),
    /** Has the hours and days that [from, until) touches rolled up again, e.g. when sessions were learnt late. */
    reopen: (from: number, until: number): void =>
      store.transaction(() => open.touch(from, Math.max(from, until - 1))),
  };
}
