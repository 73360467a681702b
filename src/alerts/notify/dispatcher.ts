import type { AlertRecord } from "../../domain/alerts.ts";
import type { Log } from "../../domain/log.ts";
import type { Clock } from "../../domain/time/clock.ts";
import type { NotificationRow, Notifications } from "../../store/notifications.ts";
import { DeliveryError, type Note, type NoteKind, type Sender } from "./note.ts";
import type { Target } from "./targets.ts";

/** Alerts that come within this time go out as one message. */
export const GROUP_MS = 3_000;
/** The first pause after a failure; each next one is twice as long, up to the ceiling. */
export const FIRST_PAUSE_MS = 5_000;
export const LONGEST_PAUSE_MS = 15 * 60_000;
/** How long one delivery may take. */
const SEND_TIMEOUT_MS = 30_000;
/** Notes in one message. */
const MAX_NOTES = 100;
/** Notes that may wait for one target: the oldest are thrown away, and that is said. */
export const MAX_WAITING = 1_000;
/** What could not be told for so long is news no more. */
const GIVE_UP_MS = 3 * 86_400_000;
/** At the end what is under way may take so long. */
const STOP_GRACE_MS = 2_000;

/** Tells targets, each in its own order and at its own pace; what is stored is told at least once. */
export interface Dispatcher {
  /** Takes up what an earlier process left, and holds the lanes to the config's targets: also after a reload. */
  configure(targets: readonly Target[]): void;
  nextId(): number;
  /** Stores notes; runs in the caller's transaction. */
  write(notes: readonly Note[]): void;
  /** Sends notes, whether they could be stored or not. */
  send(notes: readonly Note[]): void;
  /** Notes that wait. */
  waiting(): number;
  /** What is not told by then waits in the store. */
  stop(): Promise<void>;
}

export interface DispatcherDeps {
  readonly queue: Notifications;
  readonly senderOf: (target: Target) => Sender;
  readonly clock: Clock;
  readonly timers: { after(ms: number, run: () => void): () => void };
  readonly log: Log;
}

interface Lane {
  target: Target;
  sender: Sender;
  notes: Note[];
  dropped: number;
  failures: number;
  /** Not before, epoch ms; null = as soon as the group is complete. */
  retryAt: number | null;
  busy: Promise<void> | null;
  cancel: () => void;
}

export function createDispatcher({ queue, senderOf, clock, timers, log }: DispatcherDeps): Dispatcher {
  let lanes = new Map<string, Lane>();
  let loaded = false;
  let stopped = false;
  const ending = new AbortController();

  function load(): void {
    if (loaded) return;
    loaded = true;
    const notes = queue.load().flatMap((row) => {
      const note = noteOf(row);
      if (note === null) log.warn("A stored notification cannot be read and is thrown away", { id: row.id });
      return note === null ? [] : [note];
    });
    const strangers = notes.filter(({ target }) => !lanes.has(target));
    if (strangers.length > 0) {
      log.warn("Notifications for targets that are configured no more are thrown away", {
        count: strangers.length,
      });
      forget(strangers);
    }
    take(notes);
  }

  function take(notes: readonly Note[]): void {
    for (const note of notes) {
      const lane = lanes.get(note.target);
      if (lane === undefined) forget([note]);
      else lane.notes.push(note);
    }
    for (const lane of lanes.values()) {
      const tooMany = lane.notes.splice(0, Math.max(0, lane.notes.length - MAX_WAITING));
      if (tooMany.length > 0) {
        lane.dropped += tooMany.length;
        forget(tooMany);
        log.error("Notifications are thrown away: too many wait", {
          target: lane.target.name,
          count: tooMany.length,
        });
      }
      arm(lane);
    }
  }

  /** Removes notes from the store. When that fails they are told once more after a restart: better than never. */
  function forget(notes: readonly Note[]): void {
    try {
      queue.remove(notes.map(({ id }) => id));
    } catch (error) {
      log.warn("Notifications that were told could not be removed from the queue", { error: String(error) });
    }
  }

  function arm(lane: Lane): void {
    lane.cancel();
    const [first] = lane.notes;
    if (first === undefined || lane.busy !== null || stopped) return;
    const now = clock.now();
    const wait = lane.retryAt === null ? first.at + GROUP_MS - now : lane.retryAt - now;
    // The clock may have been set back meanwhile: no wait is longer than the longest pause.
    lane.cancel = timers.after(Math.min(Math.max(wait, 0), LONGEST_PAUSE_MS), () => {
      lane.busy = deliver(lane).finally(() => {
        lane.busy = null;
        arm(lane);
      });
    });
  }

  async function deliver(lane: Lane): Promise<void> {
    const notes = lane.notes.slice(0, MAX_NOTES);
    const { dropped, target } = lane;
    const signal = AbortSignal.any([AbortSignal.timeout(SEND_TIMEOUT_MS), ending.signal]);
    try {
      const remark = await lane.sender.send({ at: clock.now(), test: false, dropped, notes }, signal);
      if (remark !== null) log.warn("A notification was delivered in part", { target: target.name, remark });
      if (lane.failures > 0) log.info("Notifications are delivered again", { target: target.name });
      const sent = new Set(notes);
      lane.notes = lane.notes.filter((note) => !sent.has(note));
      lane.dropped -= dropped;
      lane.failures = 0;
      lane.retryAt = null;
      forget(notes);
    } catch (error) {
      if (!ending.signal.aborted) failed(lane, error);
    }
  }

  function failed(lane: Lane, error: unknown): void {
    const now = clock.now();
    lane.failures++;
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(lane.failures - 1, 20), LONGEST_PAUSE_MS);
    const asked = error instanceof DeliveryError ? (error.retryAfterMs ?? 0) : 0;
    lane.retryAt = now + Math.max(pause, asked);
    const words = error instanceof DeliveryError ? error.message : "an unexpected error";
    // Once an outage; the rest of it is for whoever looks closely.
    const tell = lane.failures === 1 ? log.warn : log.debug;
    const target = lane.target.name;
    tell("A notification was not delivered and is tried again", {
      target,
      error: words,
      failures: lane.failures,
    });
    const old = lane.notes.filter(({ at }) => now - at > GIVE_UP_MS);
    if (old.length === 0) return;
    lane.notes = lane.notes.filter((note) => !old.includes(note));
    forget(old);
    const count = old.length;
    log.error("Notifications could not be delivered for days and are given up", {
      target,
      error: words,
      count,
    });
  }

  return {
    configure(targets) {
      const before = lanes;
      lanes = new Map(
        targets.map((target) => {
          const fresh = { notes: [], dropped: 0, failures: 0, retryAt: null, busy: null, cancel: () => {} };
          const lane: Lane = before.get(target.id) ?? { target, sender: senderOf(target), ...fresh };
          // Another secret file is a way of its own to the same place.
          if (before.has(target.id)) Object.assign(lane, { target, sender: senderOf(target) });
          return [target.id, lane];
        }),
      );
      for (const [id, lane] of before) {
        if (lanes.has(id)) continue;
        lane.cancel();
        forget(lane.notes.splice(0));
      }
      load();
    },
    nextId: queue.nextId,
    write: (notes) =>
      queue.write(notes.map(({ alert, ...note }) => ({ ...note, alert: JSON.stringify(alert) }))),
    send: take,
    waiting: () => [...lanes.values()].reduce((sum, { notes }) => sum + notes.length, 0),
    async stop() {
      stopped = true;
      for (const lane of lanes.values()) lane.cancel();
      const busy = [...lanes.values()].flatMap((lane) => lane.busy ?? []);
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const cancel = timers.after(STOP_GRACE_MS, resolve);
      await Promise.race([Promise.all(busy), late]);
      cancel();
      ending.abort();
      await Promise.all(busy);
    },
  };
}

function noteOf({ id, target, kind, at, alert }: NotificationRow): Note | null {
  try {
    return { id, target, kind: kind as NoteKind, at, alert: JSON.parse(alert) as AlertRecord };
  } catch {
    return null;
  }
}
