import type { ServerPicture } from "../domain/picture.ts";
import { featureKey } from "../domain/polls/feature-picture.ts";
import {
  type NextIds,
  NO_TRACKING,
  releaseAll,
  resumeTracking,
  type Tracked,
  type Tracking,
  trackSessions,
} from "../domain/polls/track-sessions.ts";
import { seatKey } from "../domain/session.ts";
import { inSlices } from "../domain/time/slices.ts";
import { createSessions } from "../history/sessions/sessions.ts";
import type { Store } from "../store/open/open.ts";

/** Of features that nothing is known of (null), each open session was last seen when its server was last read. */
interface LastPicture extends Pick<ServerPicture, "collectedAt"> {
  readonly server: { readonly id: string };
  readonly features: ServerPicture["features"] | null;
}

/**
 * The seats of all servers as they are stored: what a poll changes is known once its commit stands. `order` gives new
 * ids the order in which they go to a feature's rows, see `NextIds`.
 */
export function createTracker(store: Store, order = (ids: number[]) => ids) {
  const sessions = createSessions(store);
  const nextIds: NextIds = (count) => order(Array.from({ length: count }, sessions.nextId));
  const known = new Map<string, Tracking>();
  /** Servers whose stored sessions were not read yet. */
  const unread = new Map<string, LastPicture>();

  function trackingOf(id: string): Tracking {
    const picture = unread.get(id);
    if (picture !== undefined) {
      known.set(id, read(picture));
      unread.delete(id);
    }
    return known.get(id) ?? NO_TRACKING;
  }

  function read(picture: LastPicture): Tracking {
    const { id } = picture.server;
    const seen = picture.features === null ? null : lastSeen(picture.features);
    const readAt = seen === null ? sessions.lastReading(id) : null;
    const open = sessions.open(id).map((session) => {
      const key = `${featureKey(session.daemon, session.feature)}\0${seatKey(session)}`;
      const at = seen === null ? (readAt ?? undefined) : seen.get(key);
      return at !== undefined && at > session.lastSeenAt ? { ...session, lastSeenAt: at } : session;
    });
    const released = open.length === 0 ? sessions.released(id) : [];
    return resumeTracking(open, picture.collectedAt !== null, picture.features ?? [], released);
  }

  return {
    /** A server appears: what is stored of it, beside its last picture, is read when it is first asked for. */
    resume: (picture: LastPicture): void => void unread.set(picture.server.id, picture),
    /** Ends the open sessions of a server that is not configured, in the store; answers how many. Throws StoreError. */
    release(id: string): number {
      const changes = releaseAll(trackingOf(id));
      if (changes.closed.length > 0) store.transaction(() => sessions.write(changes));
      known.delete(id);
      return changes.closed.length;
    },
    /** Servers with open sessions in the store. */
    withSessions: sessions.openServers,
    /**
     * Compares a new picture with the stored open sessions, in slices. Polls of one server come one after the other.
     * `aheadMs` is what speaks against the clock.
     * Rejects with StoreError when the store has to be read and cannot be.
     */
    track: async (picture: ServerPicture, aheadMs: number | null = null): Promise<Tracked> =>
      inSlices(trackSessions(trackingOf(picture.server.id), picture, nextIds, aheadMs)),
    /** Stores what changed; runs in the caller's transaction. */
    write: sessions.write,
    /** What `track` answered is stored: the next poll is compared with it. */
    committed(id: string, { tracking }: Tracked): void {
      known.set(id, tracking);
      unread.delete(id);
    },
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
