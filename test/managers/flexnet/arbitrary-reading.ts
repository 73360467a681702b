import fc from "fast-check";
import type {
  DaemonReading,
  FeatureReading,
  MemberReading,
  PoolReading,
  ToolError,
} from "../../../src/domain/reading.ts";
import { RESERVATION_TYPES, UNKNOWN_EXPIRY } from "../../../src/domain/reading.ts";
import { parseToolError } from "../../../src/managers/flexnet/status-lines.ts";
import { daemonUp, memberReading } from "../../../src/managers/reading-parts.ts";
import { completeReading, expiryIn, type Value } from "../arbitraries.ts";

/**
 * This file makes readings that lmstat's format can express. Names contain single spaces, but no other
 * blanks and no line ends. No word of a user looks like a host or display. The table can distinguish all
 * pools, no version begins with a letter, and no feature name occurs in several blocks. No text is cut or
 * not understood.
 */

const HOSTILE = [
  ...'Users of F: (Total ), start queued )queued for "F" vendor_string: floating license licenses # ... ---'.split(
    " ",
  ),
  ..."UP (v1.0) (a/1 1) (-15,570) RESERVATION 111 DOM\\user$ a,b a:b \u00a0x Mª 名前 🙂 ' NOTE: lmgrd".split(
    " ",
  ),
  "), start",
];
const NULL = fc.constant(null);
const optional = <T>(value: fc.Arbitrary<T>, freq = 5) => fc.option(value, { nil: null, freq });
const between = (min: number, max: number) => fc.integer({ min, max });

const anyWord = fc
  .oneof(
    fc.constantFrom(...HOSTILE),
    fc.string({ minLength: 1, maxLength: 8, unit: "grapheme" }),
    fc.string({ minLength: 1, maxLength: 8, unit: "binary" }),
  )
  .map((word) => word.toWellFormed().replaceAll(/[ \t\r\n]/g, "_"));
const words = (minLength: number, maxLength: number) =>
  fc.array(anyWord, { minLength, maxLength }).map((list) => list.join(" "));
const token = fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,11}$/);
const host = token.map((name) => `pc_${name}_`);

/** Words that look neither like a display (colon and digits at the end, leading slash) nor like the hosts above. */
const userWord = anyWord.filter(
  (word) => !/:\d+(\.\d+)?$/.test(word) && !/^(\/|pc_|pc?$|local$|NoXDisplay$)/i.test(word),
);

/** No word may extend the previous one, because the previous word would then look like a host. */
const noneExtends = (list: readonly string[]) =>
  list.every((word, index) => !word.toLowerCase().startsWith(list[index - 1]?.toLowerCase() ?? "\n"));
const anyUser = fc
  .array(userWord, { minLength: 1, maxLength: 3 })
  .filter(noneExtends)
  .map((list) => list.join(" "));

const display = fc.oneof(
  fc.constantFrom("/dev/tty", "/dev/pts/12", ":0", ":0.0", "NoXDisplay", "local", "gate:10.0"),
  host.map((name) => `${name}:0`),
);
const plainRest = fc.array(fc.stringMatching(/^[A-Z][A-Za-z_./-]{0,7}$/), { minLength: 1, maxLength: 3 });
const rest = optional(
  fc.oneof(
    plainRest.map((list) => list.join(" ")),
    fc.constantFrom("feature=x", "88123"),
  ),
);

type Text = fc.Arbitrary<string | null>;
const named = (user: fc.Arbitrary<string>, from: Text, shown: Text = NULL, qualifier: Text = NULL) =>
  fc.record({ user, host: from, display: shown, qualifier });

const who = fc.oneof(
  named(userWord, NULL),
  named(userWord, host),
  named(userWord, NULL, fc.constantFrom("/dev/pts/1", ":0.0", "gate:0")),
  // With three words, any word may be the display.
  named(userWord, host, anyWord),
  // If the display equals or extends the host, or has a display's shape, users and qualifiers may be several words.
  fc
    .tuple(named(anyUser, host, NULL, rest), fc.constantFrom("", ".0", ":0.0", "0"))
    .map(([holder, more]) => ({ ...holder, display: holder.host + more })),
  named(anyUser, host, display, rest),
  // Only the order identifies these words: they are plain, and none extends the previous one.
  fc
    .tuple(named(userWord, host), fc.stringMatching(/^x[A-Za-z_]{0,7}$/), plainRest)
    .filter(([, x, more]) => noneExtends([x, ...more]))
    .map(([holder, x, more]) => ({ ...holder, display: x, qualifier: more.join(" ") })),
);

/** If an identity ends in brackets, a version must follow, because the brackets would be parsed as one. */
const version = fc.stringMatching(/^v[0-9][A-Za-z0-9_.]{0,8}$/);
const holder = who.chain((identity) => {
  const last = identity.qualifier ?? identity.display ?? identity.host ?? "";
  return fc
    .record({
      version: /\([\w.]+\)$/.test(last) ? version : optional(version),
      handle: optional(fc.nat(99_999).map(String)),
    })
    .map((more) => ({ ...identity, ...more }));
});

/** A seat that is activated on a host. */
const activated = fc.record({
  user: NULL,
  host,
  display: optional(anyWord),
  qualifier: NULL,
  version,
  handle: optional(fc.nat(99_999).map(String)),
});

const knownExpiry = (zone: string) => expiryIn(zone).filter((expiry) => expiry !== UNKNOWN_EXPIRY);

interface Context {
  readonly zone: string;
  readonly reportTime: number;
}

/** Makes the lines under one pool line, or those above all pool lines if `index` is null. */
function groupOf({ reportTime }: Context, index: number | null) {
  const pool = fc.constant(index);
  /** Whole minutes of the last two months; null prints as an impossible date. */
  const startedAt = optional(
    between(-86_400, 60).map((minutes) => reportTime + minutes * 60_000),
    6,
  );
  const seat = fc.record({
    count: fc.oneof(fc.constant(1), between(1, 5000)),
    pid: optional(fc.nat(4_194_304)),
    startedAt,
    lingerSeconds: optional(fc.nat(20_000_000)),
    pool,
  });
  const checkout = fc
    .tuple(fc.oneof({ arbitrary: holder, weight: 9 }, { arbitrary: activated, weight: 1 }), seat)
    .map(([own, held]) => ({
      ...own,
      ...held,
      borrowed: own.user === null || (held.lingerSeconds ?? 0) > 0,
    }));
  const waiting = fc.record({ count: between(1, 50), pool });
  const reservation = fc.record({
    type: fc.constantFrom(...RESERVATION_TYPES),
    name: words(1, 3),
    count: between(1, 300),
    pool,
  });
  return fc.record({
    checkouts: fc.array(checkout, { maxLength: 4 }),
    reservations: fc.array(reservation, { maxLength: 2 }),
    queue: fc.array(
      fc.tuple(holder, waiting).map(([own, more]) => ({ ...own, ...more })),
      { maxLength: 2 },
    ),
  });
}
type Group = Value<ReturnType<typeof groupOf>>;

const seatsOf = ({ checkouts, reservations }: Group) =>
  [...checkouts, ...reservations].reduce((sum, { count }) => sum + count, 0);

const vendorString = optional(fc.oneof(words(0, 4), fc.constant("x pc (a/1 2), start Fri 10/20 1:00")));

const bare = {
  total: null,
  used: null,
  unlimited: false,
  error: null,
  pools: [],
  checkouts: [],
  reservations: [],
  queue: [],
  consistency: "ok",
  cut: false,
} as const;

function featureOf(context: Context, daemon: string, name: string): fc.Arbitrary<FeatureReading> {
  const draft = fc.record({
    version: optional(version),
    vendorString,
    kind: fc.constantFrom("floating", "nodelocked", "uncounted"),
    expiry: expiryIn(context.zone),
    total: optional(between(1, 9999)),
  });
  // The table cannot distinguish two pools of one version. A block without a daemon has no pools, because it would get the
  // daemon of its pool line.
  const maxLength = daemon === "" ? 0 : 3;
  const drafts = fc.uniqueArray(draft, { maxLength, selector: (pool) => `${pool.version}`.toLowerCase() });
  const outcomes = fc.constantFrom("ok", "short", "shared", "uncounted");
  return fc.tuple(drafts, outcomes, between(0, 20_000)).chain(([pools, outcome, total]) =>
    fc
      .tuple(groupOf(context, null), ...pools.map((_, index) => groupOf(context, index)))
      .map((groups): FeatureReading => {
        const held = groups.reduce((sum, group) => sum + seatsOf(group), 0);
        const unlimited = outcome === "uncounted";
        // Seats can only be shared if there are checkouts.
        const lines = unlimited || (outcome === "shared" && held === 0) ? "ok" : outcome;
        const consistency = lines === "shared" && held > total ? "short" : lines;
        const [, ...own] = groups;
        return {
          ...bare,
          daemon,
          name,
          total: unlimited ? null : total,
          used: unlimited ? null : held + { ok: 0, short: 1, shared: -1 }[lines],
          unlimited,
          pools: pools.map((pool, index): PoolReading => {
            const inTable = pool.version !== null && pool.expiry !== UNKNOWN_EXPIRY;
            const printed = pools.length === 1 && !unlimited ? total : inTable ? pool.total : null;
            const isUncounted = pool.kind === "uncounted";
            const group = own[index];
            return {
              ...pool,
              number: null,
              total: isUncounted ? null : printed,
              used: consistency !== "ok" || unlimited || group === undefined ? null : seatsOf(group),
              unlimited: isUncounted,
            };
          }),
          checkouts: groups.flatMap(({ checkouts }) => checkouts),
          reservations: groups.flatMap(({ reservations }) => reservations),
          queue: groups.flatMap(({ queue }) => queue),
          consistency,
        };
      }),
  );
}

const SUFFIXES = ['(-15,570:115 "Operation now in progress")', "(-97,121)", '(-96,7:2 "No (such) file")'];
const SENTENCES = ["Cannot connect to license server system.", "The desired vendor daemon is down.", "Odd:"];
const suffixed = fc
  .tuple(fc.constantFrom(...SENTENCES), fc.constantFrom(...SUFFIXES, "(-16,287)"))
  .map(([sentence, code]) => `${sentence} ${code}`);

function failedOf(daemon: string, name: string): fc.Arbitrary<FeatureReading> {
  const missing = `Cannot get users of ${name}: No such feature exists. (-5,222)`;
  return fc
    .constantFrom("Error: 21 licenses, unsupported by licensed server", missing)
    .map((message) => ({ ...bare, daemon, name, error: parseToolError(message) }));
}

/** A feature that is in the license file but not in the daemon's list. */
function unlistedOf({ zone }: Context, daemon: string, name: string): fc.Arbitrary<FeatureReading> {
  const row = fc.record({ version, expiry: knownExpiry(zone), total: optional(between(1, 500)) });
  const several = {
    minLength: 1,
    maxLength: 3,
    selector: (pool: { version: string }) => pool.version.toLowerCase(),
  };
  return fc.uniqueArray(row, several).map((rows) => {
    const pools = rows.map((pool): PoolReading => {
      const unlimited = pool.total === null;
      return {
        number: null,
        vendorString: null,
        kind: unlimited ? "uncounted" : "unknown",
        used: null,
        unlimited,
        ...pool,
      };
    });
    const unlimited = pools.some((pool) => pool.unlimited);
    const total = unlimited ? null : pools.reduce((sum, pool) => sum + (pool.total ?? 0), 0);
    return { ...bare, daemon, name, total, unlimited, fromFile: true, cut: true, pools };
  });
}

/** Names of features: words of a license file, and words that look like other syntax. */
const featureName = fc.oneof(
  token,
  fc.constantFrom("ARC/INFO", "111", "a:b", "F:(x)", "Users", "permanent", "名前"),
);

function daemonOf(name: string): fc.Arbitrary<DaemonReading> {
  const printed = optional(version.map((text) => text.replaceAll(/[^v0-9.]/g, "1")));
  const answered = fc.record({ status: fc.constantFrom("up", "down"), version: printed });
  const failed = suffixed.map(parseToolError).map((error) => {
    const status = error.kind === "unreachable" ? ("down" as const) : ("unknown" as const);
    return { ...daemonUp(name, null), status, error };
  });
  return fc.oneof(
    { weight: 2, arbitrary: answered.map(({ status, version }) => ({ ...daemonUp(name, version), status })) },
    { weight: 1, arbitrary: failed },
  );
}

function memberOf(name: string): fc.Arbitrary<MemberReading> {
  return fc
    .tuple(daemonOf(name), optional(between(1, 65_535)), fc.boolean(), fc.boolean())
    .map(([part, port, isMaster, seen]) => {
      if (!seen && part.error === null) return memberReading(name, port, "unknown");
      const { status, version, error } = part;
      const master = isMaster && error === null && status === "up";
      return { ...memberReading(name, port, status, version, error), master };
    });
}

const queryError: fc.Arbitrary<ToolError> = suffixed.map((words) =>
  parseToolError(`Error getting status: ${words}`),
);

const raw = fc
  .record({
    zone: fc.constantFrom("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"),
    // Midwinter and midsummer, far from the repeated hour.
    reportTime: fc.constantFrom(Date.parse("2024-02-20T10:15Z"), Date.parse("2025-08-31T22:10Z")),
    daemons: fc.uniqueArray(token, { maxLength: 3, selector: (name) => name.toLowerCase() }),
    hosts: fc.uniqueArray(host, { maxLength: 3, selector: (name) => name.split(".")[0]?.toLowerCase() }),
    names: fc.uniqueArray(featureName, { maxLength: 5 }),
  })
  .chain(({ zone, reportTime, daemons, hosts, names }) => {
    const context = { zone, reportTime };
    const listed = (name: string) =>
      fc
        .constantFrom(...(daemons.length === 0 ? [""] : daemons))
        .chain((daemon) =>
          fc.oneof(
            { weight: 5, arbitrary: featureOf(context, daemon, name) },
            { weight: 1, arbitrary: failedOf(daemon, name) },
          ),
        );
    return fc.record({
      zone: fc.constant(zone),
      reportTime: fc.constant(reportTime),
      daemons: fc.tuple(...daemons.map(daemonOf)),
      members: fc.tuple(...hosts.map(memberOf)),
      listed: fc.tuple(...names.map(listed)),
      unlisted: fc.tuple(...["Unlisted", "111"].map((name) => unlistedOf(context, "quiet", name))),
      isQuiet: fc.boolean(),
      errors: fc.array(queryError, { maxLength: 1 }),
      toolVersion: optional(fc.constant("v11.19.6.0")),
    });
  });

export const arbitraryReading = raw.map(({ zone, listed, unlisted, isQuiet, daemons, ...rest }) => {
  const quiet = daemonUp("quiet", null);
  const reading = completeReading({
    manager: "flexnet",
    ...rest,
    daemons: isQuiet ? [...daemons, quiet] : daemons,
    features: isQuiet && daemons.length > 0 ? [...listed, ...unlisted] : listed,
  });
  return { reading, zone };
});
