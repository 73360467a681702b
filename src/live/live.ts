import { messageOf } from "../domain/error-code.ts";
import type { Log } from "../domain/log.ts";
import type { ServerPicture, Snapshot } from "../domain/picture.ts";
import type { PollOutcome } from "../domain/poll.ts";
import { applyPoll, initialPicture, markStale, staleDeadline } from "../domain/polls/apply-poll.ts";
import { pollEvents, statusChanges } from "../domain/polls/poll-events.ts";
import type { MonitoredServer } from "../domain/server.ts";
import type { Session } from "../domain/session.ts";
import { type Clock, MINUTE_MS, type Timers } from "../domain/time/clock.ts";
import { nextTurn } from "../domain/time/slices.ts";
import type { Recorder } from "../history/recorder.ts";
import { StoreError } from "../store/database/store-error.ts";
import type { Store } from "../store/open/open.ts";
import { createPictures } from "../store/pictures.ts";
import { createServers } from "../store/servers.ts";
import type { Bus } from "./bus.ts";
import { createTracker } from "./sessions.ts";

/** Maximum time until a deadline is checked again, because the wall clock may jump while a timer runs. */
const MAX_WAIT_MS = MINUTE_MS;

/** A change of one server's picture by a poll, by age, or by a new config. */
export interface Change {
  readonly server: MonitoredServer;
  readonly before: ServerPicture | null;
  readonly after: ServerPicture;
  readonly snapshot: Snapshot;
}

interface LiveDeps {
  readonly store: Store;
  readonly commit: Bus["commit"];
  readonly servers: readonly MonitoredServer[];
  /** Records the counts of each poll. If absent, counts are not kept. */
  readonly recorder?: Pick<Recorder, "look">;
  /** Reorders the ids of new sessions. If absent, the ids follow the tool's rows. */
  readonly orderIds?: (ids: number[]) => number[];
  readonly clock: Clock;
  /**
   * Returns by how many ms the clock is ahead of the stored time. Negative means behind, null means that
   * the clock is trusted.
   */
  readonly clockAheadMs?: () => number | null;
  readonly timers: Timers;
  readonly log: Log;
}

export type Live = ReturnType<typeof createLive>;

/** Current state of all servers: immutable snapshots in memory. Each poll is stored before it is shown. */
export function createLive(deps: LiveDeps) {
  const { store, commit, recorder, clock, timers, log } = deps;
  const stored = createPictures(store, clock, log);
  const memory = createServers({ store, clock });
  const tracker = createTracker(store, deps.orderIds);
  const listeners = new Set<(change: Change) => void>();
  const running = new Map<string, Promise<unknown>>();
  /** Servers that a reload removed. A poll of such a server may still be running. */
  const former = new Map<string, MonitoredServer>();
  let configured = deps.servers;
  let noted = false;
  let failing = false;
  let cancelTimer = () => {};
  /**
   * When the timer runs next, epoch ms. Polls only postpone deadlines, so the timer rarely needs to change.
   */
  let armedFor = Number.POSITIVE_INFINITY;
  let stopped = false;
  let pictures = new Map<string, ServerPicture>();
  let snapshot: Snapshot = { version: 0, servers: [] };

  /**
   * Processes one poll: merges it with the previous picture, compares it with the stored sessions, commits
   * and publishes. If the store cannot be read or written, the picture is updated anyway; sessions and
   * counts stay unchanged, and the next poll is compared with the stored ones.
   */
  async function take(outcome: PollOutcome, nextPollAt: number | null): Promise<ServerPicture> {
    const before = pictures.get(outcome.serverId);
    const server = before?.server ?? former.get(outcome.serverId);
    if (server === undefined)
      throw new Error(`A poll of a server that was never configured: ${outcome.serverId}`);
    const polled = applyPoll(before ?? null, server, outcome, nextPollAt);
    if (before === undefined) return polled;
    const facts = await compare(polled);
    let picture = facts?.tracked.picture ?? polled;
    const events =
      facts === null
        ? statusChanges(before, polled)
        : pollEvents(before, picture, facts.tracked.changes, outcome.finishedAt);
    try {
      await commit(() => facts?.write(), events);
      facts?.committed();
    } catch (error) {
      fails(error);
      if (facts !== null) picture = withoutSessions(picture, facts.tracked.changes.opened);
    }
    return show(picture);
  }

  /** Compares a poll with the stored sessions; returns null if they cannot be read. */
  async function compare(polled: ServerPicture) {
    try {
      const tracked = await tracker.track(polled, deps.clockAheadMs?.());
      const recording = recorder?.look(tracked.picture);
      const row = await stored.rowOf(tracked.picture);
      return {
        tracked,
        /** Called in the transaction, and called again if the transaction fails. */
        write() {
          if (!noted) memory.configured(configured);
          stored.write(row);
          tracker.write(tracked.changes);
          recording?.write(tracked.changes.opened);
        },
        committed() {
          noted = true;
          stored.committed(row);
          tracker.committed(polled.server.id, tracked);
          recording?.committed();
          works();
        },
      };
    } catch (error) {
      fails(error);
      return null;
    }
  }

  /**
   * Shows a polled picture. Adapts it first if the config changed, or if it became too old, while the poll
   * was being stored.
   */
  function show(polled: ServerPicture): ServerPicture {
    const before = pictures.get(polled.server.id);
    if (before === undefined || before.server.manager !== polled.server.manager) return polled;
    const current = underConfig(before.server, polled);
    const after = isOld(current) ? markStale(current) : current;
    pictures.set(after.server.id, after);
    publish([{ before, after }]);
    if ((staleDeadline(after) ?? armedFor) < armedFor) arm();
    return after;
  }

  function publish(changed: readonly Pick<Change, "before" | "after">[]): void {
    const servers = configured.flatMap((server) => pictures.get(server.id) ?? []);
    const now: Snapshot = { version: snapshot.version + 1, servers };
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

  function start(): void {
    attempt(note);
    const loaded = stored.load();
    pictures = new Map(configured.map((server) => [server.id, restored(server, loaded.get(server.id))]));
    for (const picture of pictures.values()) tracker.resume(picture);
    // Release servers that were removed from the config while licmond was not running.
    attempt(() => {
      for (const id of tracker.withSessions()) {
        if (pictures.has(id)) continue;
        tracker.resume(loaded.get(id) ?? { server: { id }, collectedAt: null, features: null });
        release(id);
      }
    });
    publish([]);
    arm();
  }

  function release(id: string): void {
    attempt(() => {
      const sessions = tracker.release(id);
      if (sessions > 0)
        log.info("Sessions of a server that is no longer configured were ended", { server: id, sessions });
      return sessions > 0;
    });
  }

  /** Releases a server after its running poll, if there is one. */
  function releaseInTurn(id: string): void {
    void inTurn(id, async () => {
      // A site may remove many servers at once: let the event loop run in between.
      await nextTurn();
      // A reload may have added the server again.
      if (!pictures.has(id)) release(id);
    });
  }

  /** Runs the polls of a server, and its release, one after the other. */
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

  /**
   * Runs work on the store; `work` returns false if it wrote nothing. A failure is logged once until a
   * write succeeds.
   */
  function attempt(work: () => unknown): void {
    try {
      if (work() !== false) works();
    } catch (error) {
      fails(error);
    }
  }

  function works(): void {
    if (!failing) return;
    failing = false;
    log.info("Pictures are stored again");
    // Ends sessions that could not be ended while the store failed.
    for (const id of tracker.withSessions()) if (!pictures.has(id)) releaseInTurn(id);
  }

  function fails(error: unknown): void {
    if (failing) return;
    failing = true;
    log.error("Cannot store pictures: a restart would lose the current ones", {
      error: messageOf(error),
      fix: error instanceof StoreError ? error.fix : null,
    });
  }

  function arm(): void {
    cancelTimer();
    if (stopped) return;
    armedFor = pictures
      .values()
      .reduce((first, each) => Math.min(first, staleDeadline(each) ?? first), Infinity);
    if (armedFor === Infinity) return;
    cancelTimer = timers.after(Math.min(Math.max(armedFor - clock.now(), 0), MAX_WAIT_MS), age);
  }

  function age(): void {
    const old = [...pictures.values()].filter(isOld);
    const changed = old.map((before) => ({ before, after: markStale(before) }));
    for (const { after } of changed) pictures.set(after.server.id, after);
    if (changed.length > 0) publish(changed);
    arm();
  }

  function isOld(picture: ServerPicture): boolean {
    const deadline = staleDeadline(picture);
    return deadline !== null && deadline <= clock.now();
  }

  start();
  return {
    snapshot: (): Snapshot => snapshot,

    /**
     * Stores a poll, then shows it. Polls of one server are processed in call order. Does not reject if the
     * store fails.
     */
    record: (outcome: PollOutcome, nextPollAt: number | null): Promise<ServerPicture> =>
      inTurn(outcome.serverId, () => take(outcome, nextPollAt)),

    /** Applies a reload: adds new servers, removes missing ones, and keeps the numbers of those that stay. */
    setServers(next: readonly MonitoredServer[]): void {
      // Note the servers first: the removed ones were configured until now.
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
      for (const id of before.keys()) if (!pictures.has(id)) releaseInTurn(id);
      publish(
        [...pictures.values()]
          .map((after) => ({ before: before.get(after.server.id) ?? null, after }))
          .filter((change) => change.before !== change.after),
      );
      arm();
    },

    /** Adds a listener. An exception in a listener is logged and does not affect others. */
    subscribe(listener: (change: Change) => void): () => void {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },

    async stop(): Promise<void> {
      stopped = true;
      cancelTimer();
      await Promise.allSettled(running.values());
      attempt(note);
    },
  };
}

/**
 * Removes from the checkouts the ids of sessions that could not be stored, because the next poll assigns
 * other ids.
 */
function withoutSessions(picture: ServerPicture, opened: readonly Session[]): ServerPicture {
  if (opened.length === 0) return picture;
  const unstored = new Set(opened.map(({ id }) => id));
  const features = picture.features.map((feature) => ({
    ...feature,
    checkouts: feature.checkouts.map((row) => {
      const { session, ...rest } = row;
      return session !== undefined && unstored.has(session) ? rest : row;
    }),
  }));
  return { ...picture, features };
}

/** Returns an earlier process's picture, shown as stale until the first poll. */
function restored(server: MonitoredServer, picture: ServerPicture | undefined): ServerPicture {
  if (picture === undefined) return initialPicture(server);
  return { ...markStale(underConfig(server, picture)), nextPollAt: null };
}

/**
 * Adapts a picture to the server's current config. If the manager has changed, it is another server, so the
 * old numbers are dropped. If only the address has changed, it usually is the same server (a member moved
 * or joined), so the numbers stay, as stale, until the next poll.
 */
function underConfig(server: MonitoredServer, picture: ServerPicture): ServerPicture {
  const before = picture.server;
  if (before === server || Bun.deepEquals(before, server)) return picture;
  if (before.manager !== server.manager) return initialPicture(server);
  const moved = { ...picture, server, nextPollAt: server.enabled ? picture.nextPollAt : null };
  return before.address === server.address ? moved : markStale(moved);
}
