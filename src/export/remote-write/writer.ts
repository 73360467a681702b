import { compress } from "snappyjs";
import type { Log } from "../../domain/log.ts";
import type { Snapshot } from "../../domain/picture.ts";
import type { Clock } from "../../domain/time/clock.ts";
import { createSlices, type RunInSlices } from "../../domain/time/slices.ts";
import { counter, type Emit, emitKnown, gauge, type Labels, NO_LABELS, seconds } from "../family.ts";
import type { Posted, WriteTarget } from "./post.ts";
import { createSeriesBook, encodeRequest, type SeriesSample } from "./series.ts";

/** A request that waits to be sent. */
export interface Waiting {
  /** Compressed. */
  readonly body: Uint8Array<ArrayBuffer>;
  readonly samples: number;
  /** Time of its samples, epoch ms. */
  readonly at: number;
}

/** Requests in the order of their samples, bounded by bytes and age: the oldest are thrown away. */
interface Backlog {
  /** Answers how many samples had to go for it. */
  add(waiting: Waiting, now: number): number;
  first(): Waiting | null;
  /** Takes the first one away, if it is still this one. */
  done(waiting: Waiting): void;
  /** Throws everything away and answers how many samples that were. */
  clear(): number;
  readonly bytes: number;
  readonly samples: number;
}

interface BacklogBounds {
  readonly maxBytes: number;
  readonly maxAgeMs: number;
}

export function createBacklog({ maxBytes, maxAgeMs }: BacklogBounds): Backlog {
  let waiting: Waiting[] = [];
  let bytes = 0;
  let samples = 0;

  function shift(): number {
    const gone = waiting.shift();
    bytes -= gone?.body.byteLength ?? 0;
    samples -= gone?.samples ?? 0;
    return gone?.samples ?? 0;
  }

  return {
    add(next, now) {
      waiting.push(next);
      bytes += next.body.byteLength;
      samples += next.samples;
      let dropped = 0;
      for (let first = waiting[0]; first !== undefined; first = waiting[0]) {
        if (first === next || (bytes <= maxBytes && now - first.at <= maxAgeMs)) break;
        dropped += shift();
      }
      return dropped;
    },
    first: () => waiting[0] ?? null,
    done(sent) {
      if (waiting[0] === sent) shift();
    },
    clear() {
      const all = samples;
      waiting = [];
      bytes = 0;
      samples = 0;
      return all;
    },
    get bytes() {
      return bytes;
    },
    get samples() {
      return samples;
    },
  };
}

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
const DAY_MS = 86_400_000;
const SAMPLES_A_REQUEST = 2_000;
const SEND_TIMEOUT_MS = 30_000;
const FIRST_PAUSE_MS = 1_000;
export const LONGEST_PAUSE_MS = 60_000;
/** At the end what is under way may take so long. */
const STOP_GRACE_MS = 2_000;
/** What waits while the receiver is away. A receiver takes nothing that is much older anyway. */
const BOUNDS: BacklogBounds = { maxBytes: 32 * 1024 * 1024, maxAgeMs: 24 * 3_600_000 };

export interface WriterSettings extends WriteTarget {
  readonly intervalMs: number;
  /** Added to each series where it has none of that name. */
  readonly labels: Labels;
}

export interface WriterDeps {
  readonly snapshot: () => Snapshot;
  readonly service: (emit: Emit) => void;
  readonly post: (
    target: WriteTarget,
    body: Uint8Array<ArrayBuffer>,
    signal: AbortSignal,
    now: () => number,
  ) => Promise<Posted>;
  readonly clock: Clock;
  readonly timers: { after(ms: number, run: () => void): () => void };
  /** In [0, 1). */
  readonly random: () => number;
  readonly log: Log;
  readonly bounds?: BacklogBounds;
  readonly inSlices?: RunInSlices;
}

/** Writes all metrics to a receiver, every interval. */
export interface Writer {
  /** From now on so; the first call starts it. What waits goes to the new target when only the way to it has changed. */
  configure(settings: WriterSettings): void;
  emit(emit: Emit): void;
  /** What is under way gets a moment; what waits is lost. */
  stop(): Promise<void>;
}

/**
 * Samples of one moment are gathered at once, carry its time, and go out in order, one request at a time. While the
 * receiver is away they wait in memory, within bounds. Series that end get Prometheus's own mark for it, so that the
 * numbers of a server that is down do not go on as if they were fresh.
 */
export function createWriter(deps: WriterDeps): Writer {
  const { snapshot, service, post, clock, timers, random, log, inSlices = createSlices() } = deps;
  const backlog: Backlog = createBacklog(deps.bounds ?? BOUNDS);
  const book = createSeriesBook();
  const ending = new AbortController();
  const counts = { sent: 0, refused: 0, dropped: 0, failures: 0 };
  let settings: WriterSettings | null = null;
  let lastSentAt: number | null = null;
  /** Time of the samples gathered last: those of one series must go up. */
  let gatheredAt = Number.NEGATIVE_INFINITY;
  let failuresInARow = 0;
  let refusing = false;
  let saidDropped = false;
  let saidBackwards = false;
  let gathering: Promise<void> | null = null;
  let sending: Promise<void> | null = null;
  let cancelTick = () => {};
  let cancelRetry = () => {};
  let retries = false;
  let stopped = false;

  function tickIn(ms: number): void {
    cancelTick();
    if (stopped) return;
    cancelTick = timers.after(ms, () => {
      const startedAt = clock.now();
      gathering ??= gather(startedAt)
        .catch((error: unknown) => log.error("Metrics could not be gathered", { error: String(error) }))
        .finally(() => {
          gathering = null;
          const took = clock.now() - startedAt;
          const interval = settings?.intervalMs ?? 0;
          tickIn(Math.min(Math.max(interval - took, 0), interval));
        });
    });
  }

  async function gather(at: number): Promise<void> {
    if (settings === null) return;
    // A clock that was ahead by more than a day was wrong: nobody waits for that time to come.
    if (at <= gatheredAt && gatheredAt - at <= DAY_MS) {
      if (!saidBackwards) log.warn("The clock was set back: metrics are written once it has caught up");
      saidBackwards = true;
      return;
    }
    saidBackwards = false;
    gatheredAt = at;
    const samples: SeriesSample[] = [];
    await inSlices(book.gather(snapshot(), service, settings.labels, samples));
    await inSlices(queue(samples, at));
    send();
  }

  function* queue(samples: readonly SeriesSample[], at: number): Generator<void> {
    for (let from = 0; from < samples.length; from += SAMPLES_A_REQUEST) {
      const part = samples.slice(from, from + SAMPLES_A_REQUEST);
      const encoded = encodeRequest(part, at);
      yield;
      const body = new Uint8Array(compress(encoded));
      const dropped = backlog.add({ body, samples: part.length, at }, clock.now());
      counts.dropped += dropped;
      if (dropped > 0 && !saidDropped) {
        saidDropped = true;
        log.error("Metrics are thrown away, the oldest first: too many wait for the receiver", {
          count: dropped,
        });
      }
      yield;
    }
  }

  function send(): void {
    if (sending !== null || retries || stopped) return;
    sending = sendAll().finally(() => {
      sending = null;
      // Something may have come, or the target may have changed, at the last moment.
      if (backlog.first() !== null) send();
    });
  }

  async function sendAll(): Promise<void> {
    for (let next = backlog.first(); next !== null && settings !== null; next = backlog.first()) {
      if (retries || stopped) return;
      const target = settings;
      const signal = AbortSignal.any([AbortSignal.timeout(SEND_TIMEOUT_MS), ending.signal]);
      const posted = await post(target, next.body, signal, clock.now);
      if (ending.signal.aborted) return;
      if (posted.outcome === "failed") {
        failed(posted);
        return;
      }
      backlog.done(next);
      settled(posted, next.samples);
    }
  }

  function settled(posted: Exclude<Posted, { outcome: "failed" }>, samples: number): void {
    if (failuresInARow > 0) {
      log.info("Metrics are written again", { waiting: backlog.samples, dropped: counts.dropped });
      failuresInARow = 0;
    }
    saidDropped = false;
    if (posted.outcome === "taken") {
      counts.sent += samples;
      lastSentAt = clock.now();
      if (refusing) log.info("The receiver takes metrics again", { refused: counts.refused });
      refusing = false;
      return;
    }
    counts.refused += samples;
    // Once an affair; the rest of it is for whoever looks closely.
    const tell = refusing ? log.debug : log.error;
    tell("The receiver refuses metrics, and they are lost", {
      error: posted.why,
      count: samples,
    });
    refusing = true;
  }

  function failed({ why, retryAfterMs }: Extract<Posted, { outcome: "failed" }>): void {
    counts.failures++;
    failuresInARow++;
    const tell = failuresInARow === 1 ? log.warn : log.debug;
    tell("Metrics could not be written and are kept for another try", {
      error: why,
      failures: failuresInARow,
      waiting: backlog.samples,
    });
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(failuresInARow - 1, 20), LONGEST_PAUSE_MS);
    // Half of it by chance: many daemons may have lost the same receiver.
    const wait = Math.max(pause * (0.5 + random() / 2), retryAfterMs ?? 0);
    retries = true;
    cancelRetry = timers.after(wait, retry);
  }

  function retry(): void {
    cancelRetry();
    retries = false;
    send();
  }

  return {
    configure(next) {
      const before = settings;
      if (JSON.stringify(before) === JSON.stringify(next)) return;
      settings = next;
      if (before !== null && before.url !== next.url) {
        const count = backlog.clear();
        counts.dropped += count;
        if (count > 0) log.warn("Metrics that waited for the former receiver are thrown away", { count });
      }
      // Whatever was in its way may be gone.
      if (retries) retry();
      if (before === null || before.intervalMs !== next.intervalMs) tickIn(0);
    },
    emit(emit) {
      for (const outcome of ["sent", "refused", "dropped"] as const)
        emit(REMOTE_WRITE.samples, [["outcome", outcome]], counts[outcome]);
      emit(REMOTE_WRITE.failures, NO_LABELS, counts.failures);
      emit(REMOTE_WRITE.waitingBytes, NO_LABELS, backlog.bytes);
      emit(REMOTE_WRITE.waiting, NO_LABELS, backlog.samples);
      emitKnown(emit, REMOTE_WRITE.lastSent, NO_LABELS, seconds(lastSentAt));
    },
    async stop() {
      stopped = true;
      cancelTick();
      cancelRetry();
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const cancel = timers.after(STOP_GRACE_MS, resolve);
      await Promise.race([Promise.all([gathering, sending]), late]);
      cancel();
      ending.abort();
      await Promise.all([gathering, sending]);
      const count = backlog.clear();
      if (count > 0) log.warn("Metrics that waited for their receiver are lost", { count });
    },
  };
}
