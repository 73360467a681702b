import type { Log } from "../../domain/log.ts";
import type { Clock, Timers } from "../../domain/time/clock.ts";
import type { NotificationRow, Notifications } from "../../store/notifications.ts";
import { DeliveryError, type Note, type NotedAlert, type NoteKind, type Send } from "./note.ts";
import type { Target } from "./targets.ts";

/** Pause after the first failure, and the maximum pause. Each further failure doubles the pause. */
export const FIRST_PAUSE_MS = 5_000;
export const LONGEST_PAUSE_MS = 15 * 60_000;
const SEND_TIMEOUT_MS = 30_000;
const MAX_NOTES = 100;
/**
 * Maximum number of queued notes per target. Beyond this limit, the oldest notes are dropped, and the next
 * message mentions this.
 */
export const MAX_WAITING = 1_000;
/** Time after which an undelivered note is dropped. */
const GIVE_UP_MS = 3 * 86_400_000;
const STOP_GRACE_MS = 2_000;

interface DispatcherDeps {
  readonly queue: Notifications;
  readonly senderOf: (target: Target) => Send;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
}

interface Lane {
  target: Target;
  send: Send;
  notes: Note[];
  dropped: number;
  failures: number;
  /** Earliest time of the next attempt, epoch ms; null = as soon as the group is complete. */
  retryAt: number | null;
  busy: Promise<void> | null;
  cancel: () => void;
}

export type Dispatcher = ReturnType<typeof createDispatcher>;

/**
 * Delivers notes to targets, each in its own order and at its own pace. Stored notes are delivered at least
 * once.
 */
export function createDispatcher({ queue, senderOf, clock, timers, log }: DispatcherDeps) {
  let lanes = new Map<string, Lane>();
  let isLoaded = false;
  let isStopped = false;
  const ending = new AbortController();

  function load(): void {
    const notes = queue.load().flatMap((row) => {
      const note = noteOf(row);
      if (note === null) log.warn("Dropped a stored notification that cannot be read", { id: row.id });
      return note ?? [];
    });
    const count = notes.filter(({ target }) => !lanes.has(target)).length;
    if (count > 0) log.warn("Dropped notifications for targets that are no longer configured", { count });
    take(notes);
  }

  function take(notes: readonly Note[]): void {
    forget(notes.filter(({ target }) => !lanes.has(target)));
    for (const note of notes) lanes.get(note.target)?.notes.push(note);
    for (const lane of lanes.values()) {
      const tooMany = lane.notes.splice(0, Math.max(0, lane.notes.length - MAX_WAITING));
      if (tooMany.length > 0) {
        lane.dropped += tooMany.length;
        forget(tooMany);
        const { name } = lane.target;
        log.error("Dropped notifications: too many are queued", { target: name, count: tooMany.length });
      }
      arm(lane);
    }
  }

  /**
   * Removes notes from the store. If that fails, they are sent again after a restart, which is better than
   * never.
   */
  function forget(notes: readonly Note[]): void {
    try {
      queue.remove(notes.map(({ id }) => id));
    } catch (error) {
      log.warn("Cannot remove delivered notifications from the queue", { error: String(error) });
    }
  }

  function arm(lane: Lane): void {
    lane.cancel();
    const [first] = lane.notes;
    if (first === undefined || lane.busy !== null || isStopped) return;
    const wait = (lane.retryAt ?? first.at + lane.target.groupMs) - clock.now();
    // Never wait longer than the longest pause, because the clock may have been set back.
    lane.cancel = timers.after(Math.min(Math.max(wait, 0), LONGEST_PAUSE_MS), () => {
      lane.busy = deliver(lane).finally(() => {
        lane.busy = null;
        arm(lane);
      });
    });
  }

  async function deliver(lane: Lane): Promise<void> {
    const notes = lane.notes.slice(0, MAX_NOTES);
    const { dropped } = lane;
    const target = lane.target.name;
    const signal = AbortSignal.any([AbortSignal.timeout(SEND_TIMEOUT_MS), ending.signal]);
    try {
      const remark = await lane.send({ at: clock.now(), test: false, dropped, notes }, signal);
      if (remark !== null) log.warn("A notification was partly delivered", { target, remark });
      if (lane.failures > 0) log.info("Notifications are delivered again", { target });
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

  function failed(lane: Lane, reason: unknown): void {
    const now = clock.now();
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(lane.failures, 20), LONGEST_PAUSE_MS);
    const [error, asked] =
      reason instanceof DeliveryError
        ? [reason.message, reason.retryAfterMs ?? 0]
        : ["an unexpected error", 0];
    lane.failures++;
    lane.retryAt = now + Math.max(pause, asked);
    const { failures } = lane;
    const target = lane.target.name;
    // Warn once per outage; log further failures for debugging only.
    const write = failures === 1 ? log.warn : log.debug;
    write("Cannot deliver a notification; retrying", { target, error, failures });
    const old = lane.notes.filter(({ at }) => now - at > GIVE_UP_MS);
    if (old.length === 0) return;
    lane.notes = lane.notes.filter((note) => !old.includes(note));
    forget(old);
    const count = old.length;
    log.error("Dropped notifications that could not be delivered for days", { target, error, count });
  }

  return {
    /** Updates the lanes to the configured targets, at startup and after a reload. */
    configure(targets: readonly Target[]): void {
      const before = lanes;
      lanes = new Map();
      for (const target of targets) {
        const fresh = { notes: [], dropped: 0, failures: 0, retryAt: null, busy: null, cancel: () => {} };
        const lane = before.get(target.id) ?? { ...fresh, target, send: senderOf(target) };
        // A target's id does not contain its secret file, so always use the new sender.
        if (before.has(target.id)) Object.assign(lane, { target, send: senderOf(target) });
        lanes.set(target.id, lane);
      }
      for (const [id, lane] of before) {
        if (lanes.has(id)) continue;
        lane.cancel();
        forget(lane.notes.splice(0));
      }
      if (!isLoaded) load();
      isLoaded = true;
    },
    nextId: queue.nextId,
    write: (notes: readonly Note[]): void =>
      queue.write(notes.map(({ alert, ...note }) => ({ ...note, alert: JSON.stringify(alert) }))),
    send: take,
    waiting: (): number => lanes.values().reduce((sum, { notes }) => sum + notes.length, 0),
    /** Undelivered notes stay in the store. */
    async stop(): Promise<void> {
      isStopped = true;
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

function noteOf({ kind, alert, ...row }: NotificationRow): Note | null {
  try {
    const stored = JSON.parse(alert) as NotedAlert;
    // Notes from before 0.2 have fewer fields.
    const { startedAt: firedAt, server: serverName } = stored;
    const before = { peakValue: null, firedAt, durationSeconds: 0, serverName, holders: [] };
    return { ...row, kind: kind as NoteKind, alert: { ...before, ...stored } };
  } catch {
    return null;
  }
}
