import { compress } from "snappyjs";
import type { Log } from "../../domain/log.ts";
import type { Snapshot } from "../../domain/picture.ts";
import type { Clock, Timers } from "../../domain/time/clock.ts";
import { createSlices, type RunInSlices } from "../../domain/time/slices.ts";
import { counter, type Emit, emitKnown, gauge, type Labels, NO_LABELS, seconds } from "../family.ts";
import type { Posted, post, WriteTarget } from "./post.ts";
import { createSeriesTracker, encodeRequest, type SeriesSample } from "./series.ts";

export const REMOTE_WRITE = {
  samples: counter(
    "licmond_remote_write_samples_total",
    "Samples by what became of them: sent, refused by the receiver, or dropped because too many waited.",
  ),
  failures: counter("licmond_remote_write_failures_total", "Requests that failed and are tried again."),
  waitingBytes: gauge("licmond_remote_write_pending_bytes", "Compressed requests that wait."),
  waiting: gauge("licmond_remote_write_pending_samples", "Samples that wait."),
  lastSent: gauge(
    "licmond_remote_write_last_success_timestamp_seconds",
    "Time of the last request that was taken; absent before the first.",
  ),
} as const;

/** What Prometheus itself sends in one request. */
const SAMPLES_A_REQUEST = 2_000;
const SEND_TIMEOUT_MS = 30_000;
const FIRST_PAUSE_MS = 1_000;
export const LONGEST_PAUSE_MS = 60_000;
/** At the end what is under way may take so long. */
const STOP_GRACE_MS = 2_000;
/** What waits while the receiver is away; the oldest is thrown away first. */
const MAX_WAITING_BYTES = 32 * 1024 * 1024;

export interface WriterSettings extends WriteTarget {
  readonly intervalMs: number;
  /** Added to each series where it has none of that name. */
  readonly labels: Labels;
}

export interface WriterDeps {
  readonly snapshot: () => Snapshot;
  readonly service: (emit: Emit) => void;
  readonly post: typeof post;
  readonly clock: Clock;
  readonly timers: Timers;
  /** In [0, 1). */
  readonly random: () => number;
  readonly log: Log;
  readonly maxWaitingBytes?: number;
  readonly inSlices?: RunInSlices;
}

export type Writer = ReturnType<typeof createWriter>;

/**
 * Writes all metrics to a receiver, every interval. Samples of one moment are gathered at once, carry its time, and go out in order, one request at a time. While the
 * receiver is away they wait in memory, within bounds. Series that end get Prometheus's own mark for it, so that the
 * numbers of a server that is down do not go on as if they were fresh.
 */
export function createWriter(deps: WriterDeps) {
  const { snapshot, service, clock, timers, log } = deps;
  const { inSlices = createSlices(), maxWaitingBytes = MAX_WAITING_BYTES } = deps;
  const gather = createSeriesTracker();
  const ending = new AbortController();
  const untilTick = createPause(timers);
  const untilRetry = createPause(timers);
  const counts = { sent: 0, refused: 0, dropped: 0, failures: 0 };
  let settings: WriterSettings | null = null;
  /** Compressed requests, with the number of their samples. */
  let waiting: { readonly body: Uint8Array<ArrayBuffer>; readonly samples: number }[] = [];
  let lastSentAt: number | null = null;
  let failuresInARow = 0;
  let refusing = false;
  let dropping = false;
  let gathering: Promise<void> | null = null;
  let sending: Promise<void> = Promise.resolve();
  let isSending = false;
  let stopped = false;

  const bytes = () => waiting.reduce((sum, { body }) => sum + body.byteLength, 0);
  const samples = () => waiting.reduce((sum, one) => sum + one.samples, 0);

  async function gatherEachInterval(first: WriterSettings): Promise<void> {
    for (let { intervalMs, labels } = first; !stopped; { intervalMs, labels } = settings ?? first) {
      const at = clock.now();
      try {
        const gathered: SeriesSample[] = [];
        await inSlices(gather(snapshot(), service, labels, gathered));
        await inSlices(queue(gathered, at));
      } catch (error) {
        log.error("Metrics could not be gathered", { error: String(error) });
      }
      if (!isSending) sending = sendWaiting();
      if (!stopped) await untilTick.pass(Math.min(Math.max(at + intervalMs - clock.now(), 0), intervalMs));
    }
  }

  function* queue(gathered: readonly SeriesSample[], at: number): Generator<void> {
    for (let from = 0; from < gathered.length; from += SAMPLES_A_REQUEST) {
      const part = gathered.slice(from, from + SAMPLES_A_REQUEST);
      const encoded = encodeRequest(part, at);
      yield;
      waiting.push({ body: new Uint8Array(compress(encoded)), samples: part.length });
      dropOldest();
      yield;
    }
  }

  function dropOldest(): void {
    while (waiting.length > 1 && bytes() > maxWaitingBytes) {
      const count = waiting.shift()?.samples ?? 0;
      counts.dropped += count;
      if (!dropping)
        log.error("Metrics are thrown away, the oldest first: too many wait for the receiver", { count });
      dropping = true;
    }
  }

  /** Sends what waits, and what comes meanwhile; what fails is tried until it is taken or refused. */
  async function sendWaiting(): Promise<void> {
    isSending = true;
    for (let [next] = waiting; next !== undefined && settings !== null && !stopped; [next] = waiting) {
      const signal = AbortSignal.any([AbortSignal.timeout(SEND_TIMEOUT_MS), ending.signal]);
      const posted = await deps.post(settings, next.body, signal, clock.now);
      if (ending.signal.aborted) break;
      if (posted.outcome === "failed") {
        const pause = failed(posted);
        if (!stopped) await untilRetry.pass(pause);
        continue;
      }
      // It may have been thrown away meanwhile.
      if (waiting[0] === next) waiting.shift();
      settled(posted, next.samples);
    }
    isSending = false;
  }

  /** Milliseconds until the next try. */
  function failed({ why, retryAfterMs }: Extract<Posted, { outcome: "failed" }>): number {
    counts.failures++;
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(failuresInARow, 20), LONGEST_PAUSE_MS);
    failuresInARow++;
    const fields = { error: why, failures: failuresInARow, waiting: samples() };
    const tell = failuresInARow === 1 ? log.warn : log.debug;
    tell("Metrics could not be written and are kept for another try", fields);
    // Half of it by chance: many daemons may have lost the same receiver.
    return Math.max(pause * (0.5 + deps.random() / 2), retryAfterMs ?? 0);
  }

  function settled(posted: Exclude<Posted, { outcome: "failed" }>, count: number): void {
    if (failuresInARow > 0)
      log.info("Metrics are written again", { waiting: samples(), dropped: counts.dropped });
    failuresInARow = 0;
    dropping = false;
    if (posted.outcome === "refused") {
      counts.refused += count;
      const tell = refusing ? log.debug : log.error;
      tell("The receiver refuses metrics, and they are lost", { error: posted.why, count });
    } else {
      counts.sent += count;
      lastSentAt = clock.now();
      if (refusing) log.info("The receiver takes metrics again", { refused: counts.refused });
    }
    refusing = posted.outcome === "refused";
  }

  return {
    /** The first call starts it. What waits goes to the new target when only the way to it has changed. */
    configure(next: WriterSettings): void {
      const before = settings;
      if (JSON.stringify(before) === JSON.stringify(next)) return;
      settings = next;
      if (before !== null && before.url !== next.url && waiting.length > 0) {
        const count = samples();
        waiting = [];
        counts.dropped += count;
        log.warn("Metrics that waited for the former receiver are thrown away", { count });
      }
      // Whatever was in its way may be gone.
      untilRetry.end();
      if (before === null) gathering = gatherEachInterval(next);
      else if (before.intervalMs !== next.intervalMs) untilTick.end();
    },
    emit(emit: Emit): void {
      for (const outcome of ["sent", "refused", "dropped"] as const)
        emit(REMOTE_WRITE.samples, [["outcome", outcome]], counts[outcome]);
      emit(REMOTE_WRITE.failures, NO_LABELS, counts.failures);
      emit(REMOTE_WRITE.waitingBytes, NO_LABELS, bytes());
      emit(REMOTE_WRITE.waiting, NO_LABELS, samples());
      emitKnown(emit, REMOTE_WRITE.lastSent, NO_LABELS, seconds(lastSentAt));
    },
    /** What is under way gets a moment; what waits is lost. */
    async stop(): Promise<void> {
      stopped = true;
      untilTick.end();
      untilRetry.end();
      const cancel = timers.after(STOP_GRACE_MS, () => ending.abort());
      await gathering;
      await sending;
      cancel();
      if (waiting.length > 0)
        log.warn("Metrics that waited for their receiver are lost", { count: samples() });
    },
  };
}

/** A pause that can be cut short. */
function createPause(timers: Timers) {
  let end = () => {};
  return {
    async pass(ms: number): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      const cancel = timers.after(ms, resolve);
      end = resolve;
      await promise;
      cancel();
    },
    end: () => end(),
  };
}
