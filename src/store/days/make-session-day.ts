import type { HeldSession } from "../../domain/stats/holding.ts";
import type { HistoryRead } from "../history/read.ts";
import { DAY_MS, HOUR_MS } from "../history/spans.ts";
import { HELD_COLUMNS } from "../statistics/session-rows.ts";
import { type CertainSession, packSessionDay, type UncertainSession } from "./session-day.ts";
import { loadSessionNames, type NewFeature, type NewName } from "./session-names.ts";

export interface MadeSessionDay {
  readonly data: Uint8Array;
  readonly names: readonly NewName[];
  readonly features: readonly NewFeature[];
}

/** Packs the sessions that ended on a day (days since 1970-01-01 UTC). Runs where history is read. */
export function makeSessionDay(read: Pick<HistoryRead, "all" | "checkpoint">, day: number): MadeSessionDay {
  const names = loadSessionNames(read);
  const certain: CertainSession[] = [];
  const uncertain: UncertainSession[] = [];
  for (let hour = 23; hour >= 0; hour--) {
    read.checkpoint();
    const from = day * DAY_MS + hour * HOUR_MS;
    const rows = read.all<HeldSession>(
      `SELECT ${HELD_COLUMNS} FROM sessions WHERE ended_at >= ? AND ended_at < ? ORDER BY ended_at DESC`,
      ...[from, from + HOUR_MS],
    );
    for (const row of rows) {
      const { server, daemon, feature, user, host, count, firstSeenAt, lastSeenAt, endedAt, endReason } = row;
      if (endedAt === null) continue;
      const checkin = endReason === "checkin";
      const session = {
        feature: names.featureId(server, daemon, feature),
        user: names.nameId(user),
        host: names.hostId(host),
        count,
        firstSeenAt,
        endedAt,
      };
      if (checkin && firstSeenAt < endedAt) certain.push(session);
      else uncertain.push({ ...session, lastSeenAt, checkin });
    }
  }
  return { data: packSessionDay(day * DAY_MS, certain, uncertain), ...names.fresh() };
}
