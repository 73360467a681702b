import { featureKey } from "../domain/history.ts";
import type { ServerPicture } from "../domain/picture.ts";
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

/** If the features are unknown (null), each open session counts as seen when its server was last read. */
interface LastPicture extends Pick<ServerPicture, "collectedAt"> {
  readonly server: { readonly id: string };
  readonly features: ServerPicture["features"] | null;
}

/**
 * Tracks the stored sessions of all servers. The changes of a poll apply after its commit. `order` shuffles
 * new ids before they are assigned to a feature's rows, see `NextIds`.
 */
export function createTracker(store: Store, order = (ids: number[]) => ids) {
  const sessions = createSessions(store);
  const nextIds: NextIds = (count) => order(Array.from({ length: count }, sessions.nextId));
  const known = new Map<string, Tracking>();
  /** Servers whose stored sessions have not been read yet. */
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
    /** Adds a server with its last picture; its stored sessions are read on first use. */
    resume: (picture: LastPicture): void => void unread.set(picture.server.id, picture),
    /**
     * Ends the stored open sessions of a server that is not configured and returns their number. Throws
     * StoreError.
     */
    release(id: string): number {
      const changes = releaseAll(trackingOf(id));
      if (changes.closed.length > 0) store.transaction(() => sessions.write(changes));
      known.delete(id);
      return changes.closed.length;
    },
    withSessions: sessions.openServers,
    /**
     * Compares a new picture with the stored open sessions, in slices. Polls of one server must come one
     * after the other. `aheadMs` is how far the clock may be ahead. Rejects with StoreError if the sessions
     * must be read from the store and cannot be.
     */
    track: async (picture: ServerPicture, aheadMs: number | null = null): Promise<Tracked> =>
      inSlices(trackSessions(trackingOf(picture.server.id), picture, nextIds, aheadMs)),
    write: sessions.write,
    /**
     * Called after the result of `track` was committed, so that the next poll is compared with this result.
     */
    committed(id: string, { tracking }: Tracked): void {
      known.set(id, tracking);
      unread.delete(id);
    },
  };
}

/** Returns when each seat was last seen, from the last picture: polls do not update an open session's row. */
function lastSeen(features: ServerPicture["features"]): Map<string, number> {
  const seen = new Map<string, number>();
  for (const { daemon, name, collectedAt, checkouts } of features) {
    if (collectedAt === null) continue;
    const feature = featureKey(daemon, name);
    for (const row of checkouts) seen.set(`${feature}\0${seatKey(row)}`, collectedAt);
  }
  return seen;
}
