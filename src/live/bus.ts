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

/** How far ahead of the clock an id may be and still be taken as its time. */
const TRUSTED_AHEAD_MS = 1_000;
/** Ids reserved at a time: one small write a second under load, none when nothing happens. */
const RESERVE_STEP = 1_000;

type Ids = ReturnType<typeof createIds>;

interface IdsDeps {
  readonly clock: Clock;
  /** Highest id that an earlier process may have given: what it had reserved. 0 for a new store. */
  readonly start: number;
  /** Notes durably that ids up to `highest` may be given. A failure must not stop the ids: it is the store's to report. */
  readonly reserve: (highest: number) => void;
  /**
   * Called once when ids run ahead of the clock: it was set back, or more than one event a millisecond came for long.
   * The id that was asked for has not been used yet: an event about it must wait its turn.
   */
  readonly onAhead: (aheadMs: number) => void;
}

/**
 * Event ids: id = max(now in ms, last id + 1). They increase strictly over all streams, bursts inside one
 * millisecond, restarts and clocks that jump back.
 */
export function createIds({ clock, start, reserve, onAhead }: IdsDeps) {
  let last = start;
  let reserved = start;
  let saidAhead = false;
  return {
    /** The next id, and the instant that it stands for (epoch ms). */
    next(): { readonly id: number; readonly timestamp: number } {
      const now = clock.now();
      // Kept: the functions called below may ask for an id of their own.
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
    /** The highest id given so far, or the start when none was. */
    last: (): number => last,
  };
}

/** Polls and events are committed in groups, this long after the first of a group at the latest. */
export const GROUP_COMMIT_MS = 20;

/** While the store is busy with another program, a group is tried again this often. */
export const BUSY_RETRY_MS = 100;

/** An event on its way to the clients: encoded once for all readers. */
export interface Published {
  readonly id: number;
  readonly event: StoredEvent | MetricsEvent | PictureNotice;
  /** The event as JSON on one line. */
  readonly json: string;
  /** False for metrics and pictures, and for events that the store could not take. */
  readonly stored: boolean;
  /** Makes the rest of a picture's fields, as JSON without braces, as an audience may see them. */
  readonly patch?: (audience: Audience) => string;
}

/** Ids from the first to the last event that went out without being stored. */
interface Hole {
  readonly from: number;
  readonly to: number;
}

interface BusDeps {
  readonly ids: Ids;
  /** Where events are stored. A transaction that fails changes nothing. */
  readonly sink: Pick<Events, "transaction" | "insert" | "insertHole">;
  readonly timers: Timers;
  /** Whether a group that failed is to be tried again, because the store is busy; else it goes out without being stored. */
  readonly isWorthWaiting?: (error: unknown) => boolean;
  /** Called when the store fails and when it works again: once each, never per event. */
  readonly onStore: (state: "failing" | "working", cause: unknown) => void;
}

interface Item {
  readonly work: (() => void) | null;
  readonly events: readonly Published[];
  readonly done: ((error: unknown) => void) | null;
}

export type Bus = ReturnType<typeof createBus>;

/**
 * The one writer: facts and events queue here, are committed in groups, and are published in the order of their ids.
 * Ids are given when an event is queued and the queue is emptied in order, so that a client that has seen id n has seen
 * every event before it. The cost of a commit is shared by all that came within {@link GROUP_COMMIT_MS}.
 */
export function createBus({ ids, sink, timers, isWorthWaiting = () => false, onStore }: BusDeps) {
  let queue: Item[] = [];
  /** Calls the next flush off; null = none is due. */
  let cancel: (() => void) | null = null;
  let failing = false;
  let lastPublished = ids.last();
  /** What the store has no note of yet. */
  let hole: Hole | null = null;
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
    // The order of the keys is the order in which people read them.
    const event = { type, id: `${type}-${id}`, timestamp: iso(timestamp), ...fields } as Published["event"];
    return { id, event, json: JSON.stringify(event), stored };
  };

  /** Answers the error of a group that could not be stored, else null. */
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
   * Commits a group; when that fails, its facts one by one, so that one bad item takes no other with it.
   * Null = it `mayWait`, and is to be tried again.
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
    // That a metrics sample went through shows nothing: it asks nothing of the store.
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
        // The failure may have been logged, which is an event.
        (cancel as (() => void) | null)?.();
        cancel = timers.after(BUSY_RETRY_MS, flushWhenFree);
        return;
      }
      lastPublished = batch.at(-1)?.id ?? lastPublished;
      for (const listener of batch.length > 0 ? listeners : []) {
        try {
          listener(batch);
        } catch (error) {
          // One reader's bug must not keep the event from the others; it surfaces as an uncaught exception.
          queueMicrotask(() => {
            throw error;
          });
        }
      }
    }
  };

  const flushWhenFree = () => empty(true);

  return {
    /** Queues an event; it goes out after its commit. */
    emit: (input: EventInput): void => enqueue({ work: null, events: [encoded(input, true)], done: null }),
    /** Queues a metrics sample: it takes an id and its place in the order, and is not stored. */
    sample: (event: Omit<MetricsEvent, "id" | "timestamp">): void =>
      enqueue({ work: null, events: [encoded(event, false)], done: null }),
    /** Queues a picture's event, which is not stored either; `patch` is called when a client wants it. */
    pass: (notice: Omit<PictureNotice, "id" | "timestamp">, patch: (audience: Audience) => string): void =>
      enqueue({ work: null, events: [{ ...encoded(notice, false), patch }], done: null }),
    /**
     * Queues facts with their events: one transaction, so that neither stands without the other. Resolves once
     * committed; rejects when the store could not take `work`. Then only those of the events are published that may go
     * out unstored, see `NEVER_UNSTORED`: the caller must not take for known what the others say.
     */
    commit: (work: () => void, events: readonly EventInput[]): Promise<void> =>
      new Promise((resolve, reject) => {
        const done = (error: unknown) => (error === null ? resolve() : reject(error));
        enqueue({ work, events: events.map((event) => encoded(event, true)), done });
      }),
    /** Commits and publishes what waits, now: also when the store could take it a moment later. */
    flush: (): void => empty(false),
    subscribe(listener: (batch: readonly Published[]) => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    /** Highest id published so far: everything stored up to it can be read from the store. */
    lastPublished: (): number => lastPublished,
    /** Ids that went out without being stored, and are not noted in the store yet. */
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
