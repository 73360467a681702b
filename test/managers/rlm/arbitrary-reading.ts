import fc from "fast-check";
import {
  type FeatureReading,
  type PoolReading,
  type Reading,
  UNKNOWN_EXPIRY,
} from "../../../src/domain/reading.ts";
import { MINUTE_MS } from "../../../src/domain/time/clock.ts";
import {
  checkoutReading,
  compareCounts,
  daemonUp,
  memberReading,
  sumOfCounts,
} from "../../../src/managers/reading-parts.ts";
import { completeReading, expiryIn, hostileText, place, printedTime, type Value } from "../arbitraries.ts";

/** This file makes readings that rlmstat can print, i.e. all except those that `render` excludes. */

const REPORT_TIME = Date.UTC(2025, 2, 30, 12, 34, 56);
export const ZONE = "Europe/Berlin";

const text = hostileText(
  " ~-~.~:~: ~ @~/~1/0~ 1/0 at 06/04 09:00~, pool: 3~(v1.0)~(handle: 1)~v2~ v3.1~|~\x01~count:~UNCOUNTED~[I: ~]",
).map((made) => made.trim());

const looksLikeTool =
  /^(?:count:|UNCOUNTED\b|# reservations:|inuse:|Token-based|obsolete:|min_remove:|total checkouts:|timeout:)|status on |Error connecting/i;

/** Product names that do not look like `NAME vVER`, `NAME, pool: K` or another line. */
const product = text.filter(
  (name) => !looksLikeTool.test(name) && !/^(?:rlm_roam|-{8,}|)$| v\S+$|, pool: \w+$/.test(name),
);
const user = text.map((name) => name.replaceAll("[I: ", "[I_"));
/** Always printed. Contains neither `@`, which ends the user, nor the parentheses of the old form. */
const host = text
  .map((name) => name.replaceAll("@", "_").replaceAll("[I: ", "[I_").replace(/\)$/, "_"))
  .filter((name) => name !== "" && !/^roam(?:ing)?$/i.test(name));
const isvData = text
  .map((data) => data.replaceAll("[I: ", "[I_"))
  .filter((data) => !/ \d+\/\d+ at \d\d\/\d\d/.test(data));
const version = fc.stringMatching(/^v[0-9]{1,4}(?:\.[0-9]{1,4})?$/);
const handle = fc.nat({ max: 0xffffff }).map((value) => value.toString(16));

const count = fc.nat({ max: 100_000 });
const pool: fc.Arbitrary<PoolReading> = fc
  .record({
    kind: fc.constantFrom("unknown", "unknown", "unknown", "uncounted", "token" as const),
    number: fc.option(fc.nat({ max: 99 }).map(String)),
    version: fc.option(version),
    total: count,
    used: count,
    expiry: expiryIn(ZONE),
  })
  .map(({ kind, total, used, expiry: until, ...rest }) => ({
    ...rest,
    kind,
    vendorString: null,
    unlimited: kind === "uncounted",
    total: kind === "unknown" ? total : null,
    used: kind === "token" ? null : used,
    expiry: kind === "token" ? UNKNOWN_EXPIRY : until,
  }));

const checkout = fc.record({
  user,
  host,
  qualifier: fc.option(isvData),
  count: fc.integer({ min: 1, max: 500 }),
  handle: fc.option(handle, { freq: 9 }),
  startedAt: printedTime(ZONE, Math.floor(REPORT_TIME / MINUTE_MS) * MINUTE_MS, MINUTE_MS),
  borrowed: fc.boolean(),
  version: fc.option(version),
  ofPool: fc.nat(),
});

function sum(values: readonly (number | null)[]): number | null {
  if (values.length === 0 || values.includes(null)) return null;
  return values.reduce<number>((total, value) => total + (value ?? 0), 0);
}

/**
 * Assigns seats to pools as rlmstat shows them: to the only pool of the seat's version, or to no pool if several pools have
 * it.
 */
function assemble(
  daemon: string,
  name: string,
  pools: readonly PoolReading[],
  seats: readonly Value<typeof checkout>[],
  kept: number | null,
): FeatureReading {
  const own = pools.filter(({ kind }) => kind !== "token");
  const unlimited = own.some((each) => each.unlimited);
  const total = unlimited ? null : sum(own.map((each) => each.total));
  const used = sum(own.map((each) => each.used));
  const checkouts = seats.map(({ ofPool, version: asked, ...rest }) => {
    const chosen = pools.length === 0 ? -1 : ofPool % pools.length;
    const served = chosen === -1 ? asked : (pools[chosen]?.version ?? null);
    const same = pools.filter((each) => each.version === served).length;
    return checkoutReading({ ...rest, version: served, pool: same === 1 ? chosen : null });
  });
  return {
    daemon,
    name,
    total,
    used,
    unlimited,
    reserved: own.length === 0 ? null : kept,
    error: null,
    pools,
    checkouts,
    reservations: [],
    queue: [],
    consistency: unlimited ? "ok" : compareCounts(used, sumOfCounts(checkouts)),
    cut: false,
  };
}

/** Reports whether headers are ambiguous: `a: v1: ada@pc` may mean a user `v1: ada` of `a`, or version v1 of `a:`. */
function canBeTakenForAnother(blocks: readonly { name: string; pools: readonly PoolReading[] }[]): boolean {
  const headers = blocks.flatMap(({ name, pools }) =>
    pools.map(({ version: printed }) => (printed === null ? name : `${name} ${printed}`)),
  );
  return headers.some((one) => headers.some((other) => other.startsWith(`${one}: `)));
}

const features = (daemon: string) =>
  fc
    .uniqueArray(
      fc.record({
        name: product,
        pools: fc.array(pool, { minLength: 1, maxLength: 3 }),
        seats: fc.array(checkout, { maxLength: 4 }),
        kept: fc.option(fc.nat({ max: 9 })),
      }),
      { maxLength: 4, selector: ({ name }) => name },
    )
    .filter((blocks) => !canBeTakenForAnother(blocks))
    .map((blocks) =>
      blocks.map(({ name, pools, seats, kept }) => assemble(daemon, name, pools, seats, kept)),
    );

const totals = fc.option(fc.record({ checkouts: count, denials: count, removals: count }));

export const arbitraryReading: fc.Arbitrary<Reading> = fc
  .record({
    toolVersion: fc.option(version),
    member: fc.record({ ...place, version: fc.option(version) }),
    daemons: fc.uniqueArray(
      fc
        .stringMatching(/^[a-z][a-z0-9_-]{0,9}$/)
        .filter((name) => name !== "rlm")
        .chain((name) =>
          fc.record({
            name: fc.constant(name),
            version: fc.option(version),
            down: fc.boolean(),
            totals,
            features: features(name),
          }),
        ),
      { minLength: 1, maxLength: 3, selector: ({ name }) => name },
    ),
  })
  .map((raw): Reading => {
    const up = raw.daemons.filter(({ down }) => !down);
    const lacksUsage = ({ features: list }: (typeof up)[number]) => {
      const busy = list.some((each) => !each.unlimited && (each.used ?? 0) > 0);
      return busy && list.every(({ checkouts }) => checkouts.length === 0);
    };
    const inUseUnseen = up.some(lacksUsage);
    // The text ends within its pools.
    const open = up.slice(-1).filter(lacksUsage);
    return completeReading({
      manager: "rlm",
      reportTime: REPORT_TIME,
      toolVersion: raw.toolVersion,
      members: [memberReading(raw.member.host, raw.member.port, "up", raw.member.version)],
      daemons: raw.daemons.map(({ name, version: printed, down, totals: counted }, index) =>
        down
          ? { ...daemonUp(name, null), status: "down" }
          : { ...daemonUp(name, printed), totals: counted, port: 1024 + 7 * index },
      ),
      features: up.flatMap((each) => each.features.map((one) => ({ ...one, cut: open.includes(each) }))),
      errors: [],
      cut: inUseUnseen,
    });
  });
