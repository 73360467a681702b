import { featureKey } from "../domain/merge-blocks.ts";
import type { ServerPicture } from "../domain/picture.ts";
import { seatKey } from "../domain/session.ts";
import {
  type NextIds,
  NO_TRACKING,
  releaseAll,
  resumeTracking,
  type SessionChanges,
  type Tracked,
  type Tracking,
  trackSessions,
} from "../domain/track-sessions.ts";
import type { Store } from "./open.ts";
import { createSessions } from "./sessions.ts";

/** How long a comparison may hold the event loop. */
const SLICE_MS = 4;

/** Of features that nothing is known of (null), each open session was last seen when its server was last read. */
export interface LastPicture extends Pick<ServerPicture, "collectedAt"> {
  readonly server: { readonly id: string };
  readonly features: ServerPicture["features"] | null;
}

/** The seats of all servers between polls, and their sessions in the store. */
export interface Tracker {
  /** Takes up what is stored of a server that appears, beside its last picture. */
  resume(picture: LastPicture): void;
  /** What ends because a server is no longer configured; null = nothing is open. */
  release(serverId: string): SessionChanges | null;
  /** Ends the tracking of a server, when what its release ends is stored. */
  forget(serverId: string): void;
  /** Servers with open sessions in the store. */
  withSessions(): readonly string[];
  /** Compares a new picture with the open sessions, in slices. Polls of one server come one after the other. */
  track(picture: ServerPicture): Promise<Tracked>;
  /** Stores what changed; runs in the caller's transaction. */
  write(changes: SessionChanges): void;
}

/** `order` gives new ids the order in which they go to a feature's rows, see `NextIds`. */
export function createTracker(store: Store, order = (ids: number[]) => ids): Tracker {
  const sessions = createSessions(store);
  const nextIds: NextIds = (count) => order(Array.from({ length: count }, sessions.nextId));
  const known = new Map<string, Tracking>();
  return {
    resume(picture) {
      const { id } = picture.server;
      const seen = picture.features === null ? null : lastSeen(picture.features);
      const readAt = seen === null ? sessions.lastReading(id) : null;
      const open = sessions.open(id).map((session) => {
        const key = `${featureKey(session.daemon, session.feature)}\0${seatKey(session)}`;
        const at = seen === null ? (readAt ?? undefined) : seen.get(key);
        return at !== undefined && at > session.lastSeenAt ? { ...session, lastSeenAt: at } : session;
      });
      const released = open.length === 0 ? sessions.released(id) : [];
      known.set(id, resumeTracking(open, picture.collectedAt !== null, picture.features ?? [], released));
    },
    release(id) {
      const tracking = known.get(id);
      if (tracking === undefined) return null;
      const changes = releaseAll(tracking);
      return changes.closed.length === 0 ? null : changes;
    },
    forget: (id) => void known.delete(id),
    withSessions: sessions.openServers,
    async track(picture) {
      const { id } = picture.server;
      const steps = trackSessions(known.get(id) ?? NO_TRACKING, picture, nextIds);
      let start = performance.now();
      for (;;) {
        const step = steps.next();
        if (step.done === true) {
          known.set(id, step.value.tracking);
          return step.value;
        }
        if (performance.now() - start < SLICE_MS) continue;
        await new Promise<void>((resume) => setImmediate(resume));
        start = performance.now();
      }
    },
    write: sessions.write,
  };
}

/** An open session's row does not follow every poll: the last picture knows which seats were there, and when. */
function lastSeen(features: ServerPicture["features"]): Map<string, number> {
  const seen = new Map<string, number>();
  for (const { daemon, name, collectedAt, checkouts } of features) {
    if (collectedAt === null) continue;
    const feature = featureKey(daemon, name);
    for (const row of checkouts) seen.set(`${feature}\0${seatKey(row)}`, collectedAt);
  }
  return seen;
}
