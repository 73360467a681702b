import { ROW_COLUMNS, type RowValues } from "../domain/picture.ts";
import type { KeptServer, PictureFeature } from "../domain/polls/kept-picture.ts";
import type { PagePath } from "../domain/words.ts";
import { daysUntil } from "./format.ts";

/** The servers by id, in the order of the config. */
export type Site = ReadonlyMap<string, KeptServer>;

/** A place of the page; `hrefOf` of the router makes it a link. */
export interface Place {
  readonly path: PagePath;
  readonly query?: Readonly<Record<string, string>>;
}

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
  readonly facts: Facts;
  /** Of a row that stands for several features of one name: how many. */
  readonly of?: number;
}

/** What is made of a feature once, because search and order ask for it at every keystroke. */
interface Facts {
  /** Lower-case name and daemon. */
  readonly text: string;
  /** Comes in the order of names, whatever their case: `seat9` before `seat10`. */
  readonly order: string;
  /** Epoch ms; null when it is permanent or not known. */
  readonly expiresAt: number | null;
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
  /** Comes in the order of users and hosts, whatever their case. */
  readonly order: string;
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
    order: personOf(row),
  };
}

/** What is made of an object is kept as long as it lives; a server's is another one after each change. */
function kept<K extends object, T>(make: (of: K) => T): (of: K) => T {
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
/** Lower-case user and host of a row. */
const personOf = kept((row: RowValues) => `${row[USER] ?? ""}\n${row[HOST] ?? ""}`.toLowerCase());

/** Who has what of a server, for searches: `all` has everyone's text, so that a word of nobody is done with at once. */
const personsOf = kept(({ rows }: KeptServer) => {
  const texts = [...rows.values()].map(personOf);
  return { texts, all: texts.join("\n"), features: [...rows.values()].map((row) => row[FEATURE] as string) };
});

/** Keys of the features that somebody has, or waits for, in whose name or host the word occurs. */
function heldBy(server: KeptServer, word: string): ReadonlySet<string> {
  const { texts, all, features } = personsOf(server);
  const held = new Set<string>();
  if (all.includes(word))
    for (const [at, text] of texts.entries()) if (text.includes(word)) held.add(features[at] ?? "");
  return held;
}

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

export const allFeatures = (site: Site): FeatureRow[] => [...site.values()].flatMap(featuresOf);
export const allHolders = (site: Site): HolderRow[] => [...site.values()].flatMap(holdersOf);

/** No seat is left although there are some; a feature whose numbers are old is said to be stale, not full. */
export const isFull = ({ feature, free }: FeatureRow): boolean =>
  free === 0 && (feature.total ?? 0) > 0 && feature.state !== "stale";
const NEARLY = 0.9;
const EXPIRES_SOON_DAYS = 30;

/** Negative = expired; null when it is permanent or not known. */
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

/** How many rows are in each state. */
export function countStates(rows: readonly FeatureRow[], now: number): Readonly<Record<State, number>> {
  const counts = { full: 0, nearly: 0, waiting: 0, expiring: 0, stale: 0, partial: 0 };
  for (const row of rows) for (const state of STATES) if (IS_IN[state](row, now)) counts[state]++;
  return counts;
}

export interface Filter {
  readonly search: string;
  readonly server: string | null;
  /** `location:muc` */
  readonly label: string | null;
}

/**
 * Words must all occur: in the name, the daemon, the server, or in a user or host that has the feature or waits for it.
 * `server:eda` and `free:0` mean a server and a number of free seats; a name that holds such a word is found, too.
 */
export function matching(rows: readonly FeatureRow[], { search, server, label }: Filter): FeatureRow[] {
  const tests = search.toLowerCase().split(/\s+/).filter(Boolean).map(testOf);
  return rows.filter((row) => {
    if (server !== null && row.server.id !== server) return false;
    if (label !== null && !labelsOf(row.server).includes(label)) return false;
    return tests.every((test) => test(row));
  });
}

function testOf(word: string): (row: FeatureRow) => boolean {
  const [, name, value = ""] = /^(server|free):(.+)$/.exec(word) ?? [];
  const ofServer = new Map<KeptServer, { readonly isNamed: boolean; readonly held: ReadonlySet<string> }>();
  const look = (server: KeptServer) => {
    const { id } = server;
    const isNamed =
      `${id}\n${server.name}`.toLowerCase().includes(word) ||
      (name === "server" && id.toLowerCase() === value);
    const held = heldBy(server, word);
    const seen = { isNamed, held };
    ofServer.set(server, seen);
    return seen;
  };
  return ({ server, key, facts, free }) => {
    if (facts.text.includes(word) || (name === "free" && String(free) === value)) return true;
    const { isNamed, held } = ofServer.get(server) ?? look(server);
    return isNamed || held.has(key);
  };
}

export const inState = (rows: readonly FeatureRow[], state: State | null, now: number): FeatureRow[] =>
  state === null ? [...rows] : rows.filter((row) => IS_IN[state](row, now));

/** `muc` of `location` as `location:muc`. */
export function labelsOf({ labels }: KeptServer): string[] {
  return Object.entries(labels).map(([name, value]) => `${name}:${value}`);
}

const ORDERS = {
  name: (row: FeatureRow) => row.facts.order,
  server: (row: FeatureRow) => row.server.id,
  daemon: (row: FeatureRow) => row.feature.daemon,
  seats: (row: FeatureRow) => row.feature.total,
  used: (row: FeatureRow) => row.feature.used,
  free: (row: FeatureRow) => row.free,
  expires: (row: FeatureRow) => row.facts.expiresAt,
} as const;

const HOLDER_ORDERS = {
  user: (row: HolderRow) => row.order,
  host: (row: HolderRow) => row.host,
  feature: (row: HolderRow) => nameOf(row),
  server: (row: HolderRow) => row.server.id,
  count: (row: HolderRow) => row.count,
  since: (row: HolderRow) => row.since,
} as const;

/** The name of a row's feature. */
export const nameOf = ({ server, feature }: HolderRow): string =>
  server.features.get(feature)?.name ?? feature;

interface HolderFilter {
  readonly search: string;
  readonly server: string | null;
  readonly feature: string | null;
  /** Epoch ms: only checkouts held since before. */
  readonly before?: number | null;
}

/** Who holds or waits for something that all words of the search occur in; `feature` is the id of one feature. */
export function matchingHolders(
  rows: readonly HolderRow[],
  { search, server, feature, before = null }: HolderFilter,
): HolderRow[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter((row) => {
    if (row.kind === "reservation" || (server !== null && row.server.id !== server)) return false;
    if (feature !== null && `${row.server.id} ${row.feature}` !== feature) return false;
    if (before !== null && (row.kind !== "checkout" || row.since === null || row.since > before))
      return false;
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
    (a, b) =>
      compare(keyFor(a), keyFor(b), falling) ||
      compare(a.order, b.order, false) ||
      compare(a.id, b.id, false),
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
      compare(a.facts.order, b.facts.order, false) ||
      compare(a.id, b.id, false),
  );
}

/** Null is last in both directions. */
function compare(a: string | number | null, b: string | number | null, falling: boolean): number {
  if (a === b) return 0;
  if (a === null || b === null) return a === null ? 1 : -1;
  return a < b === falling ? 1 : -1;
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

/** A number for each row: its own of before, else one that is free. */
export function slotsOf(rows: readonly Identified[], before: ReadonlyMap<string, number>) {
  const slots = new Map<string, number>();
  for (const { id } of rows) {
    const slot = before.get(id);
    if (slot !== undefined) slots.set(id, slot);
  }
  const taken = new Set(slots.values());
  let next = 0;
  for (const { id } of rows) {
    if (slots.has(id)) continue;
    while (taken.has(next)) next++;
    slots.set(id, next++);
  }
  return slots;
}
