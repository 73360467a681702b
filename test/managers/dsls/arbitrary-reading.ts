import fc from "fast-check";
import type { FeatureReading, QueueReading, Reading } from "../../../src/domain/reading.ts";
import { PERMANENT, UNKNOWN_EXPIRY } from "../../../src/domain/reading.ts";
import { printCells } from "../../../src/managers/dsls/csv.ts";
import { checkoutReading, memberReading, sumOfCounts } from "../../../src/managers/reading-parts.ts";
import { completeReading, expiryIn, hostileText, place, printedTime, type Value } from "../arbitraries.ts";

/** This file makes readings that DSLicSrv can print, i.e. all except those that `render` excludes. */

export const ZONE = "Europe/Berlin";
const LAST = Date.UTC(2026, 2, 30, 12, 34, 56);
const text = hostileText(
  ' ~""~,"~",~ ( 4)~)/1~-restricted~=cmd()~unlimited~Editor,EditorId,~quit~\\n',
).filter((made) => !/^admin ?>|^Picked up/m.test(made));

const program = text.filter((made) => !/ \( ?\d{1,10}\)$/.test(made));
const count = fc.nat({ max: 100_000 });

const client = fc.record({
  user: text,
  host: fc.option(text, { freq: 9 }),
  qualifier: fc.option(program, { freq: 9 }),
  version: fc.option(text),
  count: fc.integer({ min: 1, max: 500 }),
  pid: fc.option(fc.nat()),
  startedAt: fc.option(printedTime(ZONE, LAST, 1000), { freq: 9 }),
  isNameless: fc.boolean(),
  isRunning: fc.boolean(),
  since: printedTime(ZONE, LAST, 1000),
});
type Client = Value<typeof client>;

const set = fc.record({
  isNamed: fc.boolean(),
  words: fc.tuple(text, fc.option(text), fc.option(text)),
  version: fc.option(text),
  expiry: expiryIn(ZONE).map((expiry) => (expiry === PERMANENT ? UNKNOWN_EXPIRY : expiry)),
  total: fc.option(count, { freq: 9 }),
  used: fc.option(count),
  holders: fc.uniqueArray(client, { maxLength: 4, selector: ({ user }) => user }),
  waiting: fc.array(client, { maxLength: 2 }),
});
type Set = Value<typeof set>;

/** Makes session ids, which are unique within a feature and have equal lengths. */
const handleOf = (pool: number, index: number) => (0x02dbe00 + pool * 16 + index).toString(16).toUpperCase();

function clientOf(
  { user, host, qualifier, version, count }: Client,
  pool: number,
  index: number,
  isSeat: boolean,
) {
  const handle = handleOf(pool, index);
  return { user, host, display: null, qualifier, version, count: isSeat ? 1 : count, handle, pool };
}

/**
 * Returns the rows of a set's users. In a named set, all holders are assigned, and those who run a program
 * also have a checkout.
 */
function partsOf(one: Set, model: string, index: number) {
  const isNamed = model === "NamedUser";
  const isSeat = isNamed || model === "ConcurrentUser";
  const running = isNamed ? one.holders.filter(({ isRunning }) => isRunning) : one.holders;
  const checkouts = running.map((holder, at) => {
    const isNameless = holder.isNameless && !isNamed && holder.host !== null;
    const { pid, startedAt } = holder;
    const printed = checkoutReading({ ...clientOf(holder, index, at, isSeat), pid, startedAt });
    return isNameless ? { ...printed, user: null } : printed;
  });
  const held = sumOfCounts(checkouts);
  const used = isNamed ? checkouts.length : (one.used ?? held);
  const pool = {
    number: null,
    version: one.version,
    vendorString: printCells([model, one.words[0], one.words[1] ?? "", one.words[2] ?? ""]),
    kind:
      one.total === null ? ("uncounted" as const) : isNamed ? ("unknown" as const) : ("floating" as const),
    total: one.total,
    used,
    unlimited: one.total === null,
    expiry: one.expiry,
  };
  return {
    pool,
    checkouts,
    queue: one.waiting.map((each, at): QueueReading => clientOf(each, index, 8 + at, isSeat)),
    assigned: isNamed ? one.holders.map(({ user, host, since }) => ({ user, host, since })) : null,
    /** Used seats that are not listed: one person if a named set is short. */
    difference: isNamed ? (one.used === null ? 0 : 1) : used - held,
  };
}

const feature = fc
  .record({
    daemon: text,
    name: text,
    unit: fc.constantFrom("seats", "seats", "tokens", "credits" as const),
    sets: fc.uniqueArray(set, {
      minLength: 1,
      maxLength: 3,
      selector: ({ words, version, expiry }) => JSON.stringify([words, version, expiry.expiresOn]),
    }),
  })
  .map(({ daemon, name, unit, sets }): FeatureReading => {
    const named = unit === "seats" ? sets.findIndex(({ isNamed }) => isNamed) : -1;
    const parts = sets.map((one, index) => {
      const seats = index === named ? "NamedUser" : "ConcurrentUser";
      return partsOf(one, unit === "seats" ? seats : unit === "tokens" ? "Token" : "Credit", index);
    });
    const pools = parts.map(({ pool }) => pool);
    const unlimited = pools.some((pool) => pool.unlimited);
    const add = (numbers: readonly (number | null)[]) =>
      numbers.reduce<number>((sum, each) => sum + (each ?? 0), 0);
    const isShort = parts.some(({ difference }) => difference > 0);
    const isShared = parts.some(({ difference }) => difference < 0);
    return {
      daemon,
      name,
      ...(unit !== "seats" && { unit }),
      total: unlimited ? null : add(pools.map(({ total }) => total)),
      used: add(pools.map(({ used }) => used)),
      unlimited,
      error: null,
      pools,
      checkouts: parts.flatMap(({ checkouts }) => checkouts),
      reservations: [],
      queue: parts.flatMap(({ queue }) => queue),
      ...(named !== -1 && { assigned: parts.flatMap(({ assigned }) => assigned ?? []) }),
      consistency: isShort ? "short" : isShared ? "shared" : "ok",
      cut: false,
    };
  });

const version = fc.stringMatching(/^6\.4[0-9]{2}\.[0-9]$/);

export const arbitraryReading: fc.Arbitrary<Reading> = fc
  .record({
    toolVersion: fc.option(version),
    member: fc.record({ ...place, version: fc.option(version) }),
    features: fc.uniqueArray(feature, {
      maxLength: 4,
      selector: ({ daemon, name }) => JSON.stringify([daemon, name]),
    }),
  })
  .map(({ toolVersion, member: { host, port, version: printed }, features }) =>
    completeReading({
      manager: "dsls",
      toolVersion,
      members: [memberReading(host, port, "up", printed)],
      daemons: [],
      features,
      errors: [],
    }),
  );
