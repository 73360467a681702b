import fc from "fast-check";
import type {
  AssignedReading,
  CheckoutReading,
  FeatureReading,
  PoolReading,
  QueueReading,
  Reading,
} from "../../../src/domain/reading.ts";
import { UNKNOWN_EXPIRY } from "../../../src/domain/reading.ts";
import { endOfDay, offsetAt } from "../../../src/domain/time/zone.ts";
import { printCells } from "../../../src/managers/dsls/csv.ts";

/** Readings that DSLicSrv can print, i.e. all except those that `render` excludes. */

export const ZONE = "Europe/Berlin";
const LAST = Date.UTC(2026, 2, 30, 12, 34, 56);
const HOUR = 3_600_000;

/** Pieces that are hard to parse. */
const hostile = fc.constantFrom(
  ...' ~,~"~""~,"~",~\n~\t~\'~ ( 4)~)/1~@~;~-restricted~=cmd()~<script>~unlimited~Editor,EditorId,~é~日本~😀~\u202e~\u2028~quit'.split(
    "~",
  ),
);
const word = fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 });
const text = fc
  .array(fc.oneof(word, hostile), { minLength: 1, maxLength: 5 })
  .map((pieces) => pieces.join("").replaceAll("\r", "_"))
  .filter((made) => !/^admin ?>|^Picked up/m.test(made));

const program = text.filter((made) => !/ \( ?\d{1,10}\)$/.test(made));
/** In a repeated hour, the text always means the first occurrence. */
const time = fc.integer({ min: 0, max: 400 * 24 * 3600 }).map((secondsAgo) => {
  const at = LAST - secondsAgo * 1000;
  return offsetAt(ZONE, at) < offsetAt(ZONE, at - HOUR) ? at - HOUR : at;
});
const count = fc.nat({ max: 100_000 });
const expiry = fc.option(
  fc.record({
    year: fc.integer({ min: 2000, max: 2099 }),
    month: fc.integer({ min: 1, max: 12 }),
    day: fc.integer({ min: 1, max: 28 }),
  }),
);

const client = fc.record({
  user: text,
  host: fc.option(text, { freq: 9 }),
  qualifier: fc.option(program, { freq: 9 }),
  version: fc.option(text),
  count: fc.integer({ min: 1, max: 500 }),
  pid: fc.option(fc.nat()),
  startedAt: fc.option(time, { freq: 9 }),
  isNameless: fc.boolean(),
  isRunning: fc.boolean(),
  since: time,
});
type Client = typeof client extends fc.Arbitrary<infer T> ? T : never;

const set = fc.record({
  isNamed: fc.boolean(),
  words: fc.tuple(text, fc.option(text), fc.option(text)),
  version: fc.option(text),
  until: expiry,
  total: fc.option(count, { freq: 9 }),
  used: fc.option(count),
  holders: fc.uniqueArray(client, { maxLength: 4, selector: ({ user }) => user }),
  waiting: fc.array(client, { maxLength: 2 }),
});
type Set = typeof set extends fc.Arbitrary<infer T> ? T : never;

/** Session ids: unique within a feature, and of one length. */
const handleOf = (pool: number, index: number) => (0x02dbe00 + pool * 16 + index).toString(16).toUpperCase();

function clientOf(one: Client, pool: number, index: number, isSeat: boolean): Omit<QueueReading, "user"> {
  const { host, qualifier, version } = one;
  return {
    host,
    display: null,
    qualifier,
    version,
    count: isSeat ? 1 : one.count,
    handle: handleOf(pool, index),
    pool,
  };
}

/** Rows of a set's users. In a named set, users who run a program had the license before. */
function partsOf(one: Set, model: string, index: number) {
  const isNamed = model === "NamedUser";
  const isSeat = isNamed || model === "ConcurrentUser";
  const running = isNamed ? one.holders.filter(({ isRunning }) => isRunning) : one.holders;
  const checkouts = running.map((holder, at): CheckoutReading => {
    const isNameless = holder.isNameless && !isNamed && holder.host !== null;
    const { pid, startedAt } = holder;
    return {
      user: isNameless ? null : holder.user,
      ...clientOf(holder, index, at, isSeat),
      pid,
      startedAt,
      lingerSeconds: null,
      borrowed: false,
    };
  });
  const held = checkouts.reduce((sum, each) => sum + each.count, 0);
  const used = isNamed ? checkouts.length : (one.used ?? held);
  const [year, month, day] = one.until === null ? [] : [one.until.year, one.until.month, one.until.day];
  const expiresOn =
    day === undefined ? null : [year, month, day].map((part) => String(part).padStart(2, "0")).join("-");
  const pool: PoolReading = {
    number: null,
    version: one.version,
    vendorString: printCells([model, one.words[0], one.words[1] ?? "", one.words[2] ?? ""]),
    kind: one.total === null ? "uncounted" : isNamed ? "unknown" : "floating",
    total: one.total,
    used,
    unlimited: one.total === null,
    expiry:
      expiresOn === null
        ? UNKNOWN_EXPIRY
        : { expiresOn, expiresAt: endOfDay(ZONE, year ?? 0, month ?? 0, day ?? 0), permanent: false },
  };
  return {
    pool,
    checkouts,
    queue: one.waiting.map(
      (each, at): QueueReading => ({ user: each.user, ...clientOf(each, index, 8 + at, isSeat) }),
    ),
    assigned: isNamed
      ? one.holders.map(({ user, host, since }): AssignedReading => ({ user, host, since }))
      : null,
    /** One person more than listed, if a named set is short. */
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
      selector: ({ words, version, until }) => JSON.stringify([words, version, until]),
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
    member: fc.record({
      host: fc.stringMatching(/^[a-z][a-z0-9.-]{0,12}$/),
      port: fc.integer({ min: 1, max: 65_535 }),
      version: fc.option(version),
    }),
    features: fc.uniqueArray(feature, {
      maxLength: 4,
      selector: ({ daemon, name }) => JSON.stringify([daemon, name]),
    }),
  })
  .map(
    ({ toolVersion, member, features }): Reading => ({
      manager: "dsls",
      reportTime: null,
      toolVersion,
      members: [{ ...member, status: "up", master: false, error: null }],
      daemons: [],
      features,
      errors: [],
      unparsedLines: 0,
      unparsed: [],
      cut: false,
      recognised: true,
    }),
  );
