import type { PersonKind, PersonRecord } from "../../domain/history-records.ts";
import { type SortBy, sortedBy } from "../../domain/order.ts";
import type { SessionFilter } from "../../store/conditions.ts";
import { lastDenied } from "../../store/denial-queries.ts";
import type { Reader } from "../reader.ts";

export interface Seen {
  readonly kind: PersonKind;
  readonly name: string;
  readonly lastSeenAt: number;
}

export interface PeopleQuery {
  readonly filter: SessionFilter;
  readonly kinds: readonly PersonKind[] | null;
  readonly q: string;
  readonly start: number | null;
  readonly live: readonly Seen[];
  readonly sort: SortBy<keyof PersonRecord>;
  readonly limit: number;
  readonly offset: number;
}

export interface SeenBefore {
  /** Users or hosts; a name may occur several times. */
  readonly seen: readonly Seen[];
  readonly sessionsFrom: number;
}

export function seenBefore(read: Reader, { filter }: Pick<PeopleQuery, "filter">): SeenBefore {
  const held = [read.all<SeenOn>(ENDED), read.all<SeenOn>(OPEN)].flatMap((rows) => {
    read.checkpoint();
    return rows.filter(({ server }) => filter.servers?.includes(server) ?? true);
  });
  const denied = lastDenied(read, { ...filter, start: null, end: null });
  return { seen: [...held, ...denied], sessionsFrom: read.sessionsFrom() };
}

/**
 * Lists users and hosts that held seats, were denied or wait, sorted and paged; `total` counts all matches.
 * For a caller who may not see the real names, `shown` returns the displayed names, and only these are
 * searched and sorted.
 */
export function peopleQuery(
  before: SeenBefore,
  query: PeopleQuery,
  shown: ((kind: PersonKind, name: string) => string) | null,
) {
  const { kinds, limit, offset } = query;
  const q = query.q.toLowerCase();
  const start = Math.max(query.start ?? Number.NEGATIVE_INFINITY, before.sessionsFrom);
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

  before.seen.forEach(see);
  query.live.forEach(see);
  const all: Seen[] = [...seen.user.values(), ...seen.host.values()];
  const masked = shown && all.map((one) => ({ ...one, name: shown(one.kind, one.name) }));
  const rows = masked?.filter(({ name }) => isFound(name)) ?? all;
  return {
    rows: sortedBy(rows, query.sort, "kind", "name").slice(offset, offset + limit),
    total: rows.length,
  };
}

interface SeenOn extends Seen {
  readonly server: string;
}
const ENDED = "SELECT kind, name, server_id AS server, at AS lastSeenAt FROM last_seen";
/** Polls do not update the row of an open session, which was present at the last reading. */
const OPEN = `WITH readings AS (SELECT server_id, max(read_at) AS at FROM coverage GROUP BY server_id),
  held AS (SELECT user, host, server_id, max(last_seen_at, ifnull(readings.at, 0)) AS at
    FROM sessions LEFT JOIN readings USING (server_id) WHERE ended_at IS NULL)
  SELECT 'user' AS kind, user AS name, server_id AS server, at AS lastSeenAt FROM held WHERE user IS NOT NULL
  UNION ALL SELECT 'host', host, server_id, at FROM held WHERE host IS NOT NULL`;
