import { type Session, shownBegin } from "../../domain/session.ts";
import type { HeldSession, Holding } from "../../domain/stats/holding.ts";
import { holdingOf } from "../../domain/stats/holding.ts";
import type { HistoryRead } from "../history/read.ts";

/** What the asker knows that the database does not. */
export interface Asked {
  /** Epoch ms. */
  readonly now: number;
  /** Interval of the polls by server, ms. */
  readonly intervals: Readonly<Record<string, number>>;
}

/** Of a server that is no longer in the config. */
const DEFAULT_INTERVAL_MS = 60_000;

export interface Holdings {
  /** Interval of the polls of a server, ms. */
  intervalOf(server: string): number;
  /** When a session held its seats. */
  holdingOf(
    session: Pick<HeldSession, "server" | "firstSeenAt" | "lastSeenAt" | "endedAt" | "endReason">,
  ): Holding;
  /** From when people count how long it lasts, epoch ms. */
  shownBegin(session: Pick<Session, "server" | "startedAt" | "beganAt" | "firstSeenAt">): number;
  /** The last reading of a server that was kept, epoch ms: an open session's row does not follow each poll. */
  lastReading(server: string): number | null;
}

export function holdings(read: Pick<HistoryRead, "all">, { now, intervals }: Asked): Holdings {
  const lastReadings = new Map(
    read
      .all<{ server: string; readAt: number }>(
        "SELECT server_id AS server, max(read_at) AS readAt FROM coverage GROUP BY server_id",
      )
      .map(({ server, readAt }) => [server, readAt]),
  );
  const lastReading = (server: string) => lastReadings.get(server) ?? null;
  const intervalOf = (server: string) => intervals[server] ?? DEFAULT_INTERVAL_MS;
  return {
    intervalOf,
    lastReading,
    shownBegin: (session) => shownBegin(session, intervalOf(session.server)),
    holdingOf: (session) => holdingOf(session, lastReading(session.server), now, intervalOf(session.server)),
  };
}
