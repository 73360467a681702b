import { type Static, Type } from "@sinclair/typebox";
import { nullable, Timestamp, words } from "./records.ts";
import { iso } from "./time/clock.ts";

export const DENIAL_OUTCOMES = ["denied", "granted_later", "queued"] as const;
/** What came of a denied request: nothing · seats within seconds, from whatever pool or server · a place in the queue. */
export type DenialOutcome = (typeof DENIAL_OUTCOMES)[number];

/** Requests that were denied: one row for a user who tries again and again. Times are epoch ms. */
export interface Denial {
  /** First attempt; of counted denials the time of the poll that saw the counter grow. */
  readonly at: number;
  readonly server: string;
  readonly daemon: string;
  /** Null where the manager counts denials and says no more (RLM). */
  readonly feature: string | null;
  readonly user: string | null;
  /** Of the first attempt. */
  readonly host: string | null;
  /** Seats asked for; of counted denials their number. */
  readonly count: number;
  readonly reason: string | null;
  /** The manager's error number. */
  readonly code: number | null;
  readonly attempts: number;
  /** Last attempt. */
  readonly until: number;
  readonly outcome: DenialOutcome;
}

/** Denials of one daemon by its own counter, in one poll: no names, just how many. */
export function countedDenials(server: string, daemon: string, count: number, at: number): Denial {
  return {
    at,
    server,
    daemon,
    count,
    attempts: count,
    until: at,

    feature: null,
    user: null,
    host: null,
    reason: null,
    code: null,
    outcome: "denied",
  };
}

const fields = {
  server: Type.String(),
  daemon: Type.String(),
  feature: nullable(Type.String({ description: "Null where the manager only counts denials" })),
  user: nullable(Type.String()),
  host: nullable(Type.String({ description: "Of the first attempt" })),
  count: Type.Integer({
    minimum: 1,
    description: "Seats asked for; where the manager only counts denials, how many",
  }),
  reason: nullable(Type.String({ description: "The manager's own words" })),
  code: nullable(Type.Integer({ description: "The manager's error number, e.g. -4" })),
  attempts: Type.Integer({
    minimum: 1,
    description: "Requests of one user that were denied one after the other",
  }),
  until: { ...Timestamp, description: "The last attempt" },
  outcome: words(
    DENIAL_OUTCOMES,
    "granted_later: the seats came within seconds, from whatever pool or server. What statistics and alerts count as " +
      "denials is `denied` alone",
  ),
};

export const DenialRecord = Type.Object({ timestamp: Timestamp, ...fields }, { title: "Denial" });
export type DenialRecord = Static<typeof DenialRecord>;

/** Fields of a `denial` event; its `timestamp` is the event's, so the time of the denial is `deniedAt`. */
export const DenialFields = { deniedAt: Timestamp, ...fields };

export function denialRecord({ at, until, ...rest }: Denial): DenialRecord {
  return { timestamp: iso(at), ...rest, until: iso(until) };
}
