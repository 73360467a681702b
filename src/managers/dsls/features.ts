import { featureKey } from "../../domain/history.ts";
import type {
  AssignedReading,
  CheckoutReading,
  Consistency,
  FeatureReading,
  PoolReading,
  QueueReading,
} from "../../domain/reading.ts";
import type { Unit } from "../../domain/words.ts";
import { checkoutReading, compareCounts, type Mutable, sumOfCounts } from "../reading-parts.ts";
import { type createTimes, readCount, readHost, readProcess } from "./cells.ts";
import { printCells } from "./csv.ts";
import type { Row } from "./table.ts";

/**
 * How each license model counts `inuse`. Tokens and credits count by row. A user has one license for any
 * number of programs, and a named user keeps the license while no program runs.
 */
const MODELS: Readonly<
  Record<string, { readonly unit: Unit; readonly inuse: "rows" | "users" | "assigned" }>
> = {
  Token: { unit: "tokens", inuse: "rows" },
  Credit: { unit: "credits", inuse: "rows" },
  ConcurrentUser: { unit: "seats", inuse: "users" },
  NamedUser: { unit: "seats", inuse: "assigned" },
};
const UNKNOWN_MODEL = { unit: "seats", inuse: "rows" } as const;

type Held = Mutable<CheckoutReading>;
type FeatureDraft = ReturnType<typeof createFeature>;
type PoolDraft = ReturnType<typeof createPool>;

export function createFeatures(times: ReturnType<typeof createTimes>) {
  const features = new Map<string, FeatureDraft>();
  const pools = new Map<string, PoolDraft>();
  let last: FeatureDraft | null = null;
  let same: { readonly head: Row["head"]; readonly pool: PoolDraft } | null = null;

  /** Returns null if the row contradicts itself or an earlier row. Such a row is damaged, or its cells are shifted. */
  function poolOf(row: Row, feature: FeatureDraft): PoolDraft | null {
    const [count, inuse] = [row.get("count"), readCount(row.get("inuse"))];
    const isUnlimited = count.toLowerCase() === "unlimited";
    const total = isUnlimited ? null : readCount(count);
    const expiry = times.expiry(row.get("expires"));
    if (inuse === null || expiry === null || (total === null && !isUnlimited)) return null;
    const known = pools.get(row.head.identity);
    if (known !== undefined)
      // Rows of one set of licenses differ only in their users, so a further row must have a user and the same counts.
      return row.isUse && known.total === total && known.inuse === inuse ? known : null;
    const pool = createPool(row, total, inuse, expiry, feature.pools.length);
    feature.pools.push(pool);
    pools.set(row.head.identity, pool);
    return pool;
  }

  return {
    /** Returns false for an invalid row, and marks its feature as cut. */
    add(row: Row): boolean {
      if (same?.head === row.head && row.isUse && same.pool.add(row, times)) return true;
      const model = row.get("model");
      const { unit } = MODELS[model] ?? UNKNOWN_MODEL;
      const [daemon, name] = [row.get("editor"), row.get("feature")];
      // Keep counts of different units in separate features, because they must never be added up.
      const feature = features.getOrInsertComputed(`${featureKey(daemon, name)}\0${unit}`, () =>
        createFeature(daemon, name, unit),
      );
      last = feature;
      const pool = poolOf(row, feature);
      const isTaken = pool?.add(row, times) === true && model in MODELS;
      if (!isTaken) feature.cut = true;
      same = pool !== null && isTaken ? { head: row.head, pool } : null;
      return isTaken;
    },
    /** Marks the last feature as cut, because the text ended within its rows. */
    cutLast(): void {
      if (last !== null) last.cut = true;
    },
    read(): FeatureReading[] {
      // Leave out features without a valid row, because an invalid row may have a wrong feature name.
      const known = [...features.values()].filter(({ pools }) => pools.length > 0);
      const named = Map.groupBy(known, ({ daemon, name }) => featureKey(daemon, name));
      return known.map((feature) => {
        const isAlone = named.get(featureKey(feature.daemon, feature.name))?.length === 1;
        return feature.read(
          isAlone || feature.unit === "seats" ? feature.name : `${feature.name} [${feature.unit}]`,
        );
      });
    },
  };
}

function createFeature(daemon: string, name: string, unit: Unit) {
  const pools: PoolDraft[] = [];
  const feature = {
    daemon,
    name,
    unit,
    pools,
    cut: false,
    read(shown: string): FeatureReading {
      const read = pools.map((pool) => pool.read());
      const unlimited = pools.some(({ total }) => total === null);
      const checks = pools.map((pool) => pool.check());
      return {
        daemon,
        name: shown,
        ...(unit !== "seats" && { unit }),
        total: unlimited ? null : sum(read.map(({ total }) => total ?? 0)),
        used: sum(read.map(({ used }) => used ?? 0)),
        unlimited,
        error: null,
        pools: read,
        checkouts: pools.flatMap(({ checkouts }) => checkouts),
        reservations: [],
        queue: pools.flatMap(({ queue }) => queue),
        ...(pools.some(({ assigned }) => assigned !== null) && {
          assigned: pools.flatMap(({ assigned }) => [...(assigned?.values() ?? [])]),
        }),
        consistency:
          checks.find((check) => check === "short") ?? checks.find((check) => check === "shared") ?? "ok",
        cut: feature.cut,
      };
    },
  };
  return feature;
}

/** `total` is null if unlimited. */
function createPool(
  first: Row,
  total: number | null,
  inuse: number,
  expiry: PoolReading["expiry"],
  index: number,
) {
  const model = first.get("model");
  const counts = (MODELS[model] ?? UNKNOWN_MODEL).inuse;
  const words = [model, first.get("type"), first.get("pricing"), first.get("customer")];
  const assigned = counts === "assigned" ? new Map<string, AssignedReading>() : null;
  const checkouts: Held[] = [];
  const byPerson = new Map<string, Held>();
  const queue: QueueReading[] = [];

  /** Adds a checkout. All programs of a person share one license, which is held since the first program started. */
  function hold(person: string, one: Held): void {
    const own = byPerson.get(person);
    if (own !== undefined) own.startedAt = earlier(own.startedAt, one.startedAt);
    else {
      byPerson.set(person, one);
      checkouts.push(one);
    }
  }

  return {
    total,
    inuse,
    assigned,
    checkouts,
    queue,
    /** Returns false if cells do not fit their columns. */
    add(row: Row, times: ReturnType<typeof createTimes>): boolean {
      if (!row.isUse) return true;
      const grant = times.grant(row);
      const [place, tokens] = [row.get("queue"), row.get("tokens")];
      const count = counts === "rows" || tokens !== "" ? readCount(tokens) : 1;
      if (grant === null || count === null || count === 0) return false;
      if (place !== "" && readCount(place) === null) return false;
      const { name: program, pid } = readProcess(row.get("process"));
      const one = checkoutReading({
        user: row.get("user") || null,
        host: readHost(row.get("host")),
        qualifier: program,
        version: row.get("clientVersion") || null,
        count: counts === "rows" ? count : 1,
        handle: row.get("session") || null,
        pid,
        // Use the program's time for a named user, who has the license long before a program uses it.
        startedAt: counts === "assigned" ? grant.at : (grant.since ?? grant.at),
        pool: index,
      });
      // Reject a row without a holder, because the tool never prints one.
      if (one.user === null && one.host === null && one.handle === null) return false;
      if (place !== "") {
        const { user, host, display, qualifier, version, handle, pool } = one;
        queue.push({ user, host, display, qualifier, version, count: one.count, handle, pool });
        return true;
      }
      if (counts === "rows") {
        checkouts.push(one);
        return true;
      }
      const person = personOf(row, assigned !== null);
      if (assigned !== null && !assigned.has(person))
        assigned.set(person, { user: one.user ?? row.get("internalId"), host: one.host, since: grant.since });
      if (assigned === null || one.handle !== null || program !== null) hold(person, one);
      return true;
    },
    check(): Consistency {
      if (!first.namesUsers) return "ok";
      return compareCounts(inuse, assigned?.size ?? sumOfCounts(checkouts));
    },
    read: (): PoolReading => ({
      number: null,
      version: first.get("release") || null,
      vendorString: printCells(words),
      kind: total === null ? "uncounted" : assigned === null ? "floating" : "unknown",
      total,
      // Count only named users who run a program; the others do not use their license.
      used: assigned === null ? inuse : checkouts.length,
      unlimited: total === null,
      expiry,
    }),
  };
}

/**
 * Returns a key for the owner of a license. The key uses the internal id, unless the id only repeats the
 * feature's name.
 */
function personOf(row: Row, isNamed: boolean): string {
  const [id, user] = [row.get("internalId"), row.get("user")];
  if (id !== "" && id !== row.get("feature")) return `${id}\0${user}`;
  return isNamed ? user : `${user}\0${row.get("host")}`;
}

function earlier(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
