import {
  type AnyEvent,
  type EventInput,
  type MetricsEvent,
  NEVER_UNSTORED,
  type StoredEvent,
} from "../domain/events.ts";
import { iso } from "../domain/time/clock.ts";
import type { Timers } from "../domain/time/timers.ts";
import type { Ids } from "./ids.ts";

/** Polls and events are committed in groups, this long after the first of a group at the latest. */
export const GROUP_COMMIT_MS = 20;

/** While the store is busy with another program, a group is tried again this often. */
export const BUSY_RETRY_MS = 100;

/** An event on its way to the clients: encoded once, whoever reads it. */
export interface Published {
  readonly id: number;
  readonly event: AnyEvent;
  /** The event as JSON on one line. */
  readonly json: string;
  /** False for metrics, and for events that the store could not take. */
  readonly stored: boolean;
}

/** What the bus asks of the store. */
export interface EventSink {
  /** Runs `work` in one transaction; throws when it could not be committed, and then nothing of it stands. */
  transaction(work: () => void): void;
  insert(id: number, event: StoredEvent, json: string): void;
  /** Notes that ids in [from, to] were told but not stored. */
  insertHole(from: number, to: number): void;
}

export interface Bus {
  /** Queues an event; it is told after its commit. */
  emit(input: EventInput): void;
  /** Queues a metrics sample: it takes an id and its place in the order, and is not stored. */
  sample(event: Omit<MetricsEvent, "id" | "timestamp">): void;
  /**
   * Queues facts with the events that tell of them: one transaction, so that neither stands without the other.
   * Resolves once committed; rejects when the store could not take `work`. Then only those of the events are published
   * that may go out unstored, see `NEVER_UNSTORED`: the caller must not take for known what the others say.
   */
  commit(work: () => void, events: readonly EventInput[]): Promise<void>;
  /** Commits and tells what waits, now: also when the store could take it a moment later. */
  flush(): void;
  subscribe(listener: (batch: readonly Published[]) => void): () => void;
  /** Highest id told so far: everything stored up to it can be read from the store. */
  lastPublished(): number;
  /** Ranges of ids that were told but not stored, and not noted in the store yet. */
  holes(): readonly Hole[];
}

export interface Hole {
  readonly from: number;
  readonly to: number;
}

export interface BusDeps {
  readonly ids: Ids;
  readonly sink: EventSink;
  readonly timers: Timers;
  /** Whether a group that failed is to be tried again, because the store is busy; else it is told without being stored. */
  readonly isWorthWaiting?: (error: unknown) => boolean;
  /** Told when the store fails and when it works again: once each, never per event. */
  readonly onStore: (state: "failing" | "working", cause: unknown) => void;
}

interface Item {
  readonly work: (() => void) | null;
  readonly events: readonly Published[];
  readonly done: ((error: unknown) => void) | null;
}

/**
 * The one writer: facts and events queue here, are committed in groups, and are told in the order of their ids.
 * Ids are given when an event is queued and the queue is emptied in order, so that whoever saw id n has seen
 * every event before it. The cost of a commit is shared by all that came within {@link GROUP_COMMIT_MS}.
 */
export function createBus({ ids, sink, timers, isWorthWaiting = () => false, onStore }: BusDeps): Bus {
  let queue: Item[] = [];
  /** Calls the next flush off; null = none is due. */
  let cancel: (() => void) | null = null;
  let failing = false;
  let lastPublished = ids.last();
  const holes = createHoles();
  const listeners = new Set<(batch: readonly Published[]) => void>();

  const enqueue = (item: Item) => {
    queue.push(item);
    cancel ??= timers.after(GROUP_COMMIT_MS, flushWhenFree);
  };

  const stored = (input: EventInput): Published => {
    const { id, timestamp } = ids.next();
    // The order of the keys is the order in which people read them.
    const { type, ...fields } = input;
    const event = { type, id: `${type}-${id}`, timestamp: iso(timestamp), ...fields } as StoredEvent;
    return { id, event, json: JSON.stringify(event), stored: true };
  };

  const write = (items: readonly Item[]) => {
    sink.transaction(() => {
      for (const hole of holes.list) sink.insertHole(hole.from, hole.to);
      for (const { work, events } of items) {
        work?.();
        for (const { id, event, json, stored } of events) {
          if (stored) sink.insert(id, event as StoredEvent, json);
        }
      }
    });
    holes.clear();
  };

  const tryWrite = (items: readonly Item[]): unknown => {
    try {
      write(items);
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
    /** Something is to be stored. That a metrics sample went through shows nothing: it asks nothing of the store. */
    const asksStore = holes.list.length > 0 || items.some(hasToBeStored);
    const error = tryWrite(items);
    if (error !== null && mayWait && isWorthWaiting(error)) return null;
    const isOne = error === null || items.length === 1;
    const errors = items.map((item) => (isOne ? error : tryWrite([item])));
    const told = items.flatMap(({ events, done }, index) => {
      const itemError = errors[index] ?? null;
      done?.(itemError);
      return itemError === null ? events : events.filter(mayGoUnstored).map(unstored);
    });
    const works =
      error === null ? asksStore : items.some((item, index) => errors[index] === null && hasToBeStored(item));
    const failed = told.some((event) => !event.stored && event.event.type !== "metrics");
    if (failed) holes.note(told);
    if (failed ? !failing : failing && works) {
      failing = failed;
      onStore(failed ? "failing" : "working", errors.findLast((each) => each !== null) ?? error);
    }
    return told;
  };

  const empty = (mayWait: boolean) => {
    cancel?.();
    cancel = null;
    while (queue.length > 0) {
      const items = queue;
      queue = [];
      const told = commitGroup(items, mayWait);
      if (told === null) {
        queue = items.concat(queue);
        // What failed may have said so by an event.
        (cancel as (() => void) | null)?.();
        cancel = timers.after(BUSY_RETRY_MS, flushWhenFree);
        return;
      }
      const newest = told.at(-1);
      if (newest === undefined) continue;
      lastPublished = newest.id;
      for (const listener of listeners) {
        try {
          listener(told);
        } catch (error) {
          // One reader's bug must not keep the event from the others; it surfaces as an uncaught exception.
          queueMicrotask(() => {
            throw error;
          });
        }
      }
    }
  };

  const flush = () => empty(false);
  const flushWhenFree = () => empty(true);

  return {
    emit: (input) => enqueue({ work: null, events: [stored(input)], done: null }),
    sample({ type, ...fields }) {
      const { id, timestamp } = ids.next();
      const event: MetricsEvent = { type, id: `${type}-${id}`, timestamp: iso(timestamp), ...fields };
      enqueue({
        work: null,
        events: [{ id, event, json: JSON.stringify(event), stored: false }],
        done: null,
      });
    },
    commit: (work, events) =>
      new Promise((resolve, reject) => {
        const done = (error: unknown) => (error === null ? resolve() : reject(error));
        enqueue({ work, events: events.map(stored), done });
      }),
    flush,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    lastPublished: () => lastPublished,
    holes: () => holes.list,
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

const MAX_HOLES = 100;

/** The ranges of ids that were told but not stored, in order, until the store has a note of them. */
function createHoles() {
  const list: Hole[] = [];
  let open = false;
  return {
    list,
    note(told: readonly Published[]) {
      for (const { id, stored, event } of told) {
        if (event.type === "metrics") continue;
        const last = list.at(-1);
        if (stored) open = false;
        // Past the bound the ranges grow together rather than be forgotten.
        else if (last !== undefined && (open || list.length >= MAX_HOLES)) {
          list[list.length - 1] = { from: last.from, to: id };
        } else {
          list.push({ from: id, to: id });
          open = true;
        }
      }
    },
    clear() {
      list.length = 0;
      open = false;
    },
  };
}
