import { type Static, Type } from "@sinclair/typebox";
import type { DaemonReading } from "./reading.ts";
import { count, nullable, record, Timestamp, words } from "./records.ts";
import { iso } from "./time/clock.ts";

export const DENIAL_OUTCOMES = ["denied", "granted_later", "queued"] as const;
/** What came of a denied request: nothing · seats within seconds, from whatever pool or server · a place in the queue. */
export type DenialOutcome = (typeof DENIAL_OUTCOMES)[number];

/** Requests that were denied: one row for a user who tries again and again. */
export const DenialFields = {
  server: Type.String(),
  daemon: Type.String(),
  feature: nullable(Type.String({ description: "Null where the manager only counts denials" })),
  user: nullable(Type.String()),
  host: nullable(Type.String({ description: "Of the first attempt" })),
  count: count("Seats asked for; where the manager only counts denials, how many", 1),
  reason: nullable(Type.String({ description: "The manager's own words" })),
  code: nullable(Type.Integer({ description: "The manager's error number, e.g. -4" })),
  attempts: count("Requests of one user that were denied one after the other", 1),
  until: { ...Timestamp, description: "The last attempt" },
  outcome: words(
    DENIAL_OUTCOMES,
    "granted_later: the seats came within seconds, from whatever pool or server. What statistics and alerts count as " +
      "denials is `denied` alone",
  ),
};

export const DenialRecord = record("Denial", { timestamp: Timestamp, ...DenialFields });
export type DenialRecord = Static<typeof DenialRecord>;

/** A denial as it is stored, its times as epoch ms. */
export interface Denial extends Omit<DenialRecord, "timestamp" | "until"> {
  /** First attempt; of counted denials the time of the poll that saw the counter grow. */
  readonly at: number;
  /** Last attempt. */
  readonly until: number;
}

export function denialRecord({ at, until, ...rest }: Denial): DenialRecord {
  return { timestamp: iso(at), ...rest, until: iso(until) };
}

/** Denials of one daemon by its own counter, in one poll: no names, just how many. */
export function countedDenials(server: string, daemon: string, count: number, at: number): Denial {
  const unknown = { feature: null, user: null, host: null, reason: null, code: null };
  return { at, server, daemon, count, attempts: count, until: at, ...unknown, outcome: "denied" };
}

/** Denials that each daemon had counted when it was last read, by its name. */
export type DenialCounters = Readonly<Record<string, number>>;

/**
 * Differences of the daemons' own counters. The first reading of a daemon is where counting begins; a counter that
 * fell began again at 0 when its daemon was restarted, so that all it shows has happened since.
 */
export function countDenials(before: DenialCounters, daemons: readonly DaemonReading[]) {
  const counters: Record<string, number> = { ...before };
  /** Daemons that denied something since, and how often. */
  const denied: { readonly daemon: string; readonly count: number }[] = [];
  for (const { name, totals } of daemons) {
    const now = totals?.denials ?? null;
    if (now === null) continue;
    const was = before[name];
    counters[name] = now;
    const count = was === undefined ? 0 : now >= was ? now - was : now;
    if (count > 0) denied.push({ daemon: name, count });
  }
  /** False when nothing has to be stored again. */
  const changed = !Bun.deepEquals(counters, before);
  return { counters: counters as DenialCounters, denied, changed };
}
