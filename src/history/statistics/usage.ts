import type { FeatureId } from "../../domain/history.ts";
import { localSpans } from "../../domain/stats/calendar.ts";
import {
  createUsage,
  type Usage,
  type UsageGroup,
  type UsageKey,
  type UsageNames,
} from "../../domain/stats/usage.ts";
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
  const usage = await usageOf(source, { ...query, start }, true);
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

/** The seat-hours that people held of each feature in a range. `of` names those that are asked for, where they are few. */
export async function heldHours(
  source: HistorySource,
  { servers, daemons, features }: Named,
  range: Range & Asked,
  of?: readonly FeatureId[],
): Promise<(feature: FeatureId) => number> {
  const filter = { servers, daemons, features, users: null, hosts: null };
  const asked = { ...range, filter, groupBy: ["feature"], timezone: "UTC" } as const;
  const usage = await usageOf(source, asked, false, of);
  const keyOf = ({ server, daemon, feature }: UsageGroup["keys"]) =>
    JSON.stringify([server, daemon, feature]);
  const hours = new Map(usage.groups().map(({ keys, heldSeatHours }) => [keyOf(keys), heldSeatHours]));
  return (feature) => hours.get(keyOf({ ...feature })) ?? 0;
}

type Question = Pick<UsageQuery, "start" | "end" | "now" | "intervals" | "filter" | "groupBy" | "timezone">;

async function usageOf(
  source: HistorySource,
  question: Question,
  withUsers: boolean,
  of?: readonly FeatureId[],
): Promise<Usage> {
  const { start, end, filter, groupBy, timezone } = question;
  const usage = createUsage(groupBy, start, end, timezone);
  const { holdingOf } = await holdings(source, question);
  const key = keyOfDays(question);
  const made = key === null ? new Set<number>() : await source.daysMade(dayOf(start), dayOf(end));
  for (const { from, to, isMade } of partsOf(start, end, made)) {
    if (!isMade || key === null) {
      for await (const sessions of source.sessions(from, to, filter, of))
        for (const session of sessions) usage.add(session, holdingOf(session), from, to);
      continue;
    }
    let at = from;
    for await (const sums of source.daySums(dayOf(from), dayOf(to), key, filter, of)) {
      for (const sum of sums) usage.addDay(at, sum);
      at += DAY_MS;
    }
    if (key === "user" || !withUsers) continue;
    at = from;
    for await (const users of source.dayUsers(dayOf(from), dayOf(to), key, filter)) {
      for (const ofGroup of users) usage.addUsers(at, ofGroup);
      at += DAY_MS;
    }
  }
  return usage;
}

/**
 * The key whose days tell all that is asked for; null where only the sessions do. Sums add up by any names, but peaks are
 * those of one key, over all that it names. Days are days of UTC.
 */
function keyOfDays({ groupBy: by, filter, timezone, start, end }: Question): keyof UsageNames | null {
  if (by.includes("day") && localSpans(timezone, start, end).some(({ offset }) => offset !== 0)) return null;
  // A feature has its server and its daemon too.
  const ofFeature: readonly UsageKey[] = by.includes("feature") ? ["server", "daemon"] : [];
  const [key, ...others] = by.filter((one) => one !== "day" && !ofFeature.includes(one));
  if (key === undefined || key === "day" || others.length > 0) return null;
  const own = [key, ...ofFeature].map((name) => `${name}s`);
  return Object.entries(filter).every(([names, wanted]) => wanted === null || own.includes(names))
    ? key
    : null;
}

/** Cuts a range where days that are made begin and end. */
function partsOf(start: number, end: number, made: ReadonlySet<number>) {
  const parts: { from: number; to: number; isMade: boolean }[] = [];
  for (let from = start; from < end; ) {
    const to = Math.min((dayOf(from) + 1) * DAY_MS, end);
    const isMade = to - from === DAY_MS && made.has(dayOf(from));
    const last = parts.at(-1);
    if (last?.isMade === isMade) last.to = to;
    else parts.push({ from, to, isMade });
    from = to;
  }
  return parts;
}
