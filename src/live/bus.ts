import {
  type EventInput,
  type MetricsEvent,
  NEVER_UNSTORED,
  type PictureNotice,
  type StoredEvent,
} from "../domain/events.ts";
import { type Clock, iso, type Timers } from "../domain/time/clock.ts";
import type { Audience } from "../domain/words.ts";
import type { Events } from "../store/events.ts";

/** Maximum lead of an id (epoch ms) over the clock. With more, the id is not its event's time. */
const TRUSTED_AHEAD_MS = 1_000;
/** Number of ids reserved at a time. This makes one small write a second under load, and none when idle. */
const RESERVE_STEP = 1_000;

type Ids = ReturnType<typeof createIds>;

interface IdsDeps {
  readonly clock: Clock;
  /** Highest id that an earlier process has reserved and may have used; 0 for a new store. */
  readonly start: number;
  /** Records durably that ids up to `highest` may be used. Must not throw: the store reports its failures. */
  readonly reserve: (highest: number) => void;
  /**
   * Called once when ids run ahead of the clock, because the clock was set back or more than one event per
   * millisecond was published for a long time. The current id is not used yet, so an event about this must
   * be queued, not published.
   */
  readonly onAhead: (aheadMs: number) => void;
}

/**
 * Event ids: id = max(now in ms, last id + 1). They strictly increase across all streams, bursts within one
 * millisecond, restarts, and clocks that jump back.
 */
export function createIds({ clock, start, reserve, onAhead }: IdsDeps) {
  let last = start;
  let reserved = start;
  let saidAhead = false;
  return {
    next(): { readonly id: number; readonly timestamp: number } {
      const now = clock.now();
      // `reserve` and `onAhead` may request ids themselves.
      const id = Math.max(now, last + 1);
      last = id;
      if (id > reserved) {
        reserved = id + RESERVE_STEP;
        reserve(reserved);
      }
      const ahead = id - now;
      if (ahead <= TRUSTED_AHEAD_MS) {
        if (ahead === 0) saidAhead = false;
        return { id, timestamp: id };
      }
      if (!saidAhead) {
        saidAhead = true;
        onAhead(ahead);
      }
      return { id, timestamp: now };
    },
    last: (): number => last,
  };
}

/** Maximum wait from the first poll or event of a group until the group is committed. */
export const GROUP_COMMIT_MS = 20;

/** Interval at which a group is retried while another program keeps the store busy. */
export const BUSY_RETRY_MS = 100;

export interface Published {
  readonly id: number;
  readonly event: StoredEvent | MetricsEvent | PictureNotice;
  readonly json: string;
  /** False for metrics and pictures, and for events that the store could not keep. */
  readonly stored: boolean;
  /** Returns the remaining fields of a picture for an audience, as JSON without braces. */
  readonly patch?: (audience: Audience) => string;
}

interface Hole {
  readonly from: number;
  readonly to: number;
}

interface BusDeps {
  readonly ids: Ids;
  /** Where events are stored. A failed transaction changes nothing. */
  readonly sink: Pick<Events, "transaction" | "insert" | "insertHole">;
  readonly timers: Timers;
  /**
   * Reports whether to retry a failed group because the store is busy. If not, the group is published
   * without being stored.
   */
  readonly isWorthWaiting?: (error: unknown) => boolean;
  /** Called once when the store fails and once when it works again, never per event. */
  readonly onStore: (state: "failing" | "working", cause: unknown) => void;
}

interface Item {
  readonly work: (() => void) | null;
  readonly events: readonly Published[];
  readonly done: ((error: unknown) => void) | null;
}

export type Bus = ReturnType<typeof createBus>;

/**
 * Queues facts and events, commits them in groups, and publishes events in id order. Ids are assigned on
 * queueing, so a client that has received id n has received every earlier event. Items that arrive within
 * {@link GROUP_COMMIT_MS} share one commit.
 */
export function createBus({ ids, sink, timers, isWorthWaiting = () => false, onStore }: BusDeps) {
  let queue: Item[] = [];
  let cancel: (() => void) | null = null;
  let failing = false;
  let lastPublished = ids.last();
  /** Ids of events that were published without being stored; the store has no record of this hole yet. */
  let hole: Hole | null = null;
  let isDelivering = false;
  const listeners = new Set<(batch: readonly Published[]) => void>();

  const enqueue = (item: Item) => {
    queue.push(item);
    cancel ??= timers.after(GROUP_COMMIT_MS, flushWhenFree);
  };

  const encoded = (
    { type, ...fields }: Omit<Published["event"], "id" | "timestamp">,
    stored: boolean,
  ): Published => {
    const { id, timestamp } = ids.next();
    // Keys are in the order in which people read them.
    const event = { type, id: `${type}-${id}`, timestamp: iso(timestamp), ...fields } as Published["event"];
    return { id, event, json: JSON.stringify(event), stored };
  };

  const tryWrite = (items: readonly Item[]): unknown => {
    try {
      sink.transaction(() => {
        if (hole !== null) sink.insertHole(hole.from, hole.to);
        for (const { work, events } of items) {
          work?.();
          for (const { id, event, json, stored } of events)
            if (stored) sink.insert(id, event as StoredEvent, json);
        }
      });
      hole = null;
      return null;
    } catch (error) {
      return error ?? new Error("the store failed");
    }
  };

  /**
   * Commits a group; if that fails, commits its facts one by one, so that a bad item affects no other.
   * Returns null if the group `mayWait` and should be retried.
   */
  const commitGroup = (items: readonly Item[], mayWait: boolean): Published[] | null => {
    const owesNote = hole !== null;
    const error = tryWrite(items);
    if (error !== null && mayWait && isWorthWaiting(error)) return null;
    const isOne = error === null || items.length === 1;
    const errors = items.map((item) => (isOne ? error : tryWrite([item])));
    const batch = items.flatMap(({ events, done }, index) => {
      const itemError = errors[index] ?? null;
      done?.(itemError);
      return itemError === null ? events : events.filter(mayGoUnstored).map(unstored);
    });
    const lost = items.flatMap(({ events }, index) =>
      errors[index] === null ? [] : events.filter((event) => event.stored && mayGoUnstored(event)),
    );
    const [first] = lost;
    if (first !== undefined) hole = { from: hole?.from ?? first.id, to: lost.at(-1)?.id ?? first.id };
    // Metrics samples alone do not prove that the store works, because samples are not stored.
    const works =
      (error === null && owesNote) ||
      items.some((item, index) => errors[index] === null && hasToBeStored(item));
    if (first !== undefined ? !failing : failing && works) {
      failing = first !== undefined;
      onStore(failing ? "failing" : "working", errors.findLast((each) => each !== null) ?? error);
    }
    return batch;
  };

  const empty = (mayWait: boolean) => {
    cancel?.();
    cancel = null;
    while (queue.length > 0) {
      const items = queue;
      queue = [];
      const batch = commitGroup(items, mayWait);
      if (batch === null) {
        queue = items.concat(queue);
        // Cancel the timer, because logging the failure may have queued another event, which starts a
        // timer.
        (cancel as (() => void) | null)?.();
        cancel = timers.after(BUSY_RETRY_MS, flushWhenFree);
        return;
      }
      deliver(batch);
    }
  };

  function deliver(batch: readonly Published[]): void {
    if (batch.length === 0) return;
    lastPublished = batch.at(-1)?.id ?? lastPublished;
    isDelivering = true;
    for (const listener of listeners) {
      try {
        listener(batch);
      } catch (error) {
        // A bug in one listener must not keep the event from the other listeners; the bug surfaces as an
        // uncaught exception.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
    isDelivering = false;
  }

  /**
   * Publishes an event that is not stored. It is published at once, unless events or a hole wait to be
   * stored: then it follows them.
   */
  const publish = (event: Published) => {
    if (queue.length === 0 && hole === null && !isDelivering) deliver([event]);
    else enqueue({ work: null, events: [event], done: null });
  };

  const flushWhenFree = () => empty(true);

  return {
    emit: (input: EventInput): void => enqueue({ work: null, events: [encoded(input, true)], done: null }),
    /** Publishes a metrics sample: the sample takes an id and a place in the order, but is not stored. */
    sample: (event: Omit<MetricsEvent, "id" | "timestamp">): void => publish(encoded(event, false)),
    /** Publishes a picture event, which is not stored. `patch` is called when a client needs the patch. */
    pass: (notice: Omit<PictureNotice, "id" | "timestamp">, patch: (audience: Audience) => string): void =>
      publish({ ...encoded(notice, false), patch }),
    /**
     * Queues facts with their events in one transaction. Resolves after the commit. If `work` could not be
     * stored, rejects, and publishes only the events outside of `NEVER_UNSTORED`.
     */
    commit: (work: () => void, events: readonly EventInput[]): Promise<void> =>
      new Promise((resolve, reject) => {
        const done = (error: unknown) => (error === null ? resolve() : reject(error));
        enqueue({ work, events: events.map((event) => encoded(event, true)), done });
      }),
    /** Commits and publishes the queue now, without waiting for a busy store. */
    flush: (): void => empty(false),
    subscribe(listener: (batch: readonly Published[]) => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    /** Returns the highest published id. All stored events up to this id can be read from the store. */
    lastPublished: (): number => lastPublished,
    /** Returns ids that were published without being stored and are not recorded in the store yet. */
    holes: (): readonly Hole[] => (hole === null ? [] : [hole]),
  };
}

function hasToBeStored({ work, events }: Item): boolean {
  return work !== null || events.some(({ stored }) => stored);
}

function mayGoUnstored({ event }: Published): boolean {
  return !NEVER_UNSTORED.has(event.type);
}

function unstored(event: Published): Published {
  return { ...event, stored: false };
}
