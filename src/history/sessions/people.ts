import type { PersonKind, PersonRecord } from "../../domain/history-records.ts";
import { type Asked, type HeldSeats, holdingsAt } from "../../domain/stats/held-seats.ts";
import { DAY_MS } from "../../domain/time/clock.ts";
import type { SessionFilter } from "../../store/conditions.ts";
import { lastDenied } from "../../store/denial-queries.ts";
import { dayOf } from "../buckets.ts";
import { type SortBy, sortedBy } from "../range.ts";
import type { Reader } from "../reader.ts";
import { heldIn } from "../statistics/usage.ts";

/** A user or a host, and when it was last seen, epoch ms. */
export interface Seen {
  readonly kind: PersonKind;
  readonly name: string;
  readonly at: number;
}

export interface PeopleQuery extends Asked {
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
 * names that a caller sees who may not see the real ones: those alone are searched and sorted by.
 *
 * Days are read from the newest one back: of a packed day the seats are unpacked only where it has a name that no newer
 * day has.
 */
export async function peopleQuery(
  read: Reader,
  query: PeopleQuery,
  shown: ((kind: PersonKind, name: string) => string) | null,
) {
  const { now, filter, kinds, limit, offset } = query;
  const q = query.q.toLowerCase();
  const start = query.start ?? Number.NEGATIVE_INFINITY;
  const seen = { user: new Map<string, Seen>(), host: new Map<string, Seen>() };
  const keyOf = (kind: PersonKind, name: string) => (kind === "host" ? name.toLowerCase() : name);
  const isFound = (name: string) => name.toLowerCase().includes(q);
  const isWanted = (kind: PersonKind, name: string) =>
    name !== "" && (kinds?.includes(kind) ?? true) && (shown !== null || isFound(name));
  const isNew = (kind: PersonKind) => (name: string | null) =>
    name !== null && !seen[kind].has(keyOf(kind, name)) && isWanted(kind, name);

  function see(one: Seen): void {
    const key = keyOf(one.kind, one.name);
    if ((seen[one.kind].get(key)?.at ?? Number.NEGATIVE_INFINITY) < one.at && isWanted(one.kind, one.name))
      seen[one.kind].set(key, one);
  }

  const { holdingOf, lastReading } = holdingsAt(read.lastReadings(), query);
  const [first] = read.all<{ at: number | null }>("SELECT min(first_seen_at) AS at FROM sessions");
  const oldest = dayOf(Math.max(start, read.sessionsFrom(), first?.at ?? now));
  for (let day = dayOf(now); day >= oldest; day--) {
    read.checkpoint();
    const names = read.namesOfDay(day);
    if (names !== null && !names.users.some(isNew("user")) && !names.hosts.some(isNew("host"))) continue;
    const held = await heldIn(read, day * DAY_MS, (day + 1) * DAY_MS, filter, (session) => {
      const holding = holdingOf(session);
      // Nobody has looked since the last reading.
      const readAt = Math.max(session.lastSeenAt, lastReading(session.server) ?? 0);
      return session.endedAt === null ? { ...holding, to: Math.min(holding.to, readAt) } : holding;
    });
    // What ended before the day is looked for in its own day.
    for (const one of [...lastHeld(held, "user"), ...lastHeld(held, "host")])
      if (one.at >= day * DAY_MS) see(one);
  }
  read.checkpoint();
  for (const one of lastDenied(read, { ...filter, start: null, end: null })) see(one);
  for (const one of query.live) see(one);
  read.checkpoint();
  const rows = [...seen.user.values(), ...seen.host.values()]
    .filter(({ at }) => at >= start)
    .map(({ kind, name, at }) => ({ kind, name: shown?.(kind, name) ?? name, lastSeenAt: at }))
    .filter(({ name }) => shown === null || isFound(name));
  const ties = (["kind", "name"] as const).map((field) => ({ field, descending: false }));
  return { rows: sortedBy(rows, query.sort, ...ties).slice(offset, offset + limit), total: rows.length };
}

/** When each user, or each host, last held seats, epoch ms. */
function lastHeld({ names, holders, whose, to }: HeldSeats, kind: PersonKind): Seen[] {
  const list: readonly (string | null)[] = names[`${kind}s`];
  const last = new Float64Array(list.length).fill(Number.NEGATIVE_INFINITY);
  for (let place = 0; place < whose.length; place++) {
    const name = holders[kind][whose[place] ?? 0] ?? 0;
    last[name] = Math.max(last[name] ?? Number.NEGATIVE_INFINITY, to[place] ?? 0);
  }
  return list.flatMap((name, place) => (name === null ? [] : { kind, name, at: last[place] ?? 0 }));
}
