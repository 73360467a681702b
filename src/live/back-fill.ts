import type { Log } from "../domain/log.ts";
import type { ServerPicture } from "../domain/picture.ts";
import type { PollOutcome } from "../domain/poll.ts";
import { applyPoll } from "../domain/polls/apply-poll.ts";
import type { Tracked } from "../domain/polls/track-sessions.ts";
import type { MonitoredServer } from "../domain/server.ts";
import { createHistory } from "../history/history.ts";
import { HOUR_MS } from "../history/spans.ts";
import type { Store } from "../store/open/open.ts";
import { createPictures } from "../store/pictures.ts";
import { createServers } from "../store/servers.ts";
import { createTracker } from "./sessions.ts";

/** Polls of the past, taken as the daemon takes them: counts, sessions, rollups. Nothing is told of them. */
export interface BackFill {
  /** Polls in the order of time, stored in one transaction. */
  take(outcomes: readonly PollOutcome[]): Promise<void>;
  /** Packs what is left and stores the last pictures: the daemon goes on from there. */
  finish(): Promise<void>;
}

export interface BackFillDeps {
  readonly store: Store;
  readonly servers: readonly MonitoredServer[];
  readonly log: Log;
  /** As in `LiveDeps`. */
  readonly orderIds?: (ids: number[]) => number[];
  /** Told of each round's pictures at its end, before its hours are packed: what belongs to them is to be stored then. */
  readonly looked?: (pictures: readonly ServerPicture[], now: number) => Promise<void>;
}

/** Whether anything was ever recorded. */
export function hasHistory({ read, sqlite }: Pick<Store, "read" | "sqlite">): boolean {
  return read(() => sqlite.query("SELECT 1 FROM coverage LIMIT 1").get() !== null);
}

export function createBackFill({ store, servers, log, orderIds, looked }: BackFillDeps): BackFill {
  // Time is that of the polls: an hour is over when they are past it.
  const clock = { time: 0, now: () => clock.time };
  const history = createHistory({ store, clock, log, timers: { after: () => () => {} } });
  const tracker = createTracker(store, orderIds);
  const pictures = new Map<string, ServerPicture>();
  const known = new Map(servers.map((server) => [server.id, server]));
  let packedAt = 0;

  return {
    async take(outcomes) {
      const [first] = outcomes;
      if (first === undefined) return;
      if (packedAt === 0) {
        clock.time = first.finishedAt;
        packedAt = clock.time;
        createServers({ store, clock }).configured(servers);
      }
      const polls: Tracked[] = [];
      for (const outcome of outcomes) {
        const server = known.get(outcome.serverId);
        if (server === undefined)
          throw new Error(`A poll of a server that is not configured: ${outcome.serverId}`);
        const polled = applyPoll(pictures.get(server.id) ?? null, server, outcome, null);
        const tracked = await tracker.track(polled);
        // The next poll is compared with it. If the transaction fails, so does the whole.
        tracker.committed(server.id, tracked);
        pictures.set(server.id, tracked.picture);
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
      await looked?.(
        polls.map(({ picture }) => picture),
        clock.time,
      );
      if (clock.time - packedAt < HOUR_MS) return;
      history.packAll();
      packedAt = clock.time;
    },

    async finish() {
      history.packAll();
      const stored = createPictures(store, clock, log);
      const rows = await Promise.all([...pictures.values()].map(stored.rowOf));
      store.transaction(() => rows.forEach(stored.write));
    },
  };
}
