import type { Session } from "../session.ts";

/** What the statistics need of a session. */
export type HeldSession = Omit<Session, "id" | "display" | "qualifier" | "version" | "handle" | "startedAt">;

/** When seats were held by our evidence: [from, to), epoch ms. */
export interface Holding {
  readonly from: number;
  readonly to: number;
}

/**
 * When a session held its seats as far as licmond saw it, or an imported log tells: from when it was first seen (the
 * start that the tool reports is nobody's observation) to its end; past a gap in observation of more than two intervals
 * to one interval after it was last seen.
 * `readAt` is the last good reading of its feature (an open session's row does not follow each poll), `now` the time
 * of asking.
 */
export function holdingOf(
  session: Pick<Session, "firstSeenAt" | "lastSeenAt" | "endedAt" | "endReason">,
  readAt: number | null,
  now: number,
  intervalMs: number,
): Holding {
  const { firstSeenAt, endedAt } = session;
  const seen = endedAt === null ? Math.max(session.lastSeenAt, readAt ?? 0) : session.lastSeenAt;
  const end = endedAt ?? now;
  // A checkin was seen in time, by the interval of its day, which may not be today's.
  const late = session.endReason !== "checkin" && end - seen > 2 * intervalMs;
  const to = late ? seen + intervalMs : end;
  return { from: firstSeenAt, to: Math.max(firstSeenAt, to) };
}

/** The part of a holding in [start, end); null when there is none. A session that never lasted still held at its moment. */
export function clip({ from, to }: Holding, start: number, end: number): Holding | null {
  if (from === to) return from >= start && from < end ? { from, to } : null;
  const clipped = { from: Math.max(from, start), to: Math.min(to, end) };
  return clipped.from < clipped.to ? clipped : null;
}
