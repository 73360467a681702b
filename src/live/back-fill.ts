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
  /** As in `createLive`. */
  readonly orderIds?: (ids: number[]) => number[];
  /** Called with each round's pictures at its end, before its hours are packed: it stores what belongs to them. */
  readonly looked?: (pictures: readonly ServerPicture[], now: number) => Promise<void>;
}

/** Whether anything was ever recorded. */
export function hasHistory({ read, sqlite }: Pick<Store, "read" | "sqlite">): boolean {
  return read(() => sqlite.query("SELECT 1 FROM coverage LIMIT 1").get() !== null);
}

/** Takes polls of the past as the daemon takes polls: counts, sessions, rollups. No event is made of them. */
export function createBackFill({ store, servers, log, orderIds, looked }: BackFillDeps) {
  // Time is that of the polls: an hour is over when they are past it.
  const clock = { time: 0, now: () => clock.time };
  const history = createHistory({ store, clock, log, timers: { after: () => () => {} } });
  const tracker = createTracker(store, orderIds);
  const pictures = new Map<string, ServerPicture>();
  const known = new Map(servers.map((server) => [server.id, server]));
  let packedAt = 0;

  return {
    /** Polls in the order of time, stored in one transaction. */
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
        // The next poll is compared with it. If the transaction fails, so does the whole.
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

    /** Packs what is left and stores the last pictures: the daemon goes on from there. */
    async finish(): Promise<void> {
      history.packAll();
      const stored = createPictures(store, clock, log);
      const rows = await Promise.all([...pictures.values()].map(stored.rowOf));
      store.transaction(() => rows.forEach(stored.write));
    },
  };
}
