import { type Session, shownBegin } from "../domain/session.ts";
import type { HeldSession, Holding } from "../domain/stats/holding.ts";
import { holdingOf } from "../domain/stats/holding.ts";
import { DEFAULT_INTERVAL_MS } from "./session-days.ts";
import type { HistorySource } from "./source.ts";

/** What the asker knows that the database does not. */
export interface Asked {
  /** Epoch ms. */
  readonly now: number;
  /** Interval of the polls by server, ms. */
  readonly intervals: Readonly<Record<string, number>>;
}

export interface Holdings {
  /** When a session held its seats. */
  holdingOf(
    session: Pick<HeldSession, "server" | "firstSeenAt" | "lastSeenAt" | "endedAt" | "endReason">,
  ): Holding;
  /** From when people count how long it lasts, epoch ms. */
  shownBegin(session: Pick<Session, "server" | "startedAt" | "beganAt" | "firstSeenAt">): number;
  /** The last reading of a server that was kept, epoch ms: an open session's row does not follow each poll. */
  lastReading(server: string): number | null;
}

export async function holdings(source: Pick<HistorySource, "lastReadings">, asked: Asked): Promise<Holdings> {
  return holdingsAt(await source.lastReadings(), asked);
}

export function holdingsAt(lastReadings: ReadonlyMap<string, number>, { now, intervals }: Asked): Holdings {
  const lastReading = (server: string) => lastReadings.get(server) ?? null;
  const intervalOf = (server: string) => intervals[server] ?? DEFAULT_INTERVAL_MS;
  return {
    lastReading,
    shownBegin: (session) => shownBegin(session, intervalOf(session.server)),
    holdingOf: (session) =>
      // Of a checkin neither counts: looking them up takes longer than all the rest.
      session.endReason === "checkin"
        ? holdingOf(session, null, now, 0)
        : holdingOf(session, lastReading(session.server), now, intervalOf(session.server)),
  };
}
