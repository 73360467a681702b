import type { DenialRecord, LoggingRecord } from "../domain/denials.ts";
import { featureIdKey } from "../domain/history.ts";
import type { SessionRecord } from "../domain/history-records.ts";
import { seatSets, sumOfKnown } from "../domain/polls/seat-groups.ts";
import type { ExpirationRecord } from "../domain/records.ts";

export interface DenialGroup extends Record<DenialRecord["outcome"], number> {
  readonly rows: readonly DenialRecord[];
  readonly first: DenialRecord;
}

/** Groups denials by a key, most denied first. A row without user and host counts with its `attempts`. */
export function grouped(denials: readonly DenialRecord[], key: (row: DenialRecord) => string): DenialGroup[] {
  const groups = [...Map.groupBy(denials, key).values()].map((rows) => {
    const sums = { denied: 0, queued: 0, granted_later: 0 };
    for (const { outcome, user, host, attempts } of rows)
      sums[outcome] += user === null && host === null ? attempts : 1;
    return { ...sums, rows, first: rows[0] as DenialRecord };
  });
  return groups.sort((a, b) => b.denied - a.denied || b.rows.length - a.rows.length);
}

/** Reports whether denials are known for a part of a range that ends at `end` (epoch ms). */
export const isLogged = ({ state, since }: LoggingRecord, end: number): boolean =>
  state === "on" && (since === null || Date.parse(since) < end);

export const OUTAGE_WORDS = { up: "up", degraded: "degraded", down: "down", unknown: "not known" };
const LOGGING = { on: "", off: "log_file is not set", unreadable: "The debug log cannot be read" };
export const unknownByReason = (logging: readonly LoggingRecord[]) =>
  [
    ...Map.groupBy(
      logging.filter(({ state }) => state !== "on"),
      ({ state, message }) => message ?? LOGGING[state],
    ),
  ].map(([why, of]) => ({ why, servers: of.map(({ server }) => server) }));

/**
 * Returns the reported start of a session in epoch ms. If the session's duration contradicts it, returns
 * the time of the first reading.
 */
export function sessionBegin(
  session: Pick<SessionRecord, "startedAt" | "firstSeenAt" | "lastSeenAt" | "durationSeconds">,
): number {
  const started = Date.parse(session.startedAt ?? session.firstSeenAt);
  const reported = Date.parse(session.lastSeenAt) - started;
  // Allow a second, because durations are whole seconds.
  return 1000 * (session.durationSeconds + 1) > reported ? started : Date.parse(session.firstSeenAt);
}

/**
 * Licenses of a server that expire on the same day. They form a group, because the licenses of a file
 * usually end together.
 */
export interface ExpiryGroup {
  readonly server: string;
  readonly on: string;
  readonly daysLeft: number;
  readonly rows: readonly ExpirationRecord[];
}

/** Adds up the seats of pools; a seat group counts once. */
export function lostOf(rows: readonly ExpirationRecord[]): number {
  const features = [...Map.groupBy(rows, featureIdKey).values()].map((of) => ({
    ...(of[0] as ExpirationRecord),
    total: sumOfKnown(of.map(({ total }) => total)),
  }));
  const sets = seatSets(features, ({ server }) => server);
  return sets.reduce((sum, set) => sum + Math.max(...set.map(({ total }) => total ?? 0)), 0);
}

export function byMonth(rows: readonly ExpirationRecord[]): [month: string, groups: ExpiryGroup[]][] {
  const dated = rows.filter(({ expiresOn }) => expiresOn !== null);
  const groups = [...Map.groupBy(dated, ({ expiresOn, server }) => `${expiresOn} ${server}`).values()].map(
    (rows): ExpiryGroup => {
      const { server = "", expiresOn, daysLeft } = rows[0] ?? {};
      return { server, on: expiresOn ?? "", daysLeft: daysLeft ?? 0, rows };
    },
  );
  const ordered = groups.sort((a, b) => (a.on === b.on ? 0 : a.on < b.on ? -1 : 1));
  return [...Map.groupBy(ordered, ({ on, daysLeft }) => (daysLeft < 0 ? "" : on.slice(0, 7)))];
}
