import type { PersonKind } from "../domain/history-records.ts";
import type { HeldSeats } from "../domain/stats/held-seats.ts";
import type { Rows } from "../store/conditions.ts";
import type { Reader } from "./reader.ts";

/** A user or a host, and when it was last seen, epoch ms. */
export interface Seen {
  readonly kind: PersonKind;
  readonly name: string;
  readonly lastSeenAt: number;
}

/** The same on one server. */
export interface SeenOn extends Seen {
  readonly server: string;
}

/** Days laid over what is stored in one step: of a large site each takes some tenths of a second. */
const DAYS_AT_ONCE = 5;

/** What is stored of the days that are marked. */
export function storedLastSeen({ all }: Rows): readonly SeenOn[] {
  const [stored] = all<{ data: Uint8Array }>("SELECT data FROM last_seen");
  return stored === undefined ? [] : JSON.parse(Bun.zstdDecompressSync(stored.data).toString());
}

/** Who held seats, and when last; several rows a name where it held several. */
export function lastHeld({ names, holders, whose, to }: HeldSeats): SeenOn[] {
  const last = new Float64Array(holders.feature.length).fill(Number.NEGATIVE_INFINITY);
  for (let place = 0; place < whose.length; place++) {
    const holder = whose[place] ?? 0;
    last[holder] = Math.max(last[holder] ?? 0, to[place] ?? 0);
  }
  return Array.from(last).flatMap((lastSeenAt, holder): SeenOn[] => {
    if (lastSeenAt === Number.NEGATIVE_INFINITY) return [];
    const [server] = names.features[holders.feature[holder] ?? 0] ?? [""];
    const user = {
      kind: "user",
      name: names.users[holders.user[holder] ?? 0] ?? "",
      server,
      lastSeenAt,
    } as const;
    const host = names.hosts[holders.host[holder] ?? 0] ?? null;
    return host === null ? [user] : [user, { kind: "host", name: host, server, lastSeenAt }];
  });
}

/** The stored sum with packed days, up to one, that are not in it yet, without whom sessions are no longer kept of. */
export function addLastSeen(
  read: Reader,
  through: number,
): { readonly data: Uint8Array; readonly days: readonly number[] } {
  const sum = new Map<string, SeenOn>();
  const add = (one: SeenOn) => {
    const key = `${one.kind}\0${one.server}\0${one.name}`;
    if ((sum.get(key)?.lastSeenAt ?? Number.NEGATIVE_INFINITY) < one.lastSeenAt) sum.set(key, one);
  };
  const kept = read.sessionsFrom();
  for (const one of storedLastSeen(read)) if (one.lastSeenAt >= kept) add(one);
  const packed = `SELECT day FROM session_days WHERE data IS NOT NULL AND day <= ? AND day NOT IN (SELECT day FROM last_seen_days)
    ORDER BY day DESC LIMIT ?`;
  const days = read.all<{ day: number }>(packed, through, DAYS_AT_ONCE).map(({ day }) => day);
  for (const day of days) {
    read.checkpoint();
    const seats = read.heldDay(day, {
      servers: null,
      daemons: null,
      features: null,
      users: null,
      hosts: null,
    });
    for (const one of seats === null ? [] : lastHeld(seats)) add(one);
  }
  return { data: Bun.zstdCompressSync(JSON.stringify([...sum.values()])), days };
}
