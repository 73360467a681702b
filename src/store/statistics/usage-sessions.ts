import { clip, type HeldSession } from "../../domain/stats/holding.ts";
import {
  columnsOf,
  emptyColumns,
  mergeColumns,
  type SessionRow,
} from "../../domain/stats/session-columns.ts";
import type { Usage } from "../../domain/stats/usage.ts";
import { createSessionDayReader, type SessionIds, type UncertainSession } from "../days/session-day.ts";
import type { SessionNames } from "../days/session-names.ts";
import type { HistoryRead } from "../history/read.ts";
import { DAY_MS, dayOf } from "../history/spans.ts";
import type { Holdings } from "./open-sessions.ts";
import type { Range } from "./range.ts";
import { eachEnded, eachSession } from "./session-rows.ts";

/**
 * Hands the sessions that held seats in a range to `usage`, back through time, a UTC day after the other: the days that
 * are packed as they are, what ended after the last whole day, is open or is not packed from its rows.
 */
export function handIn(
  read: Pick<HistoryRead, "all" | "checkpoint">,
  names: SessionNames,
  { holdingOf }: Pick<Holdings, "holdingOf">,
  { start, end }: Range,
  usage: Usage,
): void {
  /** What stands by itself, by the day in which it gave its seats back. */
  const loose = new Map<number, SessionRow[]>();
  const firstDay = dayOf(start);
  const behind = Math.max(firstDay, dayOf(end));
  const unpack = createSessionDayReader();

  function put(ids: SessionIds, session: Parameters<typeof holdingOf>[0]): void {
    const part = clip(holdingOf(session), start, end);
    if (part === null) return;
    const { feature, user, host, count } = ids;
    const row = { feature, user, host, count, ...part };
    if (part.from === part.to) {
      usage.addMoment(row);
      return;
    }
    const day = dayOf(part.to);
    const known = loose.get(day);
    if (known === undefined) loose.set(day, [row]);
    else known.push(row);
  }
  const putRow = (session: HeldSession) => {
    const { server, daemon, feature, user, host, count } = session;
    const ids = {
      feature: names.featureId(server, daemon, feature),
      user: names.nameId(user),
      host: names.hostId(host),
    };
    put({ ...ids, count }, session);
  };
  const putUncertain = (session: UncertainSession) => {
    if (session.endedAt <= start) return;
    const { firstSeenAt, lastSeenAt, endedAt, checkin } = session;
    const server = names.features[session.feature]?.server ?? "";
    put(session, { server, firstSeenAt, lastSeenAt, endedAt, endReason: checkin ? "checkin" : "unobserved" });
  };

  // What ended at the very begin of the day belongs to it.
  const rest = Math.max(start, behind * DAY_MS - 1);
  eachSession(read, { sql: "TRUE", values: [] }, { start: rest, end }, putRow);
  for (let day = dayOf(end); day >= firstDay; day--) {
    read.checkpoint();
    let columns = emptyColumns(0);
    if (day < behind) {
      const [packed] = read.all<{ data: Uint8Array | null }>(
        "SELECT data FROM session_days WHERE day = ?",
        day,
      );
      if (packed?.data != null) {
        const { certain, uncertain } = unpack(day * DAY_MS, packed.data);
        columns = certain;
        for (const session of uncertain) putUncertain(session);
      } else eachEnded(read, Math.max(start + 1, day * DAY_MS), (day + 1) * DAY_MS, putRow);
    }
    const own = loose.get(day);
    loose.delete(day);
    usage.add(own === undefined ? columns : mergeColumns(columns, columnsOf(own)), day * DAY_MS);
  }
}
