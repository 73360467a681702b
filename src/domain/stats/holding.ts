import type { Session } from "../session.ts";

/** What the statistics need of a session. */
export type HeldSession = Pick<
  Session,
  | "server"
  | "daemon"
  | "feature"
  | "user"
  | "host"
  | "count"
  | "beganAt"
  | "firstSeenAt"
  | "lastSeenAt"
  | "endedAt"
  | "endReason"
>;

/** When seats were held by our evidence: [from, to), epoch ms. */
export interface Holding {
  readonly from: number;
  readonly to: number;
}

/**
 * When a session held its seats, by the rule of `durationSeconds` in `session.ts`: past a gap in observation of more
 * than two intervals it counts to one interval after it was last seen.
 * `readAt` is the last good reading of its feature (an open session's row does not follow each poll), `now` the time
 * of asking.
 */
export function holdingOf(
  session: Pick<Session, "beganAt" | "lastSeenAt" | "endedAt" | "endReason">,
  readAt: number | null,
  now: number,
  intervalMs: number,
): Holding {
  const { beganAt, endedAt } = session;
  const seen = endedAt === null ? Math.max(session.lastSeenAt, readAt ?? 0) : session.lastSeenAt;
  const end = endedAt ?? now;
  // A checkin was seen in time, by the interval of its day, which may not be today's.
  const late = session.endReason !== "checkin" && end - seen > 2 * intervalMs;
  const to = late ? seen + intervalMs : end;
  return { from: beganAt, to: Math.max(beganAt, to) };
}

/** The part of a holding in [start, end); null when there is none. A session that never lasted still held at its moment. */
export function clip({ from, to }: Holding, start: number, end: number): Holding | null {
  if (from === to) return from >= start && from < end ? { from, to } : null;
  const clipped = { from: Math.max(from, start), to: Math.min(to, end) };
  return clipped.from < clipped.to ? clipped : null;
}
