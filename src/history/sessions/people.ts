import type { PersonKind, PersonRecord } from "../../domain/history-records.ts";
import { type Asked, holdingsAt } from "../../domain/stats/held-seats.ts";
import { DAY_MS } from "../../domain/time/clock.ts";
import type { SessionFilter } from "../../store/conditions.ts";
import { lastDenied } from "../../store/denial-queries.ts";
import { dayOf } from "../buckets.ts";
import { lastHeld, type Seen, storedLastSeen } from "../last-seen.ts";
import { type SortBy, sortedBy } from "../range.ts";
import type { Reader } from "../reader.ts";
import { heldIn } from "../statistics/usage.ts";

export interface PeopleQuery extends Asked {
  /** Its servers alone count. */
  readonly filter: SessionFilter;
  /** Null = both. */
  readonly kinds: readonly PersonKind[] | null;
  /** Part of the names as they are shown, whatever the case. */
  readonly q: string;
  /** Only those who were seen then or later; null = at any time. */
  readonly start: number | null;
  /** Who is in the live picture and in no session. */
  readonly live: readonly Seen[];
  readonly sort: SortBy<keyof PersonRecord>;
  readonly limit: number;
  readonly offset: number;
}

/**
 * Users and hosts that held seats, were denied or wait, sorted and cut; `total` counts all that match. `shown` makes the
 * names that a caller sees who may not see the real ones: those alone are searched and sorted by. What the stored sum
 * does not have is read day by day.
 */
export async function peopleQuery(
  read: Reader,
  query: PeopleQuery,
  shown: ((kind: PersonKind, name: string) => string) | null,
) {
  const { now, filter, kinds, limit, offset } = query;
  const q = query.q.toLowerCase();
  const start = Math.max(query.start ?? Number.NEGATIVE_INFINITY, read.sessionsFrom());
  const seen = { user: new Map<string, Seen>(), host: new Map<string, Seen>() };
  const isFound = (name: string) => q === "" || name.toLowerCase().includes(q);

  function see(one: Seen): void {
    const { kind, name, lastSeenAt } = one;
    if (name === "" || lastSeenAt < start || kinds?.includes(kind) === false) return;
    if (shown === null && !isFound(name)) return;
    const key = kind === "host" ? name.toLowerCase() : name;
    const known = seen[kind].get(key);
    if (known === undefined || known.lastSeenAt < lastSeenAt) seen[kind].set(key, one);
  }

  const servers = filter.servers && new Set(filter.servers);
  for (const one of storedLastSeen(read)) if (servers?.has(one.server) ?? true) see(one);
  const { holdingOf, lastReading } = holdingsAt(read.lastReadings(), query);
  const [first] = read.all<{ at: number | null }>("SELECT min(first_seen_at) AS at FROM sessions");
  const stored = read.all<{ day: number }>("SELECT day FROM last_seen_days");
  const days = new Set(stored.map(({ day }) => day));
  for (let day = dayOf(now); day >= dayOf(Math.max(start, first?.at ?? now)); day--) {
    if (days.has(day)) continue;
    read.checkpoint();
    const held = await heldIn(read, day * DAY_MS, (day + 1) * DAY_MS, filter, (session) => {
      const holding = holdingOf(session);
      // Nobody has looked since the last reading.
      const readAt = Math.max(session.lastSeenAt, lastReading(session.server) ?? 0);
      return session.endedAt === null ? { ...holding, to: Math.min(holding.to, readAt) } : holding;
    });
    lastHeld(held).forEach(see);
  }
  read.checkpoint();
  lastDenied(read, { ...filter, start: null, end: null }).forEach(see);
  query.live.forEach(see);
  read.checkpoint();
  const all: Seen[] = [...seen.user.values(), ...seen.host.values()];
  const masked = shown && all.map((one) => ({ ...one, name: shown(one.kind, one.name) }));
  const rows = masked?.filter(({ name }) => isFound(name)) ?? all;
  const ties = (["kind", "name"] as const).map((field) => ({ field, descending: false }));
  return { rows: sortedBy(rows, query.sort, ...ties).slice(offset, offset + limit), total: rows.length };
}
