import { type Session, shownBegin } from "../domain/session.ts";
import { type HeldSession, type Holding, holdingOf } from "../domain/stats/holding.ts";
import type { HistorySource } from "./source.ts";

/** What the caller knows and the database does not. */
export interface Asked {
  /** Epoch ms. */
  readonly now: number;
  /** Interval of the polls by server, ms. */
  readonly intervals: Readonly<Record<string, number>>;
}

/** Of a server that is no longer in the config. */
const DEFAULT_INTERVAL_MS = 60_000;

export type Holdings = ReturnType<typeof holdingsAt>;

export async function holdings(source: Pick<HistorySource, "lastReadings">, asked: Asked): Promise<Holdings> {
  return holdingsAt(await source.lastReadings(), asked);
}

export function holdingsAt(lastReadings: ReadonlyMap<string, number>, { now, intervals }: Asked) {
  /** The last reading of a server that was kept, epoch ms: an open session's row does not follow each poll. */
  const lastReading = (server: string) => lastReadings.get(server) ?? null;
  const intervalOf = (server: string) => intervals[server] ?? DEFAULT_INTERVAL_MS;
  return {
    lastReading,
    /** The instant from which people count how long a session lasts, epoch ms. */
    shownBegin: (session: Pick<Session, "server" | "startedAt" | "beganAt" | "firstSeenAt">): number =>
      shownBegin(session, intervalOf(session.server)),
    /** When a session held its seats. */
    holdingOf: (session: Parameters<typeof holdingOf>[0] & Pick<HeldSession, "server">): Holding =>
      // A checkin needs neither: looking them up takes longer than all the rest.
      session.endReason === "checkin"
        ? holdingOf(session, null, now, 0)
        : holdingOf(session, lastReading(session.server), now, intervalOf(session.server)),
  };
}
