import type { FeatureId } from "../../domain/history.ts";
import { type HeldSeats, heldSeatsOf } from "../../domain/stats/held-seats.ts";
import type { HeldSession, Holding } from "../../domain/stats/holding.ts";
import { createUsage, type Usage, type UsageGroup, type UsageKey } from "../../domain/stats/usage.ts";
import { type Asked, holdings } from "../holdings.ts";
import { type Range, type SortBy, sortedBy } from "../range.ts";
import type { HistorySource, Named, SessionFilter } from "../source.ts";
import { DAY_MS, dayOf } from "../spans.ts";

export interface UsageQuery extends Range, Asked {
  readonly filter: SessionFilter;
  readonly groupBy: readonly UsageKey[];
  /** IANA zone of the days. */
  readonly timezone: string;
  readonly sort: SortBy<UsageOrder>;
  readonly limit: number;
  readonly offset: number;
}

const USAGE_ORDERS_BY_KEY = ["server", "daemon", "feature", "day"] as const satisfies readonly UsageKey[];
/** Equal groups stand in the order of these: of people by what is shown of them. */
const TIES = [...USAGE_ORDERS_BY_KEY, "user", "host"] as const;
export const USAGE_ORDERS = [
  "heldSeatHours",
  "sessions",
  "peakHeld",
  "uniqueUsers",
  "lastUsedAt",
  ...USAGE_ORDERS_BY_KEY,
] as const;
export type UsageOrder = (typeof USAGE_ORDERS)[number];

/**
 * Who used what, sorted and cut. `shown` is a name as the caller may see it: groups carry it and equal ones stand by it,
 * so that the order says nothing of what is not shown. The answered range begins where sessions are kept from; `total` counts
 * all groups.
 */
export async function usageQuery(
  source: HistorySource,
  query: UsageQuery,
  shown: (key: UsageKey, name: string | null) => string | null = (_, name) => name,
) {
  const { end, limit, offset } = query;
  const start = Math.min(Math.max(query.start, await source.sessionsFrom()), end);
  const usage = await usageOf(source, { ...query, start });
  const groups = usage.groups().map((group) => {
    const keys: UsageGroup["keys"] = Object.fromEntries(
      Object.entries(group.keys).map(([key, name]) => [key, shown(key as UsageKey, name)]),
    );
    const { server = null, daemon = null, feature = null, day = null, user = null, host = null } = keys;
    return { ...group, keys, server, daemon, feature, day, user, host };
  });
  // Sorts are stable: the last one decides.
  const ties = TIES.toReversed().map((field) => ({ field, descending: false }));
  const sorted = [...ties, query.sort].reduce((rows, by) => sortedBy(rows, by), groups);
  return { start, end, rows: sorted.slice(offset, offset + limit), total: sorted.length };
}

/** So many features are looked up one by one; of more, whole days are read. */
const FEW = 20;

/** The seat-hours that people held of each feature in a range. `of` names those that are asked for, where they are few. */
export async function heldHours(
  source: HistorySource,
  { servers, daemons, features }: Named,
  range: Range & Asked,
  of?: readonly FeatureId[],
): Promise<(feature: FeatureId) => number> {
  const filter = { servers, daemons, features, users: null, hosts: null };
  const asked = { ...range, filter, groupBy: ["feature"], timezone: "UTC" } as const;
  const usage = await usageOf(source, asked, of !== undefined && of.length <= FEW ? of : undefined);
  const keyOf = ({ server, daemon, feature }: UsageGroup["keys"]) =>
    JSON.stringify([server, daemon, feature]);
  const hours = new Map(usage.groups().map(({ keys, heldSeatHours }) => [keyOf(keys), heldSeatHours]));
  return (feature) => hours.get(keyOf({ ...feature })) ?? 0;
}

type Question = Pick<UsageQuery, "start" | "end" | "now" | "intervals" | "filter" | "groupBy" | "timezone">;

async function usageOf(source: HistorySource, question: Question, of?: readonly FeatureId[]): Promise<Usage> {
  const { start, end, filter, groupBy, timezone } = question;
  const usage = createUsage(groupBy, start, end, timezone);
  const { holdingOf } = await holdings(source, question);
  if (of !== undefined) {
    for await (const sessions of source.sessions(start, end, filter, of))
      usage.add(heldSeatsOf(sessions, holdingOf), start, end);
    return usage;
  }
  for (let from = start, to = start; from < end; from = to) {
    source.checkpoint();
    to = Math.min((dayOf(from) + 1) * DAY_MS, end);
    const packed = await source.heldDay(dayOf(from), filter);
    usage.add(packed ?? (await heldSeatsIn(source, from, to, filter, holdingOf)), from, to);
  }
  return usage;
}

/** The seats held in a range of some hours. */
export async function heldSeatsIn(
  source: Pick<HistorySource, "sessions">,
  start: number,
  end: number,
  filter: SessionFilter | null,
  holdingOf: (session: HeldSession) => Holding | null,
): Promise<HeldSeats> {
  const all: HeldSession[] = [];
  for await (const sessions of source.sessions(start, end, filter)) for (const one of sessions) all.push(one);
  return heldSeatsOf(all, holdingOf);
}
