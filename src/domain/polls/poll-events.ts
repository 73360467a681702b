import type { EventInput, ServerStatusEvent } from "../events.ts";
import type { ServerPicture } from "../picture.ts";
import { durationSeconds, type Session } from "../session.ts";
import { iso } from "../time/clock.ts";
import { worstOfEach } from "./server-status.ts";
import type { SessionChanges } from "./track-sessions.ts";

/** Returns the events of a poll: checkouts, checkins, status changes. */
export function pollEvents(
  before: ServerPicture | null,
  after: ServerPicture,
  changes: SessionChanges,
  at: number,
): EventInput[] {
  const { intervalMs } = after.server;
  const opened = changes.announce ? changes.opened : [];
  return [
    ...statusChanges(before, after),
    ...changes.closed.map((session) => sessionEvent("checkin", session, at, intervalMs)),
    ...opened.map((session) => sessionEvent("checkout", session, at, intervalMs)),
  ];
}

/**
 * Returns status changes of the server and its daemons. A daemon of unknown status has no events until it is
 * seen down.
 */
export function statusChanges(
  before: ServerPicture | null,
  after: ServerPicture,
): EventInput<ServerStatusEvent>[] {
  const server = after.server.id;
  const events: EventInput<ServerStatusEvent>[] = [];
  const tell = (daemon: string | null, change: Pick<ServerStatusEvent, "from" | "to" | "reason">) =>
    void events.push({ type: "server_status", server, daemon, ...change });
  const from = before?.status ?? "unknown";
  if (from !== after.status) tell(null, { from, to: after.status, reason: after.error?.message ?? null });
  const known = new Map(worstOfEach(before?.daemons ?? []).map((daemon) => [daemon.name, daemon.status]));
  for (const { name, status, error } of worstOfEach(after.daemons)) {
    const was = known.get(name) ?? "unknown";
    if (status === was || status === "unknown" || (was === "unknown" && status === "up")) continue;
    tell(name, { from: was, to: status, reason: error?.message ?? null });
  }
  return events;
}

function sessionEvent(
  type: "checkout" | "checkin",
  session: Session,
  at: number,
  intervalMs: number,
): EventInput {
  const { id, qualifier, beganAt, doubtMs, startedAt, firstSeenAt, lastSeenAt, endedAt, ...fields } = session;
  const times = { startedAt: iso(startedAt), firstSeenAt: iso(firstSeenAt), lastSeenAt: iso(lastSeenAt) };
  const seconds = durationSeconds(session, at, intervalMs);
  return { type, session: id, ...fields, ...times, endedAt: iso(endedAt), durationSeconds: seconds };
}
