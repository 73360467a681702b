import { type Static, Type } from "@sinclair/typebox";
import type { ServerPicture } from "./picture.ts";
import { worstOfEach } from "./polls/server-status.ts";
import {
  count,
  nullable,
  OfSite,
  Percent,
  record,
  Timestamp,
  textOrNull,
  timeOrNull,
  words,
} from "./records.ts";
import { iso } from "./time/clock.ts";

export const OUTAGE_STATUSES = ["degraded", "down", "unknown"] as const;

export const OutageRecord = record("Outage", {
  ...OfSite,
  server: Type.String(),
  status: words(
    OUTAGE_STATUSES,
    "degraded: some members or daemons are not up; unknown: the poll did not show whether the server works",
  ),
  reason: textOrNull("From the first poll of the outage"),
  startedAt: Timestamp,
  endedAt: timeOrNull("When a poll found another status, or when polls stopped; null while ongoing"),
  durationSeconds: count("Until `endedAt`, or until now"),
});
export type OutageRecord = Static<typeof OutageRecord>;

/** A period in which every poll found a server in the same state other than `up`. Times are epoch ms. */
export interface Outage extends Pick<OutageRecord, "server" | "status" | "reason"> {
  readonly from: number;
  /** End of the period; null while ongoing. */
  readonly until: number | null;
}

export function outageRecord({ server, status, reason, from, until }: Outage, now: number): OutageRecord {
  const durationSeconds = Math.max(0, Math.round(((until ?? now) - from) / 1000));
  return { server, status, reason, startedAt: iso(from), endedAt: iso(until), durationSeconds };
}

export const AvailabilityRecord = record("Availability", {
  ...OfSite,
  server: Type.String(),
  availability: nullable({
    ...Percent,
    description:
      "Percent of the covered time in which the server was up or degraded; null if no time is covered",
  } as typeof Percent),
  coverage: Type.Number({
    minimum: 0,
    maximum: 1,
    description: "Share of the range for which polls found the server up, degraded or down",
  }),
  gaps: Type.Array(Type.Object({ start: Timestamp, end: Timestamp }), {
    description: "Periods up to now for which no poll found a status",
  }),
});
export type AvailabilityRecord = Static<typeof AvailabilityRecord>;

/**
 * Explains why a server is not up. Uses the error of its last poll if there is one, else names the parts
 * that are not up.
 */
export function reasonOf({ status, error, members, daemons }: ServerPicture): string | null {
  if (status === "up") return null;
  if (error !== null) return error.message;
  const parts = [
    ...members.map(({ host, status }) => ({ name: host, status })),
    ...worstOfEach(daemons).map(({ name, status }) => ({ name: `daemon ${name}`, status })),
  ].filter((part) => part.status !== "up");
  const told = ({ name, status }: (typeof parts)[number]) =>
    `${name} is ${status === "down" ? "down" : "not known to be up"}`;
  return parts.map(told).join(", ") || null;
}
