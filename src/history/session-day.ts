import type { HeldNames, HeldSeats } from "../domain/stats/held-seats.ts";
import { DAY_MS } from "../domain/time/clock.ts";
import type { SessionFilter } from "../store/conditions.ts";
import { ByteReader, putNumber } from "./codec.ts";

/**
 * Held seats of a UTC day in packed form. The parts are: the length of the names; the names as JSON,
 * compressed with zstd; the number of holders, and four numbers for each holder; the number of sessions;
 * for each session in the order of starts, the time since the previous start and the holder; for each
 * session in the order of ends, the time since the previous end and the row. Seats held before the day
 * begin 1 ms before the day.
 */

const NOT_ASKED_FOR = 0xffffffff;

export function packSessionDay(
  dayAt: number,
  { names, holders, whose, from, to, byEnd }: HeldSeats,
): Uint8Array {
  const bytes: number[] = [];
  putNumber(bytes, holders.feature.length);
  for (let at = 0; at < holders.feature.length; at++)
    for (const column of [holders.feature, holders.user, holders.host, holders.count])
      putNumber(bytes, column[at] ?? 0);
  putNumber(bytes, whose.length);
  let last = dayAt - 1;
  from.forEach((begin, place) => {
    putNumber(bytes, begin - last);
    putNumber(bytes, whose[place] ?? 0);
    last = begin;
  });
  last = dayAt;
  for (const place of byEnd) {
    putNumber(bytes, (to[place] ?? 0) - last);
    putNumber(bytes, place);
    last = to[place] ?? 0;
  }
  return Buffer.concat([packedNames(names), Uint8Array.from(bytes)]);
}

export function renamed(
  data: Uint8Array,
  user: (name: string) => string,
  host: (name: string) => string,
): Uint8Array {
  const { names, body } = headOf(data);
  const { features, users, hosts } = namesIn(names);
  const change = (list: readonly (string | null)[], to: (name: string) => string) =>
    list.map((name) => (name === null ? null : to(name)));
  const changed = { features, users: change(users, user), hosts: change(hosts, host) };
  return Buffer.concat([packedNames(changed), data.subarray(body)]);
}

function packedNames(names: HeldNames): Uint8Array {
  const packed = Bun.zstdCompressSync(JSON.stringify(names));
  const length: number[] = [];
  putNumber(length, packed.length);
  return Buffer.concat([Uint8Array.from(length), packed]);
}

function headOf(data: Uint8Array): { readonly names: string; readonly body: number } {
  const head = new ByteReader(data);
  const length = head.number();
  const body = head.at + length;
  return { names: Bun.zstdDecompressSync(data.subarray(head.at, body)).toString(), body };
}

export function unpackSessionDay(day: number, data: Uint8Array, filter: SessionFilter): HeldSeats {
  const { names: json, body } = headOf(data);
  const names = namesIn(json);
  const reader = new ByteReader(data, body);
  const wanted = wantedOf(names, filter);
  const size = reader.number();
  const holders = {
    feature: new Uint32Array(size),
    user: new Uint32Array(size),
    host: new Uint32Array(size),
    count: new Uint32Array(size),
  };
  for (let at = 0; at < size; at++) {
    holders.feature[at] = reader.number();
    holders.user[at] = reader.number();
    holders.host[at] = reader.number();
    holders.count[at] = reader.number();
  }
  const all = reader.number();
  const whose = new Uint32Array(all);
  const from = new Float64Array(all);
  const to = new Float64Array(all);
  const byEnd = new Uint32Array(all);
  const places = new Uint32Array(all);
  let count = 0;
  let at = day * DAY_MS - 1;
  for (let place = 0; place < all; place++) {
    at += reader.number();
    const holder = reader.number();
    places[place] = NOT_ASKED_FOR;
    if (!wanted(holders.feature[holder] ?? 0, holders.user[holder] ?? 0, holders.host[holder] ?? 0)) continue;
    places[place] = count;
    from[count] = at;
    whose[count++] = holder;
  }
  at = day * DAY_MS;
  let ended = 0;
  for (let left = all; left > 0; left--) {
    at += reader.number();
    const place = places[reader.number()] ?? NOT_ASKED_FOR;
    if (place === NOT_ASKED_FOR) continue;
    to[place] = at;
    byEnd[ended++] = place;
  }
  return {
    names,
    holders,
    whose: whose.subarray(0, count),
    from: from.subarray(0, count),
    to: to.subarray(0, count),
    byEnd: byEnd.subarray(0, count),
  };
}

/**
 * Splits the names in a day's JSON. Each list is parsed on demand, because most queries need only one of
 * the three.
 */
function namesIn(json: string): HeldNames {
  // Quotes within names are escaped in JSON, so these texts match only the keys of the lists.
  const users = json.indexOf(',"users":[');
  const hosts = json.indexOf(',"hosts":[', users);
  const lists: { -readonly [Key in keyof HeldNames]?: HeldNames[Key] } = {};
  const list = (key: keyof HeldNames, from: number, to: number) => ({
    get: () => (lists[key] ??= JSON.parse(json.slice(from + `,"${key}":`.length, to))),
  });
  return Object.defineProperties({} as HeldNames, {
    features: list("features", 0, users),
    users: list("users", users, hosts),
    hosts: list("hosts", hosts, -1),
  });
}

/** Lists of names that the filter does not use are not parsed. */
function wantedOf(names: HeldNames, filter: SessionFilter) {
  const setOf = (wanted: readonly string[] | null) => wanted && new Set(wanted);
  const servers = setOf(filter.servers);
  const daemons = setOf(filter.daemons);
  const features = setOf(filter.features);
  const users = setOf(filter.users);
  const hosts = setOf(filter.hosts?.map((host) => host.toLowerCase()) ?? null);
  const isIn = (wanted: Set<string> | null, name: string) => wanted?.has(name) ?? true;
  const ofFeature =
    (servers ?? daemons ?? features) &&
    names.features.map(
      ([server, daemon, name]) => isIn(servers, server) && isIn(daemons, daemon) && isIn(features, name),
    );
  const ofUser = users && names.users.map((name) => name !== null && users.has(name));
  const ofHost = hosts && names.hosts.map((name) => hosts.has(name?.toLowerCase() ?? ""));
  return (feature: number, user: number, host: number) =>
    (ofFeature?.[feature] ?? true) && (ofUser?.[user] ?? true) && (ofHost?.[host] ?? true);
}
