import type { Log } from "../domain/log.ts";
import type { ServerPicture } from "../domain/picture.ts";
import type { PollOutcome } from "../domain/poll.ts";
import { applyPoll } from "../domain/polls/apply-poll.ts";
import type { Tracked } from "../domain/polls/track-sessions.ts";
import type { MonitoredServer } from "../domain/server.ts";
import { HOUR_MS } from "../domain/time/clock.ts";
import { createHistory } from "../history/history.ts";
import type { Store } from "../store/open/open.ts";
import { createPictures } from "../store/pictures.ts";
import { createServers } from "../store/servers.ts";
import { createTracker } from "./sessions.ts";

interface BackFillDeps {
  readonly store: Store;
  readonly servers: readonly MonitoredServer[];
  readonly log: Log;
  /** Same as in `createLive`. */
  readonly orderIds?: (ids: number[]) => number[];
  /**
   * Called after each round with its pictures, before its hours are packed, to store data that belongs to
   * them.
   */
  readonly looked?: (pictures: readonly ServerPicture[], now: number) => Promise<void>;
}

export function hasHistory({ read, sqlite }: Pick<Store, "read" | "sqlite">): boolean {
  return read(() => sqlite.query("SELECT 1 FROM coverage LIMIT 1").get() !== null);
}

/** Takes past polls as the daemon takes polls (counts, sessions, rollups), but without events. */
export function createBackFill({ store, servers, log, orderIds, looked }: BackFillDeps) {
  // Time comes from the polls: an hour ends when they are past it.
  const clock = { time: 0, now: () => clock.time };
  const history = createHistory({ store, clock, log, timers: { after: () => () => {} } });
  const tracker = createTracker(store, orderIds);
  const pictures = new Map<string, ServerPicture>();
  const known = new Map(servers.map((server) => [server.id, server]));
  let packedAt = 0;

  return {
    async take(outcomes: readonly PollOutcome[]): Promise<void> {
      const [first] = outcomes;
      if (first === undefined) return;
      if (packedAt === 0) {
        clock.time = first.finishedAt;
        packedAt = clock.time;
        createServers({ store, clock }).configured(servers);
      }
      const polls: Tracked[] = [];
      for (const outcome of outcomes) {
        const { serverId } = outcome;
        const server = known.get(serverId);
        if (server === undefined) throw new Error(`A poll of a server that is not configured: ${serverId}`);
        const tracked = await tracker.track(applyPoll(pictures.get(serverId) ?? null, server, outcome, null));
        // The next poll is compared with this one. If the transaction fails, everything fails.
        tracker.committed(serverId, tracked);
        pictures.set(serverId, tracked.picture);
        polls.push(tracked);
        clock.time = outcome.finishedAt;
      }
      store.transaction(() => {
        for (const { picture, changes } of polls) {
          tracker.write(changes);
          const recording = history.recorder.look(picture);
          recording.write(changes.opened);
          recording.committed();
        }
      });
      const round = polls.map(({ picture }) => picture);
      await looked?.(round, clock.time);
      if (clock.time - packedAt < HOUR_MS) return;
      history.packAll();
      packedAt = clock.time;
    },

    /** Packs the rest and stores the last pictures, from which the daemon continues. */
    async finish(): Promise<void> {
      history.packAll();
      const stored = createPictures(store, clock, log);
      const rows = await Promise.all([...pictures.values()].map(stored.rowOf));
      store.transaction(() => rows.forEach(stored.write));
    },
  };
}
