import { applyPoll, initialPicture, markStale, staleDeadline } from "../domain/apply-poll.ts";
import type { Clock } from "../domain/clock.ts";
import type { EventInput } from "../domain/events.ts";
import type { Log } from "../domain/log.ts";
import type { ServerPicture, Snapshot } from "../domain/picture.ts";
import type { PollOutcome } from "../domain/poll.ts";
import { pollEvents, statusChanges } from "../domain/poll-events.ts";
import type { MonitoredServer } from "../domain/server.ts";
import { whenFree } from "./busy.ts";
import type { Recorder } from "./history/recorder.ts";
import type { Store } from "./open.ts";
import { type Commit, createPictures } from "./pictures.ts";
import { createServers } from "./servers.ts";
import { StoreError } from "./store-error.ts";
import { createTracker } from "./tracker.ts";
import { restored, underConfig } from "./under-config.ts";

/** A deadline is looked at again this often, because the wall clock may jump while a timer waits. */
const MAX_WAIT_MS = 60_000;

/** One server's picture became another: by a poll, by age, or by a new config. */
export interface Change {
  readonly server: MonitoredServer;
  /** Null when the server is new. */
  readonly before: ServerPicture | null;
  readonly after: ServerPicture;
  /** The snapshot that holds `after`. */
  readonly snapshot: Snapshot;
}

/** What licmond believes now: immutable snapshots in memory, written behind to the store. */
export interface Live {
  snapshot(): Snapshot;
  /**
   * Lays a poll over what was known, stores it, and then tells the subscribers. Polls of one server are taken in the
   * order of the calls. When the store fails, the picture goes on all the same and this does not reject; of sessions and
   * counts the poll is as if nobody had looked, and the next one is compared with what is stored.
   */
  record(outcome: PollOutcome, nextPollAt: number | null): Promise<ServerPicture>;
  /** After a reload: new servers appear, removed ones vanish, the numbers of the others stay. */
  setServers(servers: readonly MonitoredServer[]): void;
  /** A listener that throws is logged and does not keep others from being told. */
  subscribe(listener: (change: Change) => void): () => void;
  /** Ends the timer and waits for what is being stored. */
  stop(): Promise<void>;
}

export interface LiveDeps {
  readonly store: Store;
  /** Commits facts with the events that tell of them: the bus. */
  readonly commit: (work: () => void, events: readonly EventInput[]) => Promise<void>;
  readonly servers: readonly MonitoredServer[];
  /** Keeps the counts of each poll; none = they are not kept. */
  readonly recorder?: Recorder;
  /** Gives ids of new sessions another order than that of the tool's rows; none = they keep it. */
  readonly orderIds?: (ids: number[]) => number[];
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
}

export interface Timers {
  /** Calls `run` after `ms`; the answer calls it off. */
  after(ms: number, run: () => void): () => void;
}

export function createLive({
  store,
  commit,
  servers,
  recorder,
  orderIds,
  clock,
  timers,
  log,
}: LiveDeps): Live {
  const stored = createPictures({ store, clock, log });
  const memory = createServers({ store, clock });
  const tracker = createTracker(store, orderIds);
  const listeners = new Set<(change: Change) => void>();
  const running = new Map<string, Promise<unknown>>();
  /** Servers that a reload removed: a poll of theirs may still be under way. */
  const former = new Map<string, MonitoredServer>();
  /** Removed servers whose sessions could not be ended, because the store failed. */
  const unreleased = new Set<string>();
  let configured: readonly MonitoredServer[] = servers;
  let noted = false;
  let failing = false;
  let cancelTimer = () => {};
  let stopped = false;
  let pictures = new Map<string, ServerPicture>();
  let snapshot: Snapshot = { version: 0, servers: [] };

  function start(): void {
    attempt(note);
    const loaded = stored.load();
    pictures = new Map(configured.map((server) => [server.id, restored(server, loaded.get(server.id))]));
    for (const picture of pictures.values()) tracker.resume(picture);
    attempt(() => releaseFormer(loaded));
    publish([]);
    arm();
  }

  /** Ends what servers left open that were taken out of the config while no process ran. */
  function releaseFormer(loaded: ReadonlyMap<string, ServerPicture>): void {
    for (const id of tracker.withSessions()) {
      if (pictures.has(id)) continue;
      tracker.resume(loaded.get(id) ?? { server: { id }, collectedAt: null, features: null });
      releaseOrLeave(id);
    }
  }

  /** Ends the open sessions of a server that is not configured (any more). */
  function release(id: string): void {
    const changes = tracker.release(id);
    if (changes !== null) {
      store.transaction(() => tracker.write(changes));
      log.info("Sessions of a server that is no longer configured were ended", {
        ...{ server: id, sessions: changes.closed.length },
      });
    }
    tracker.forget(id);
  }

  /** Behind the poll that may still be under way. */
  function releaseInTurn(id: string): void {
    unreleased.delete(id);
    const turn = async () => {
      // A site may take out many at once: others get the event loop between them.
      await new Promise<void>((resume) => setImmediate(resume));
      // It may be back by now.
      if (!pictures.has(id)) releaseOrLeave(id);
    };
    void inTurn(id, turn);
  }

  function releaseOrLeave(id: string): void {
    try {
      release(id);
    } catch (error) {
      unreleased.add(id);
      fails(error);
    }
  }

  /** The store works: sessions of removed servers that it could not end before end now. */
  function releaseLeft(): void {
    for (const id of unreleased) releaseInTurn(id);
  }

  /** Polls of one server, and what ends them, one after the other. */
  function inTurn<T>(id: string, turn: () => Promise<T>): Promise<T> {
    const done = (running.get(id) ?? Promise.resolve()).then(turn, turn);
    running.set(id, done);
    const forget = () => {
      if (running.get(id) === done) running.delete(id);
    };
    done.then(forget, forget);
    return done;
  }

  function note(): void {
    memory.configured(configured);
    noted = true;
  }

  /** Runs work on the store; a failure is told once, until the store works again. */
  function attempt(work: () => void): void {
    try {
      work();
      works();
    } catch (error) {
      fails(error);
    }
  }

  function works(): void {
    if (failing) log.info("Pictures are stored again");
    failing = false;
  }

  function fails(error: unknown): void {
    if (failing) return;
    failing = true;
    log.error("Pictures cannot be stored: a restart would not know what is known now", {
      error: error instanceof Error ? error.message : String(error),
      fix: error instanceof StoreError ? error.fix : null,
    });
  }

  function publish(changed: readonly { before: ServerPicture | null; after: ServerPicture }[]): void {
    const list = configured.flatMap((server) => pictures.get(server.id) ?? []);
    const now: Snapshot = { version: snapshot.version + 1, servers: list };
    snapshot = now;
    for (const { before, after } of changed) {
      for (const listener of [...listeners]) {
        try {
          listener({ server: after.server, before, after, snapshot: now });
        } catch (error) {
          log.error("A listener to changes failed", { server: after.server.id, error: String(error) });
        }
      }
    }
  }

  /** Waits for the next moment at which numbers become too old. */
  function arm(): void {
    cancelTimer();
    if (stopped) return;
    const deadlines = [...pictures.values()].flatMap((picture) => staleDeadline(picture) ?? []);
    if (deadlines.length === 0) return;
    const wait = deadlines.reduce((a, b) => Math.min(a, b)) - clock.now();
    cancelTimer = timers.after(Math.min(Math.max(wait, 0), MAX_WAIT_MS), age);
  }

  function age(): void {
    const now = clock.now();
    const changed = [];
    for (const [id, before] of pictures) {
      const deadline = staleDeadline(before);
      if (deadline === null || deadline > now) continue;
      const after = markStale(before);
      pictures.set(id, after);
      changed.push({ before, after });
    }
    if (changed.length > 0) publish(changed);
    arm();
  }

  async function take(outcome: PollOutcome, nextPollAt: number | null): Promise<ServerPicture> {
    const id = outcome.serverId;
    const before = pictures.get(id);
    const server = before?.server ?? former.get(id);
    if (server === undefined) throw new Error(`A poll of a server that was never configured: ${id}`);
    const polled = applyPoll(before ?? null, server, outcome, nextPollAt);
    if (before === undefined) return polled;
    let after = polled;
    let commitFacts: Commit = (work) => commit(work, statusChanges(before, polled));
    let tried = false;
    try {
      if (!noted) await whenFree(note, store.busy);
      const tracked = await tracker.track(polled);
      after = tracked.picture;
      const { changes } = tracked;
      const events = pollEvents(before, after, changes, outcome.finishedAt);
      const recording = recorder?.look(after);
      commitFacts = async (work) => {
        const facts = () => {
          work();
          tracker.write(changes);
          recording?.write(changes.opened);
        };
        await commit(facts, events);
        tracker.committed(id, tracked);
        recording?.committed();
      };
      await stored.save(after, (work) => {
        tried = true;
        return commitFacts(work);
      });
      works();
      releaseLeft();
    } catch (error) {
      fails(error);
      // What happened is told although its picture could not be stored.
      if (!tried) await commitFacts(() => {}).catch(fails);
    }
    return settle(after);
  }

  /** Shows a stored picture, unless the config or the clock went on while it was being written. */
  function settle(stored: ServerPicture): ServerPicture {
    const before = pictures.get(stored.server.id);
    if (before === undefined || before.server.manager !== stored.server.manager) return stored;
    const current = underConfig(before.server, stored);
    const after = isOld(current) ? markStale(current) : current;
    pictures.set(after.server.id, after);
    publish([{ before, after }]);
    arm();
    return after;
  }

  function isOld(picture: ServerPicture): boolean {
    const deadline = staleDeadline(picture);
    return deadline !== null && deadline <= clock.now();
  }

  start();
  return {
    snapshot: () => snapshot,

    record(outcome, nextPollAt) {
      return inTurn(outcome.serverId, () => take(outcome, nextPollAt));
    },

    setServers(next) {
      // The removed ones were configured until now.
      attempt(note);
      const before = pictures;
      for (const server of configured) former.set(server.id, server);
      for (const server of next) former.delete(server.id);
      configured = next;
      noted = false;
      attempt(note);
      pictures = new Map(
        next.map((server) => {
          const picture = before.get(server.id);
          return [server.id, picture === undefined ? initialPicture(server) : underConfig(server, picture)];
        }),
      );
      for (const picture of pictures.values()) if (!before.has(picture.server.id)) tracker.resume(picture);
      const changed = [...pictures.values()]
        .map((after) => ({ before: before.get(after.server.id) ?? null, after }))
        .filter((change) => change.before !== change.after);
      for (const id of before.keys()) if (!pictures.has(id)) releaseInTurn(id);
      publish(changed);
      arm();
    },

    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },

    async stop() {
      stopped = true;
      cancelTimer();
      await Promise.allSettled(running.values());
      attempt(note);
    },
  };
}
