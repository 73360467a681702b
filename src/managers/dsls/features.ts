import type {
  AssignedReading,
  CheckoutReading,
  Consistency,
  FeatureReading,
  PoolReading,
  QueueReading,
} from "../../domain/reading.ts";
import { UNKNOWN_EXPIRY } from "../../domain/reading.ts";
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

/** `odd`: the row was taken, but something in it was not understood. `lost`: its feature lacks what it says. */
export type Taken = "whole" | "odd" | "lost";

type FeatureDraft = ReturnType<typeof createFeature>;
type PoolDraft = ReturnType<typeof createPool>;

/** Features from the rows of one table. */
export function createFeatures(times: ReturnType<typeof createTimes>) {
  const features = new Map<string, FeatureDraft>();
  const pools = new Map<string, PoolDraft>();
  let last: FeatureDraft | null = null;

  function poolOf(row: Row, feature: FeatureDraft, total: number | null, inuse: number): PoolDraft {
    return pools.getOrInsertComputed(row.identity, () => {
      const pool = createPool(row, total, inuse, times.expiry(row.get("expires")), feature.pools.length);
      feature.pools.push(pool);
      return pool;
    });
  }

  return {
    add(row: Row): Taken {
      const { unit } = MODELS[row.get("model")] ?? UNKNOWN_MODEL;
      const [daemon, name] = [row.get("editor"), row.get("feature")];
      // Units are never added up.
      const feature = features.getOrInsertComputed(`${daemon}\0${name}\0${unit}`, () =>
        createFeature(daemon, name, unit),
      );
      last = feature;
      const isUnlimited = row.get("count").toLowerCase() === "unlimited";
      const [total, inuse] = [isUnlimited ? null : readCount(row.get("count")), readCount(row.get("inuse"))];
      const isNew = !pools.has(row.identity);
      if (inuse !== null && (isUnlimited || total !== null)) {
        const pool = poolOf(row, feature, total, inuse);
        // Rows of one set of licenses differ in its users alone.
        const isSame = isNew || (row.isUse && pool.total === total && pool.inuse === inuse);
        const taken = isSame ? pool.add(row, times) : "lost";
        if (taken !== "lost" && row.get("model") in MODELS) return pool.isOdd && isNew ? "odd" : taken;
      }
      feature.cut = true;
      return "lost";
    },
    /** The text ended within the last feature's rows. */
    cutLast(): void {
      if (last !== null) last.cut = true;
    },
    read(): FeatureReading[] {
      const named = Map.groupBy(features.values(), ({ daemon, name }) => `${daemon}\0${name}`);
      return [...features.values()].map((feature) => {
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
        total: unlimited || pools.length === 0 ? null : sum(read.map(({ total }) => total ?? 0)),
        used: pools.length === 0 ? null : sum(read.map(({ used }) => used ?? 0)),
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
  expiry: PoolReading["expiry"] | null,
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

  return {
    total,
    inuse,
    assigned,
    checkouts,
    queue,
    /** Its expiry is no date. */
    isOdd: expiry === null,
    add(row: Row, times: ReturnType<typeof createTimes>): Taken {
      if (!row.isUse) return "whole";
      const process = readProcess(row.get("process"));
      const host = readHost(row.get("host"));
      const count = counts === "rows" ? readCount(row.get("tokens")) : 1;
      const [since, at] = [times.instant(row.get("since")), times.instant(row.get("at"))];
      // When a concurrent user got the license; a named user has it since long before the program was started.
      const startedAt = counts === "users" ? (since ?? at) : (at ?? (counts === "rows" ? since : null));
      const client = {
        user: row.get("user") || null,
        host,
        display: null,
        qualifier: process.program,
        version: row.get("clientVersion") || null,
        count: count ?? 0,
        handle: row.get("session") || null,
        pool: index,
      };
      if (row.get("queue") !== "") {
        queue.push({ ...client, count: client.count || 1 });
        return "whole";
      }
      if (client.count === 0) return "lost";
      const person = personOf(row, counts === "assigned");
      const isRunning = assigned === null || client.handle !== null || process.program !== null;
      if (assigned !== null && person === "") return "lost";
      if (assigned !== null && !assigned.has(person))
        assigned.set(person, { user: client.user ?? row.get("internalId"), host, since });
      const own = counts === "rows" ? undefined : byPerson.get(person);
      if (own !== undefined) own.startedAt = earlier(own.startedAt, startedAt);
      else if (isRunning) {
        const held = { ...client, pid: process.pid, startedAt, lingerSeconds: null, borrowed: false };
        checkouts.push(held);
        byPerson.set(person, held);
      }
      const isRead = (text: string, time: number | null) => text === "" || time !== null;
      return isRead(row.get("since"), since) && isRead(row.get("at"), at) ? "whole" : "odd";
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
      expiry: expiry ?? UNKNOWN_EXPIRY,
    }),
  };
}

/** Programs of one person share a license. The internal id says whose they are, unless it repeats the feature's name. */
function personOf(row: Row, isNamed: boolean): string {
  const [id, user] = [row.get("internalId"), row.get("user")];
  if (id !== "" && id !== row.get("feature")) return `${id}\0${user}`;
  if (isNamed) return user;
  return `${user}\0${row.get("host")}`;
}

function earlier(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
