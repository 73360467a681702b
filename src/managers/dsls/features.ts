import type {
  AssignedReading,
  CheckoutReading,
  Consistency,
  FeatureReading,
  PoolReading,
  QueueReading,
} from "../../domain/reading.ts";
import type { Unit } from "../../domain/words.ts";
import { printCells } from "./csv.ts";
import { type createTimes, type Row, readCount, readHost, readProcess } from "./rows.ts";

/**
 * What `Inuse` counts, by the license model. A token or credit is held by the row that names it. A concurrent user has one
 * license, however many programs run; so has a named user, and keeps it when none runs.
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

type FeatureDraft = ReturnType<typeof createFeature>;
type PoolDraft = ReturnType<typeof createPool>;

/** Features from the rows of one table. */
export function createFeatures(times: ReturnType<typeof createTimes>) {
  const features = new Map<string, FeatureDraft>();
  const pools = new Map<string, PoolDraft>();
  let last: FeatureDraft | null = null;

  /** Null when the row contradicts itself or an earlier one: it is damaged, or its cells are shifted. */
  function poolOf(row: Row, feature: FeatureDraft): PoolDraft | null {
    const [count, inuse] = [row.get("count"), readCount(row.get("inuse"))];
    const isUnlimited = count.toLowerCase() === "unlimited";
    const total = isUnlimited ? null : readCount(count);
    const expiry = times.expiry(row.get("expires"));
    if (inuse === null || expiry === null || (total === null && !isUnlimited)) return null;
    const known = pools.get(row.identity);
    if (known !== undefined)
      // Rows of one set of licenses differ in its users alone.
      return row.isUse && known.total === total && known.inuse === inuse ? known : null;
    const pool = createPool(row, total, inuse, expiry, feature.pools.length);
    feature.pools.push(pool);
    pools.set(row.identity, pool);
    return pool;
  }

  return {
    /** False when the row was not understood: its feature lacks what it says. */
    add(row: Row): boolean {
      const model = row.get("model");
      const { unit } = MODELS[model] ?? UNKNOWN_MODEL;
      const [daemon, name] = [row.get("editor"), row.get("feature")];
      // Units are never added up.
      const feature = features.getOrInsertComputed(`${daemon}\0${name}\0${unit}`, () =>
        createFeature(daemon, name, unit),
      );
      last = feature;
      const taken = poolOf(row, feature)?.add(row, times) === true && model in MODELS;
      if (!taken) feature.cut = true;
      return taken;
    },
    /** The text ended within the last feature's rows. */
    cutLast(): void {
      if (last !== null) last.cut = true;
    },
    read(): FeatureReading[] {
      // Of a row that was not understood even the name may be another's.
      const known = [...features.values()].filter(({ pools }) => pools.length > 0);
      const named = Map.groupBy(known, ({ daemon, name }) => `${daemon}\0${name}`);
      return known.map((feature) => {
        const isAlone = named.get(`${feature.daemon}\0${feature.name}`)?.length === 1;
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

/** One set of licenses and who has them. `total` is null where the tool says `unlimited`. */
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
  /** Who has a license of this set by name, by person. */
  const assigned = counts === "assigned" ? new Map<string, AssignedReading>() : null;
  const checkouts: { -readonly [Key in keyof CheckoutReading]: CheckoutReading[Key] }[] = [];
  const byPerson = new Map<string, (typeof checkouts)[number]>();
  const queue: QueueReading[] = [];

  function hold(person: string, client: QueueReading, pid: number | null, startedAt: number | null): void {
    const own = counts === "rows" ? undefined : byPerson.get(person);
    if (own !== undefined) {
      own.startedAt = earlier(own.startedAt, startedAt);
      return;
    }
    const held = { ...client, pid, startedAt, lingerSeconds: null, borrowed: false };
    checkouts.push(held);
    if (counts !== "rows") byPerson.set(person, held);
  }

  return {
    total,
    inuse,
    assigned,
    checkouts,
    queue,
    /** False when the row's cells cannot be what their columns say. */
    add(row: Row, times: ReturnType<typeof createTimes>): boolean {
      if (!row.isUse) return true;
      const grant = times.grant(row);
      const [place, tokens] = [row.get("queue"), row.get("tokens")];
      const count = counts === "rows" || tokens !== "" ? readCount(tokens) : 1;
      const program = readProcess(row.get("process"));
      const person = personOf(row, counts === "assigned");
      if (grant === null || count === null || count === 0 || person === "") return false;
      const client = {
        user: row.get("user") || null,
        host: readHost(row.get("host")),
        display: null,
        qualifier: program.name,
        version: row.get("clientVersion") || null,
        count: counts === "rows" ? count : 1,
        handle: row.get("session") || null,
        pool: index,
      };
      if (place !== "") {
        queue.push(client);
        return readCount(place) !== null;
      }
      if (assigned === null) {
        // When a concurrent user got the license, however many programs came later.
        const startedAt = counts === "users" ? (grant.since ?? grant.at) : (grant.at ?? grant.since);
        hold(person, client, program.pid, startedAt);
        return true;
      }
      if (!assigned.has(person)) {
        const user = client.user ?? row.get("internalId");
        assigned.set(person, { user, host: client.host, since: grant.since });
      }
      if (client.handle !== null || program.name !== null) hold(person, client, program.pid, grant.at);
      return true;
    },
    /** `Inuse` = Σ tokens of the rows, or how many people have a license. */
    check(): Consistency {
      if (!first.namesUsers) return "ok";
      const listed = assigned?.size ?? sum(checkouts.map(({ count }) => count));
      return listed < inuse ? "short" : listed > inuse ? "shared" : "ok";
    },
    read: (): PoolReading => ({
      number: null,
      version: first.get("release") || null,
      vendorString: printCells(words),
      kind: total === null ? "uncounted" : assigned === null ? "floating" : "unknown",
      total,
      // To have a license by name is not to use it.
      used: assigned === null ? inuse : checkouts.length,
      unlimited: total === null,
      expiry,
    }),
  };
}

/**
 * Programs of one person share a license. The internal id says whose they are, unless it repeats the feature's name.
 * Empty when the row names nobody and nothing.
 */
function personOf(row: Row, isNamed: boolean): string {
  const [id, user, host] = [row.get("internalId"), row.get("user"), row.get("host")];
  if (id !== "" && id !== row.get("feature")) return `${id}\0${user}`;
  if (isNamed || (user === "" && host === "")) return user || row.get("session");
  return `${user}\0${host}`;
}

function earlier(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
