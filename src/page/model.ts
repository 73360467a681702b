import type { KeptServer, PictureFeature } from "../domain/polls/kept-picture.ts";
import { ROW_COLUMNS, type RowValues } from "../domain/picture.ts";
import { byName, daysUntil } from "./format.ts";
import type { Site } from "./live/reader.ts";

/** A feature with its server, as lists show it. */
export interface FeatureRow {
  /** Unique over all servers. */
  readonly id: string;
  /** Key of the feature within its server. */
  readonly key: string;
  readonly server: KeptServer;
  readonly feature: PictureFeature;
  /** Seats that nobody holds and nobody is kept; null when unlimited or unknown. */
  readonly free: number | null;
}

/** What a row's array holds, by name. */
const at = (name: (typeof ROW_COLUMNS)[number]) => ROW_COLUMNS.indexOf(name) + 1;
const [FEATURE, KIND, USER, HOST] = [at("feature"), at("kind"), at("user"), at("host")];
const [COUNT, SINCE, DISPLAY, RESERVED_FOR] = [at("count"), at("since"), at("display"), at("reservedFor")];

/** A checkout, reservation or queue entry, as lists show it. */
export interface HolderRow {
  readonly id: string;
  readonly server: KeptServer;
  /** Key of its feature. */
  readonly feature: string;
  readonly kind: RowValues[2];
  readonly user: string | null;
  readonly host: string | null;
  readonly display: string | null;
  readonly count: number;
  /** Epoch ms; null when not known. */
  readonly since: number | null;
  readonly reservedFor: RowValues[12];
}

function holderOf(server: KeptServer, row: RowValues): HolderRow {
  const since = row[SINCE] as string | null;
  return {
    id: `${server.id} ${row[0]}`,
    server,
    feature: row[FEATURE] as string,
    kind: row[KIND] as HolderRow["kind"],
    user: row[USER] as string | null,
    host: row[HOST] as string | null,
    display: row[DISPLAY] as string | null,
    count: row[COUNT] as number,
    since: since === null ? null : Date.parse(since),
    reservedFor: row[RESERVED_FOR] as HolderRow["reservedFor"],
  };
}

/** A server's object is another one after each change, so what is made of it is kept as long as it lives. */
function perServer<T>(make: (server: KeptServer) => T): (server: KeptServer) => T {
  const kept = new WeakMap<KeptServer, T>();
  return (server) => {
    const known = kept.get(server);
    if (known !== undefined) return known;
    const made = make(server);
    kept.set(server, made);
    return made;
  };
}

export const featuresOf = perServer((server): readonly FeatureRow[] =>
  [...server.features].map(([key, feature]) => {
    const free = feature.available;
    return {
      id: `${server.id} ${key}`,
      key,
      server,
      feature,
      free: free === null ? null : Math.max(0, free),
    };
  }),
);
export const holdersOf = perServer((server): readonly HolderRow[] =>
  [...server.rows.values()].map((row) => holderOf(server, row)),
);

/** Lower-case words of each feature: its name, daemon, server, and who holds it or waits, where. */
const haystacksOf = perServer((server): ReadonlyMap<string, string> => {
  const holders = Map.groupBy(server.rows.values(), (row) => row[FEATURE] as string);
  return new Map(
    [...server.features].map(([key, { daemon, name }]) => {
      const people = (holders.get(key) ?? []).flatMap((row) => [row[USER], row[HOST]]);
      return [key, [name, daemon, server.id, server.name, ...people].join("\n").toLowerCase()];
    }),
  );
});

export const allFeatures = (site: Site): FeatureRow[] => [...site.values()].flatMap(featuresOf);
export const allHolders = (site: Site): HolderRow[] => [...site.values()].flatMap(holdersOf);

/** No seat is left although there are some; a feature whose numbers are old is said to be stale, not full. */
export const isFull = ({ feature, free }: FeatureRow): boolean =>
  free === 0 && (feature.total ?? 0) > 0 && feature.state !== "stale";
const NEARLY = 0.9;
const EXPIRES_SOON_DAYS = 30;

/** Negative = expired; null when it is permanent or not known. */
export function daysLeft({ feature }: FeatureRow, now: number): number | null {
  return feature.permanent || feature.expiresAt === null ? null : daysUntil(feature.expiresAt, now);
}

export const STATES = ["full", "nearly", "waiting", "expiring", "stale", "partial"] as const;
export type State = (typeof STATES)[number];

const IS_IN: Readonly<Record<State, (row: FeatureRow, now: number) => boolean>> = {
  full: isFull,
  nearly: (row) =>
    row.free !== null && !isFull(row) && row.feature.state !== "stale" && row.feature.utilization !== null
      ? row.feature.utilization >= 100 * NEARLY
      : false,
  waiting: ({ feature }) => (feature.queued ?? 0) > 0,
  expiring: (row, now) => (daysLeft(row, now) ?? Number.POSITIVE_INFINITY) <= EXPIRES_SOON_DAYS,
  stale: ({ feature }) => feature.state === "stale" || feature.state === "failed",
  partial: ({ feature }) => feature.state === "partial",
};

/** How many rows are in each state. */
export function countStates(rows: readonly FeatureRow[], now: number): Readonly<Record<State, number>> {
  const count = (state: State) => rows.filter((row) => IS_IN[state](row, now)).length;
  return Object.fromEntries(STATES.map((state) => [state, count(state)])) as Record<State, number>;
}

export interface Filter {
  readonly search: string;
  readonly server: string | null;
  /** `location:muc` */
  readonly label: string | null;
}

/**
 * Words must all occur, in any order. `server:eda` and `free:0` mean a server and a number of free seats; a name that
 * holds such a word is found, too.
 */
export function matching(rows: readonly FeatureRow[], { search, server, label }: Filter): FeatureRow[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter((row) => {
    if (server !== null && row.server.id !== server) return false;
    if (label !== null && !labelsOf(row.server).includes(label)) return false;
    return words.every((word) => {
      const [, name, value = ""] = /^(server|free):(.+)$/.exec(word) ?? [];
      const isMeant =
        name === "server"
          ? row.server.id.toLowerCase() === value
          : name === "free" && String(row.free) === value;
      return isMeant || (haystacksOf(row.server).get(row.key)?.includes(word) ?? false);
    });
  });
}

export const inState = (rows: readonly FeatureRow[], state: State | null, now: number): FeatureRow[] =>
  state === null ? [...rows] : rows.filter((row) => IS_IN[state](row, now));

/** `muc` of `location` as `location:muc`. */
export function labelsOf({ labels }: KeptServer): string[] {
  return Object.entries(labels).map(([name, value]) => `${name}:${value}`);
}

const ORDERS = {
  name: (row: FeatureRow) => row.feature.name,
  server: (row: FeatureRow) => row.server.id,
  daemon: (row: FeatureRow) => row.feature.daemon,
  seats: (row: FeatureRow) => row.feature.total,
  used: (row: FeatureRow) => row.feature.used,
  free: (row: FeatureRow) => row.free,
  expires: (row: FeatureRow) => row.feature.expiresAt,
} as const;

const HOLDER_ORDERS = {
  user: (row: HolderRow) => row.user,
  host: (row: HolderRow) => row.host,
  feature: (row: HolderRow) => nameOf(row),
  server: (row: HolderRow) => row.server.id,
  count: (row: HolderRow) => row.count,
  since: (row: HolderRow) => row.since,
} as const;

/** The name of a row's feature. */
export const nameOf = ({ server, feature }: HolderRow): string =>
  server.features.get(feature)?.name ?? feature;

/** Who holds or waits for something that all words of the search occur in; `feature` is the id of one feature. */
export function matchingHolders(
  rows: readonly HolderRow[],
  { search, server, feature }: { search: string; server: string | null; feature: string | null },
): HolderRow[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter((row) => {
    if (row.kind === "reservation" || (server !== null && row.server.id !== server)) return false;
    if (feature !== null && `${row.server.id} ${row.feature}` !== feature) return false;
    if (words.length === 0) return true;
    const text = [row.user, row.host, nameOf(row), row.server.id, row.server.name].join("\n").toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** By `since` or `-since` and so on, then by user and id. */
export function sortedHolders(rows: HolderRow[], sort: string): HolderRow[] {
  const falling = sort.startsWith("-");
  const word = sort.replace(/^-/, "") as keyof typeof HOLDER_ORDERS;
  const keyFor = HOLDER_ORDERS[word] ?? HOLDER_ORDERS.since;
  return rows.sort(
    (a, b) => compare(keyFor(a), keyFor(b), falling) || compare(a.user, b.user, false) || byName(a.id, b.id),
  );
}

/** By `free` or `-free`; unknown and unlimited last, then by who waits, then by name. */
export function sorted(rows: FeatureRow[], sort: string): FeatureRow[] {
  const falling = sort.startsWith("-");
  const word = sort.replace(/^-/, "") as keyof typeof ORDERS;
  const keyFor = ORDERS[word] ?? ORDERS.free;
  return rows.sort(
    (a, b) =>
      compare(keyFor(a), keyFor(b), falling) ||
      (b.feature.queued ?? 0) - (a.feature.queued ?? 0) ||
      byName(a.feature.name, b.feature.name) ||
      byName(a.id, b.id),
  );
}

/** Null is last in both directions. */
function compare(a: string | number | null, b: string | number | null, falling: boolean): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  const order = typeof a === "string" ? byName(a, String(b)) : a - Number(b);
  return falling ? -order : order;
}

export interface Identified {
  readonly id: string;
}

/** `fresh` in the order of `before`, new ones at the end; and how many are then at another place than in `fresh`. */
export function steady<T extends Identified>(fresh: readonly T[], before: readonly string[]) {
  const left = new Map(fresh.map((row) => [row.id, row]));
  const rows: T[] = [];
  for (const id of before) {
    const row = left.get(id);
    if (row !== undefined && left.delete(id)) rows.push(row);
  }
  rows.push(...left.values());
  return { rows, moved: rows.filter((row, at) => row.id !== fresh[at]?.id).length };
}
