import { createUsage, type UsageGroup, type UsageKey } from "../../domain/stats/usage.ts";
import { loadSessionNames } from "../days/session-names.ts";
import type { HistoryRead } from "../history/read.ts";
import type { SessionFilter } from "./filters.ts";
import { type Asked, holdings } from "./open-sessions.ts";
import type { Range } from "./range.ts";
import { type SortBy, sortedBy } from "./sorted.ts";
import { usageNames } from "./usage-names.ts";
import { handIn } from "./usage-sessions.ts";

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

/** Its range begins where sessions are kept from. */
export interface UsageResult extends Range {
  readonly rows: readonly UsageGroup[];
  /** Groups in all. */
  readonly total: number;
}

/**
 * Who used what, sorted and cut. `shown` is a name as the caller may see it: groups carry it and equal ones stand by it,
 * so that the order says nothing of what is not shown.
 */
export function usageQuery(
  read: HistoryRead,
  query: UsageQuery,
  shown: (key: UsageKey, name: string | null) => string | null = (_, name) => name,
): UsageResult {
  const { filter, groupBy, end, timezone, limit, offset } = query;
  const start = Math.min(Math.max(query.start, read.sessionsFrom()), end);
  const names = loadSessionNames(read);
  const usage = createUsage(groupBy, usageNames(names, filter), start, end, timezone);
  handIn(read, names, holdings(read, query), { start, end }, usage);
  const groups = usage.groups().map((group) => {
    const keys: UsageGroup["keys"] = Object.fromEntries(
      Object.entries(group.keys).map(([key, name]) => [key, shown(key as UsageKey, name)]),
    );
    return {
      ...group,
      keys,
      server: keys.server ?? null,
      daemon: keys.daemon ?? null,
      feature: keys.feature ?? null,
      day: keys.day ?? null,
      user: keys.user ?? null,
      host: keys.host ?? null,
    };
  });
  // Sorts are stable: the last one decides.
  const byKeys = TIES.toReversed().reduce(
    (rows, field) => sortedBy(rows, { field, descending: false }),
    groups,
  );
  const sorted = sortedBy(byKeys, query.sort);
  return { start, end, rows: sorted.slice(offset, offset + limit), total: sorted.length };
}
