import { featureKey } from "../domain/merge-blocks.ts";
import type { ServerPicture } from "../domain/picture.ts";
import { seatKey } from "../domain/session.ts";
import {
  NO_TRACKING,
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

/** The seats of all servers between polls, and their sessions in the store. */
export interface Tracker {
  /** Takes up what is stored of a server that appears, beside its last picture. */
  resume(picture: ServerPicture): void;
  /** Compares a new picture with the open sessions, in slices. Polls of one server come one after the other. */
  track(picture: ServerPicture): Promise<Tracked>;
  /** Stores what changed; runs in the caller's transaction. */
  write(changes: SessionChanges): void;
}

export function createTracker(store: Store): Tracker {
  const sessions = createSessions(store);
  const known = new Map<string, Tracking>();
  return {
    resume(picture) {
      const seen = lastSeen(picture);
      const open = sessions.open(picture.server.id).map((session) => {
        const at = seen.get(`${featureKey(session.daemon, session.feature)}\0${seatKey(session)}`);
        return at !== undefined && at > session.lastSeenAt ? { ...session, lastSeenAt: at } : session;
      });
      known.set(picture.server.id, resumeTracking(open, picture.collectedAt !== null, picture.features));
    },
    async track(picture) {
      const { id } = picture.server;
      const steps = trackSessions(known.get(id) ?? NO_TRACKING, picture, sessions.nextId);
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
function lastSeen({ features }: ServerPicture): Map<string, number> {
  const seen = new Map<string, number>();
  for (const { daemon, name, collectedAt, checkouts } of features) {
    if (collectedAt === null) continue;
    const feature = featureKey(daemon, name);
    for (const row of checkouts) seen.set(`${feature}\0${seatKey(row)}`, collectedAt);
  }
  return seen;
}
