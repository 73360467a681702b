import type { FeatureId } from "../../domain/history.ts";
import { clip, type HeldSession } from "../../domain/stats/holding.ts";
import { seatHours } from "../../domain/stats/rounding.ts";
import { createUsage } from "../../domain/stats/usage.ts";
import { loadSessionNames } from "../days/session-names.ts";
import type { HistoryRead } from "../history/read.ts";
import { IS_LONG, LONG_MS, type Named } from "./filters.ts";
import { type Asked, type Holdings, holdings } from "./open-sessions.ts";
import type { Range } from "./range.ts";
import { HELD_COLUMNS } from "./session-rows.ts";
import { usageNames } from "./usage-names.ts";
import { handIn } from "./usage-sessions.ts";

type Reading = Pick<HistoryRead, "all" | "checkpoint">;

/**
 * The seat-hours that people held of a feature in a range. Of a few named features the sessions of each are summed up;
 * of a whole site the packed days tell, as in usage.
 */
export function heldHours(
  read: Reading,
  filter: Named,
  range: Range,
  asked: Asked,
): (feature: FeatureId) => number {
  const held = holdings(read, asked);
  return filter.features === null ? ofSite(read, filter, range, held) : ofEach(read, range, held);
}

function ofSite(read: Reading, filter: Named, range: Range, held: Holdings): (feature: FeatureId) => number {
  const { start, end } = range;
  const names = loadSessionNames(read);
  const wanted = usageNames(names, { ...filter, users: null, hosts: null });
  const usage = createUsage(["feature"], wanted, start, end, "UTC");
  handIn(read, names, held, range, usage);
  const hours = new Map(usage.groups().map(({ keys, heldSeatHours }) => [keyOf(keys), heldSeatHours]));
  return (feature) => hours.get(keyOf(feature)) ?? 0;
}

function keyOf({ server, daemon, feature }: { [Key in keyof FeatureId]?: string | null }): string {
  return JSON.stringify([server, daemon, feature]);
}

/** Of a year there may be 100,000 sessions of one feature: SQLite sums up those that ended, by the rule of `holdingOf`. */
function ofEach(read: Reading, { start, end }: Range, held: Holdings): (feature: FeatureId) => number {
  const until = `CASE WHEN end_reason IS NOT 'checkin' AND ended_at - last_seen_at > 2 * ?6 THEN last_seen_at + ?6
    ELSE ended_at END`;
  const sum = (index: string) =>
    `SELECT total(count * max(0, min(${until}, ?5) - max(first_seen_at, ?4))) AS seatMs
     FROM sessions INDEXED BY ${index} WHERE server_id = ?1 AND daemon = ?2 AND feature = ?3`;
  const soon = `${sum("sessions_by_feature")} AND ended_at > ?4 AND ended_at <= ?5 + ${LONG_MS}`;
  const late = `${sum("sessions_long")} AND ended_at > max(?4, ?5 + ${LONG_MS}) AND began_at < ?5 AND ${IS_LONG}`;
  const open = read.all<HeldSession>(
    `SELECT ${HELD_COLUMNS} FROM sessions WHERE ended_at IS NULL AND began_at < ?`,
    end,
  );
  const openMs = new Map<string, number>();
  for (const session of open) {
    const part = clip(held.holdingOf(session), start, end);
    if (part === null) continue;
    const before = openMs.get(keyOf(session)) ?? 0;
    openMs.set(keyOf(session), before + session.count * (part.to - part.from));
  }
  return (feature) => {
    const of = [feature.server, feature.daemon, feature.feature];
    const rows = read.all<{ seatMs: number }>(
      `${soon} UNION ALL ${late}`,
      ...[...of, start, end, held.intervalOf(feature.server)],
    );
    const closedMs = rows.reduce((total, { seatMs }) => total + seatMs, 0);
    return seatHours(closedMs + (openMs.get(keyOf(feature)) ?? 0));
  };
}
