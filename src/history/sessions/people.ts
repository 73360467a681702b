import type { PersonKind, PersonRecord } from "../../domain/history-records.ts";
import type { SessionFilter } from "../../store/conditions.ts";
import { lastDenied } from "../../store/denial-queries.ts";
import { type SortBy, sortedBy } from "../range.ts";
import type { Reader } from "../reader.ts";

/** A user or a host, and when it was last seen, epoch ms. */
export interface Seen {
  readonly kind: PersonKind;
  readonly name: string;
  readonly lastSeenAt: number;
}

export interface PeopleQuery {
  /** Its servers alone count. */
  readonly filter: SessionFilter;
  /** Null = both. */
  readonly kinds: readonly PersonKind[] | null;
  /** Part of the names as they are shown, whatever the case. */
  readonly q: string;
  /** Only those who were seen then or later; null = at any time. */
  readonly start: number | null;
  /** Users and hosts that the live picture has and no stored session has; a name may be empty. */
  readonly live: readonly Seen[];
  readonly sort: SortBy<keyof PersonRecord>;
  readonly limit: number;
  readonly offset: number;
}

/**
 * Users and hosts that held seats, were denied or wait, sorted and cut; `total` counts all that match. `shown` makes the
 * names that a caller sees who may not see the real ones: those alone are searched and sorted by.
 */
export function peopleQuery(
  read: Reader,
  query: PeopleQuery,
  shown: ((kind: PersonKind, name: string) => string) | null,
) {
  const { filter, kinds, limit, offset } = query;
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

  for (const rows of [read.all<SeenOn>(ENDED), read.all<SeenOn>(OPEN)]) {
    read.checkpoint();
    for (const one of rows) if (filter.servers?.includes(one.server) ?? true) see(one);
  }
  lastDenied(read, { ...filter, start: null, end: null }).forEach(see);
  query.live.forEach(see);
  read.checkpoint();
  const all: Seen[] = [...seen.user.values(), ...seen.host.values()];
  const masked = shown && all.map((one) => ({ ...one, name: shown(one.kind, one.name) }));
  const rows = masked?.filter(({ name }) => isFound(name)) ?? all;
  const ties = (["kind", "name"] as const).map((field) => ({ field, descending: false }));
  return { rows: sortedBy(rows, query.sort, ...ties).slice(offset, offset + limit), total: rows.length };
}

interface SeenOn extends Seen {
  readonly server: string;
}
const ENDED = "SELECT kind, name, server_id AS server, at AS lastSeenAt FROM last_seen";
/** An open session's row does not follow each poll: it was there at the last reading. */
const OPEN = `WITH readings AS (SELECT server_id, max(read_at) AS at FROM coverage GROUP BY server_id),
  held AS (SELECT user, host, server_id, max(last_seen_at, ifnull(readings.at, 0)) AS at
    FROM sessions LEFT JOIN readings USING (server_id) WHERE ended_at IS NULL)
  SELECT 'user' AS kind, user AS name, server_id AS server, at AS lastSeenAt FROM held WHERE user IS NOT NULL
  UNION ALL SELECT 'host', host, server_id, at FROM held WHERE host IS NOT NULL`;
