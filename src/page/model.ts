import { compareNullsLast } from "../domain/order.ts";
import { ROW_COLUMNS, type RowValues } from "../domain/picture.ts";
import type { KeptServer, PictureFeature } from "../domain/polls/kept-picture.ts";
import { sharedSets } from "../domain/polls/seat-groups.ts";
import type { PagePath, Unit } from "../domain/words.ts";
import { daysUntil } from "./format.ts";

export type Site = ReadonlyMap<string, KeptServer>;

/** A page with its parameters; `hrefOf` of the router makes a link. */
export type Place = Readonly<{ path: PagePath; query?: Readonly<Record<string, string>> }>;

export interface FeatureRow {
  readonly id: string;
  readonly key: string;
  readonly server: KeptServer;
  readonly feature: PictureFeature;
  /** Seats that are neither held nor reserved; null if unlimited or unknown. */
  readonly free: number | null;
  readonly facts: Facts;
  readonly of?: number;
}

/** Values derived from a feature once, because search and sort need them at every keystroke. */
interface Facts {
  readonly text: string;
  /** Sort key of the name, without case: `seat9` before `seat10`. */
  readonly order: string;
  readonly expiresAt: number | null;
}

const at = (name: (typeof ROW_COLUMNS)[number]) => ROW_COLUMNS.indexOf(name) + 1;
const [FEATURE, KIND, USER, HOST] = [at("feature"), at("kind"), at("user"), at("host")];
const [COUNT, SINCE, DISPLAY, RESERVED_FOR] = [at("count"), at("since"), at("display"), at("reservedFor")];

export interface HolderRow {
  readonly id: string;
  readonly server: KeptServer;
  readonly feature: string;
  readonly kind: RowValues[2];
  readonly user: string | null;
  readonly host: string | null;
  readonly display: string | null;
  readonly count: number;
  readonly unit: Unit;
  readonly since: number | null;
  readonly reservedFor: RowValues[12];
  /** Sort key of user and host, without case. */
  readonly order: string;
}

function holderOf(server: KeptServer, row: RowValues): HolderRow {
  const since = row[SINCE] as string | null;
  return {
    id: `${server.id} ${row[0]}`,
    server,
    feature: keyOf(row),
    kind: row[KIND] as HolderRow["kind"],
    user: row[USER] as string | null,
    host: row[HOST] as string | null,
    display: row[DISPLAY] as string | null,
    count: row[COUNT] as number,
    unit: server.features.get(keyOf(row))?.unit ?? "seats",
    since: since === null ? null : Date.parse(since),
    reservedFor: row[RESERVED_FOR] as HolderRow["reservedFor"],
    order: personOf(row),
  };
}

/**
 * Caches a derived value for the lifetime of its object. A changed server is a new object, so its values
 * are derived again.
 */
export function kept<K extends object, T>(make: (of: K) => T): (of: K) => T {
  const known = new WeakMap<K, T>();
  return (of) => {
    const before = known.get(of);
    if (before !== undefined) return before;
    const made = make(of);
    known.set(of, made);
    return made;
  };
}

const orderOf = (name: string) => name.toLowerCase().replaceAll(/\d+/g, (digits) => digits.padStart(12, "0"));

const factsOf = kept(
  ({ name, daemon, permanent, expiresAt }: PictureFeature): Facts => ({
    text: `${name}\n${daemon}`.toLowerCase(),
    order: orderOf(name),
    expiresAt: permanent || expiresAt === null ? null : Date.parse(expiresAt),
  }),
);
export const keyOf = (row: RowValues) => row[FEATURE] as string;
/** Returns the lower-case user and host of a row. */
export const personOf = kept((row: RowValues) => `${row[USER] ?? ""}\n${row[HOST] ?? ""}`.toLowerCase());

export const featuresOf = kept((server: KeptServer): readonly FeatureRow[] =>
  [...server.features].map(([key, feature]) => {
    const { available } = feature;
    const free = available === null ? null : Math.max(0, available);
    return { id: `${server.id} ${key}`, key, server, feature, free, facts: factsOf(feature) };
  }),
);
export const holdersOf = kept((server: KeptServer): readonly HolderRow[] =>
  [...server.rows.values()].map((row) => holderOf(server, row)),
);

/** Leaves out rows of a component if its package has rows too, because each seat then has a row in both. */
export function countedRows(rows: readonly HolderRow[]): HolderRow[] {
  const servers = new Map<PictureFeature | undefined, string>();
  for (const { server, feature } of rows) servers.set(server.features.get(feature), server.id);
  const features = [...servers.keys()].filter((feature) => feature !== undefined);
  const counted = new Set(sharedSets(features, (feature) => servers.get(feature) ?? "").flat());
  const others = new Set(features.filter((feature) => !counted.has(feature)));
  return rows.filter(({ server, feature }) => {
    const found = server.features.get(feature);
    return found === undefined || !others.has(found);
  });
}

export const sumOf = (rows: readonly HolderRow[], unit: Unit = "seats"): number =>
  countedRows(rows).reduce((sum, row) => sum + (row.unit === unit ? row.count : 0), 0);
export const peopleOf = (rows: readonly HolderRow[]): number =>
  new Set(rows.flatMap(({ user }) => user ?? [])).size;

export const allFeatures = (site: Site): FeatureRow[] => [...site.values()].flatMap(featuresOf);
export const allHolders = (site: Site): HolderRow[] => [...site.values()].flatMap(holdersOf);

/** Reports whether no seat is left. A feature with old numbers is stale, not full. */
export const isFull = ({ feature, free }: FeatureRow): boolean =>
  free === 0 && (feature.total ?? 0) > 0 && feature.state !== "stale";
const NEARLY = 0.9;
const EXPIRES_SOON_DAYS = 30;

export function daysLeft({ facts }: FeatureRow, now: number): number | null {
  return facts.expiresAt === null ? null : daysUntil(facts.expiresAt, now);
}

export const STATES = ["full", "nearly", "waiting", "expiring", "stale", "partial"] as const;
export type State = (typeof STATES)[number];

const IS_IN: Readonly<Record<State, (row: FeatureRow, now: number) => boolean>> = {
  full: isFull,
  nearly: (row) =>
    (row.feature.utilization ?? 0) >= 100 * NEARLY &&
    row.free !== null &&
    row.feature.state !== "stale" &&
    !isFull(row),
  waiting: ({ feature }) => (feature.queued ?? 0) > 0,
  expiring: (row, now) => (daysLeft(row, now) ?? Number.POSITIVE_INFINITY) <= EXPIRES_SOON_DAYS,
  stale: ({ feature }) => feature.state === "stale" || feature.state === "failed",
  partial: ({ feature }) => feature.state === "partial",
};

export function countStates(rows: readonly FeatureRow[], now: number): Readonly<Record<State, number>> {
  const counts = { full: 0, nearly: 0, waiting: 0, expiring: 0, stale: 0, partial: 0 };
  for (const row of rows) for (const state of STATES) if (IS_IN[state](row, now)) counts[state]++;
  return counts;
}

export const inState = (rows: readonly FeatureRow[], state: State | null, now: number): FeatureRow[] =>
  state === null ? [...rows] : rows.filter((row) => IS_IN[state](row, now));

/** Returns labels as `location:muc`. */
export function labelsOf({ labels }: KeptServer): string[] {
  return Object.entries(labels).map(([name, value]) => `${name}:${value}`);
}

type Key<T> = (row: T) => string | number | null;

const ORDERS: Readonly<Record<string, Key<FeatureRow>>> = {
  name: (row) => row.facts.order,
  server: (row) => row.server.id,
  daemon: (row) => row.feature.daemon,
  seats: (row) => row.feature.total,
  used: (row) => row.feature.used,
  free: (row) => row.free,
  expires: (row) => row.facts.expiresAt,
  note: (row) => -(row.feature.queued ?? 0),
  age: ({ feature, server }) => {
    const readAt = feature.collectedAt ?? server.collectedAt;
    return readAt === null ? null : -Date.parse(readAt);
  },
};
const FEATURE_TIES: readonly Key<FeatureRow>[] = [
  (row) => -(row.feature.queued ?? 0),
  (row) => row.facts.order,
  (row) => row.id,
];

const HOLDER_ORDERS: Readonly<Record<string, Key<HolderRow>>> = {
  user: (row) => row.order,
  host: (row) => row.host,
  feature: (row) => nameOf(row),
  server: (row) => row.server.id,
  count: (row) => row.count,
  since: (row) => row.since,
  held: (row) => (row.since === null ? null : -row.since),
  kind: (row) => row.kind,
};
const HOLDER_TIES: readonly Key<HolderRow>[] = [(row) => row.order, (row) => row.id];

export const nameOf = ({ server, feature }: HolderRow): string =>
  server.features.get(feature)?.name ?? feature;

/**
 * Sorts by `free`, `-free` and so on. Unknown and unlimited features come last; ties are sorted by waiting
 * requests, then by name.
 */
export const sorted = (
  rows: FeatureRow[],
  sort: string,
  more: Readonly<Record<string, Key<FeatureRow>>> = {},
): FeatureRow[] => {
  const by = sort.replace("-", "");
  return inOrder(rows, sort, more[by] ?? ORDERS[by] ?? ORDERS.free, FEATURE_TIES);
};

/** Sorts by `since`, `-since` and so on, then by user and id. */
export const sortedHolders = (rows: HolderRow[], sort: string): HolderRow[] =>
  inOrder(rows, sort, HOLDER_ORDERS[sort.replace("-", "")] ?? HOLDER_ORDERS.since, HOLDER_TIES);

function inOrder<T>(rows: T[], sort: string, first: Key<T> = () => null, ties: readonly Key<T>[]): T[] {
  const falling = sort.startsWith("-");
  return rows.sort((a, b) => {
    let order = compareNullsLast(first(a), first(b), falling);
    for (let at = 0; order === 0 && at < ties.length; at++)
      order = compareNullsLast(ties[at]?.(a), ties[at]?.(b));
    return order;
  });
}
