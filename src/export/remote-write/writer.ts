import { compress } from "snappyjs";
import type { Log } from "../../domain/log.ts";
import type { Snapshot } from "../../domain/picture.ts";
import type { Clock, Timers } from "../../domain/time/clock.ts";
import { createSlices, type RunInSlices } from "../../domain/time/slices.ts";
import { counter, type Emit, emitKnown, gauge, type Labels, NO_LABELS, seconds } from "../family.ts";
import {
  createSeriesTracker,
  encodeRequest,
  type Posted,
  type post,
  type SeriesSample,
  type WriteTarget,
} from "./request.ts";

export const REMOTE_WRITE = {
  samples: counter(
    "licmond_remote_write_samples_total",
    "Samples by outcome: sent, refused by the receiver, or dropped because the queue was full.",
  ),
  failures: counter("licmond_remote_write_failures_total", "Failed requests, which are retried."),
  waitingBytes: gauge("licmond_remote_write_pending_bytes", "Size of the compressed requests in the queue."),
  waiting: gauge("licmond_remote_write_pending_samples", "Samples in the queue."),
  lastSent: gauge(
    "licmond_remote_write_last_success_timestamp_seconds",
    "Time of the last accepted request; absent before the first.",
  ),
} as const;

/** Maximum number of samples per request, as in Prometheus. */
const SAMPLES_A_REQUEST = 2_000;
const SEND_TIMEOUT_MS = 30_000;
const FIRST_PAUSE_MS = 1_000;
export const LONGEST_PAUSE_MS = 60_000;
/** Maximum time that the running request may take when the daemon stops. */
const STOP_GRACE_MS = 2_000;
/** Maximum size of the queue. The oldest requests are dropped first. */
const MAX_WAITING_BYTES = 32 * 1024 * 1024;

export interface WriterSettings extends WriteTarget {
  readonly intervalMs: number;
  readonly labels: Labels;
}

export interface WriterDeps {
  readonly snapshot: () => Snapshot;
  readonly service: (emit: Emit) => void;
  readonly post: typeof post;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  readonly log: Log;
  readonly maxWaitingBytes?: number;
  readonly inSlices?: RunInSlices;
}

export type Writer = ReturnType<typeof createWriter>;

/**
 * Writes all metrics to a receiver at every interval. Samples of one time are gathered at once and sent in order, one
 * request at a time. While the receiver is unavailable they are queued in memory, up to a limit. Ended series get
 * Prometheus's stale marker, so that numbers of a server that is down do not look fresh.
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
        log.error("Cannot gather metrics", { error: String(error) });
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
      if (!dropping) log.error("Dropping the oldest metrics: the queue for the receiver is full", { count });
      dropping = true;
    }
  }

  /** Sends the queue, including new requests. Retries failures until the receiver accepts or refuses them. */
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
      // Remove the request unless it was dropped while it was being sent.
      if (waiting[0] === next) waiting.shift();
      settled(posted, next.samples);
    }
    isSending = false;
  }

  function failed({ why, retryAfterMs }: Extract<Posted, { outcome: "failed" }>): number {
    counts.failures++;
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(failuresInARow, 20), LONGEST_PAUSE_MS);
    failuresInARow++;
    const fields = { error: why, failures: failuresInARow, waiting: samples() };
    const tell = failuresInARow === 1 ? log.warn : log.debug;
    tell("Cannot write metrics; retrying", fields);
    // Randomize half of the pause, because many daemons may have lost the same receiver.
    return Math.max(pause * (0.5 + deps.random() / 2), retryAfterMs ?? 0);
  }

  function settled(posted: Exclude<Posted, { outcome: "failed" }>, count: number): void {
    if (failuresInARow > 0)
      log.info("Writing metrics again", { waiting: samples(), dropped: counts.dropped });
    failuresInARow = 0;
    dropping = false;
    if (posted.outcome === "refused") {
      counts.refused += count;
      const tell = refusing ? log.debug : log.error;
      tell("The receiver rejects metrics; dropping them", { error: posted.why, count });
    } else {
      counts.sent += count;
      lastSentAt = clock.now();
      if (refusing) log.info("The receiver accepts metrics again", { refused: counts.refused });
    }
    refusing = posted.outcome === "refused";
  }

  return {
    /** Applies settings; the first call starts the writer. Keeps the queue unless the URL has changed. */
    configure(next: WriterSettings): void {
      const before = settings;
      if (JSON.stringify(before) === JSON.stringify(next)) return;
      settings = next;
      if (before !== null && before.url !== next.url && waiting.length > 0) {
        const count = samples();
        waiting = [];
        counts.dropped += count;
        log.warn("Dropping metrics that were queued for the previous receiver", { count });
      }
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
    /** Stops the writer. The running request gets a short time to finish; the queue is lost. */
    async stop(): Promise<void> {
      stopped = true;
      untilTick.end();
      untilRetry.end();
      const cancel = timers.after(STOP_GRACE_MS, () => ending.abort());
      await gathering;
      await sending;
      cancel();
      if (waiting.length > 0) log.warn("Dropping queued metrics at shutdown", { count: samples() });
    },
  };
}

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
