import fc from "fast-check";
import {
  type CheckoutReading,
  type DaemonReading,
  type Expiry,
  type FeatureReading,
  type MemberReading,
  PERMANENT,
  type PoolReading,
  type QueueReading,
  RESERVATION_TYPES,
  type Reading,
  type ReservationReading,
  type ToolError,
  UNKNOWN_EXPIRY,
} from "../../../src/domain/reading.ts";
import { endOfDay } from "../../../src/domain/time/zone.ts";
import { parseToolError } from "../../../src/managers/flexnet/status-lines.ts";

/**
 * Readings that lmstat's grammar can carry. Left out, each where it is made:
 * blanks other than single words' own and line ends; users whose words look like hosts or displays; pools that
 * the table cannot tell apart; versions that begin with a letter; features of one identity in several blocks; text that was cut or not understood.
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

const anyWord = fc
  .oneof(
    fc.constantFrom(...HOSTILE),
    fc.string({ minLength: 1, maxLength: 8, unit: "grapheme" }),
    fc.string({ minLength: 1, maxLength: 8, unit: "binary" }),
  )
  .map((word) => word.toWellFormed().replaceAll(/[ \t\r\n]/g, "_"));

/** Words that are neither displays nor hosts: a digit at the end behind a colon, a slash in front, our own hosts. */
const userWord = anyWord.filter(
  (word) => !/:\d+(\.\d+)?$/.test(word) && !/^(\/|pc_|pc?$|local$|NoXDisplay$)/i.test(word),
);
const token = fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,11}$/);
const host = token.map((name) => `pc_${name}_`);
const plainRest = fc.array(fc.stringMatching(/^[A-Z][A-Za-z_./-]{0,7}$/), { minLength: 1, maxLength: 3 });

interface Who {
  readonly user: string;
  readonly host: string | null;
  readonly display: string | null;
  readonly qualifier: string | null;
}

function noneExtends(words: readonly string[]): boolean {
  return words.every(
    (word, index) => index === 0 || !word.toLowerCase().startsWith((words[index - 1] ?? "").toLowerCase()),
  );
}

/** Several words of a user: no word may begin with the one before it, or that one would look like a host. */
const longUser = fc
  .array(userWord, { minLength: 2, maxLength: 3 })
  .filter(noneExtends)
  .map((words) => words.join(" "));
const anyUser = fc.oneof(userWord, longUser);

const display = fc.oneof(
  fc.constantFrom("/dev/tty", "/dev/pts/12", ":0", ":0.0", "NoXDisplay", "local", "gate:10.0"),
  host.map((name) => `${name}:0`),
);
const rest = fc.option(
  fc.oneof(
    plainRest.map((words) => words.join(" ")),
    fc.constantFrom("feature=x", "88123"),
  ),
  { nil: null },
);

const who: fc.Arbitrary<Who> = fc.oneof(
  userWord.map((user) => ({ user, host: null, display: null, qualifier: null })),
  fc.record({ user: userWord, host, display: fc.constant(null), qualifier: fc.constant(null) }),
  fc.record({
    user: userWord,
    host: fc.constant(null),
    display: fc.constantFrom("/dev/pts/1", ":0.0", "gate:0"),
    qualifier: fc.constant(null),
  }),
  // Three words: the display may be anything.
  fc.record({ user: userWord, host, display: anyWord, qualifier: fc.constant(null) }),
  // The display equals or extends the host, or has a display's shape: users and qualifiers may be several words.
  fc
    .tuple(anyUser, host, fc.constantFrom("", ".0", ":0.0", "0"), rest)
    .map(([user, name, more, qualifier]) => ({ user, host: name, display: name + more, qualifier })),
  fc.record({ user: anyUser, host, display, qualifier: rest }),
  // Nothing but the order tells: words that are like nothing else, none of which extends the one before.
  fc
    .tuple(
      userWord,
      host,
      fc.tuple(fc.stringMatching(/^x[A-Za-z_]{0,7}$/), plainRest).map(([x, more]) => [x, ...more]),
    )
    .filter(([, , words]) => noneExtends(words))
    .map(([user, name, [x = "", ...more]]) => ({ user, host: name, display: x, qualifier: more.join(" ") })),
);

/** Without a version group, a bracket at the end of the identity would be taken for one. */
const version = fc.stringMatching(/^v[0-9][A-Za-z0-9_.]{0,8}$/);
const versionFor = (identity: Who) =>
  /\([\w.]+\)$/.test(identity.qualifier ?? identity.display ?? identity.host ?? "")
    ? version
    : fc.option(version, { nil: null });

const handle = fc.option(fc.nat(99_999).map(String), { nil: null });

function expiryOf(zone: string): fc.Arbitrary<Expiry> {
  const date = fc
    .date({ min: new Date("1970-01-01T00:00Z"), max: new Date("2200-01-01T00:00Z"), noInvalidDate: true })
    .map((day): Expiry => {
      const [y, m, d] = [day.getUTCFullYear(), day.getUTCMonth() + 1, day.getUTCDate()];
      const expiresOn = day.toISOString().slice(0, 10);
      return { expiresOn, expiresAt: endOfDay(zone, y, m, d), permanent: false };
    });
  return fc.oneof(date, fc.constant(PERMANENT));
}

/** Whole minutes of the last two months, as the tool prints them; null prints as a date that no year has. */
function startOf(reportTime: number): fc.Arbitrary<number | null> {
  return fc.option(
    fc.integer({ min: -86_400, max: 60 }).map((minutes) => reportTime + minutes * 60_000),
    { nil: null, freq: 6 },
  );
}

interface Context {
  readonly zone: string;
  readonly reportTime: number;
}

function checkoutOf(context: Context, pool: number | null): fc.Arbitrary<CheckoutReading> {
  return who.chain((identity) =>
    fc
      .record({
        version: versionFor(identity),
        count: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 5000 })),
        handle,
        pid: fc.option(fc.nat(4_194_304), { nil: null }),
        startedAt: startOf(context.reportTime),
        lingerSeconds: fc.option(fc.nat(20_000_000), { nil: null }),
      })
      .map((rest) => ({
        ...identity,
        ...rest,
        borrowed: rest.lingerSeconds !== null && rest.lingerSeconds > 0,
        pool,
      })),
  );
}

function queueOf(pool: number | null): fc.Arbitrary<QueueReading> {
  return who.chain((identity) =>
    fc
      .record({ version: versionFor(identity), count: fc.integer({ min: 1, max: 50 }), handle })
      .map((rest) => ({ ...identity, ...rest, pool })),
  );
}

function reservationOf(pool: number | null): fc.Arbitrary<ReservationReading> {
  return fc.record({
    type: fc.constantFrom(...RESERVATION_TYPES),
    name: fc.array(anyWord, { minLength: 1, maxLength: 3 }).map((words) => words.join(" ")),
    count: fc.integer({ min: 1, max: 300 }),
    pool: fc.constant(pool),
  });
}

/** What stands under one pool line, or above all of them. */
interface Group {
  readonly checkouts: readonly CheckoutReading[];
  readonly reservations: readonly ReservationReading[];
  readonly queue: readonly QueueReading[];
}

function groupOf(context: Context, pool: number | null): fc.Arbitrary<Group> {
  return fc.record({
    checkouts: fc.array(checkoutOf(context, pool), { maxLength: 4 }),
    reservations: fc.array(reservationOf(pool), { maxLength: 2 }),
    queue: fc.array(queueOf(pool), { maxLength: 2 }),
  });
}

const seatsOf = (groups: readonly Group[]) =>
  groups.reduce(
    (sum, group) =>
      sum +
      group.checkouts.reduce((held, { count }) => held + count, 0) +
      group.reservations.reduce((held, { count }) => held + count, 0),
    0,
  );

const vendorString = fc.option(
  fc.oneof(
    fc.array(anyWord, { maxLength: 4 }).map((words) => words.join(" ")),
    fc.constant("x pc (a/1 2), start Fri 10/20 1:00"),
  ),
  { nil: null },
);

function featureOf(context: Context, daemon: string, name: string): fc.Arbitrary<FeatureReading> {
  const pools = fc.uniqueArray(
    fc.record({
      version: fc.option(version, { nil: null }),
      vendorString,
      kind: fc.constantFrom("floating", "nodelocked", "uncounted"),
      expiry: fc.oneof(expiryOf(context.zone), fc.constant(UNKNOWN_EXPIRY)),
      total: fc.option(fc.integer({ min: 1, max: 9999 }), { nil: null }),
    }),
    // The table has versions and expiries only, and a row of a version stands for a pool whose expiry is unknown.
    { maxLength: 3, selector: (pool) => `${pool.version}`.toLowerCase() },
  );
  return fc
    .tuple(
      pools,
      fc.constantFrom("ok", "short", "shared", "uncounted"),
      fc.integer({ min: 0, max: 20_000 }),
      groupOf(context, null),
    )
    .chain(([drafts, outcome, total, loose]) =>
      fc.tuple(...drafts.map((_, index) => groupOf(context, index))).map((groups): FeatureReading => {
        const all = [loose, ...groups];
        const held = seatsOf(all);
        const unlimited = outcome === "uncounted";
        // Sharing needs something to share; otherwise the block adds up.
        const consistency = unlimited || (outcome === "shared" && held === 0) ? "ok" : outcome;
        const used = unlimited ? null : held + { ok: 0, short: 1, shared: -1 }[consistency];
        return {
          daemon,
          name,
          total: unlimited ? null : total,
          used,
          unlimited,
          error: null,
          pools: drafts.map((draft, index): PoolReading => {
            const poolUnlimited = draft.kind === "uncounted";
            const inTable = draft.version !== null && draft.expiry !== UNKNOWN_EXPIRY;
            const own = drafts.length === 1 && !unlimited ? total : inTable ? draft.total : null;
            return {
              number: null,
              version: draft.version,
              vendorString: draft.vendorString,
              kind: poolUnlimited ? "uncounted" : draft.kind === "floating" ? "floating" : "nodelocked",
              total: poolUnlimited || daemon === "" ? null : own,
              used: consistency === "ok" && !unlimited ? seatsOf(groups.slice(index, index + 1)) : null,
              unlimited: poolUnlimited,
              expiry: draft.expiry,
            };
          }),
          checkouts: all.flatMap(({ checkouts }) => checkouts),
          reservations: all.flatMap(({ reservations }) => reservations),
          queue: all.flatMap(({ queue }) => queue),
          consistency,
          cut: false,
        };
      }),
    );
}

const suffix = fc.constantFrom(
  '(-15,570:115 "Operation now in progress")',
  "(-97,121)",
  "(-16,287)",
  '(-96,7:2 "No (such) file")',
);
const sentence = fc.constantFrom(
  "Cannot connect to license server system.",
  "The desired vendor daemon is down.",
  "Odd:",
);
const toolError = fc.tuple(sentence, suffix).map(([words, code]) => parseToolError(`${words} ${code}`));

const bare = {
  pools: [],
  checkouts: [],
  reservations: [],
  queue: [],
  consistency: "ok",
  cut: false,
} as const;

function failedOf(daemon: string, name: string): fc.Arbitrary<FeatureReading> {
  const messages = fc.constantFrom(
    "Error: 21 licenses, unsupported by licensed server",
    `Cannot get users of ${name}: No such feature exists. (-5,222)`,
  );
  return messages.map((message) => ({
    ...bare,
    daemon,
    name,
    total: null,
    used: null,
    unlimited: false,
    error: parseToolError(message),
  }));
}

/** A feature that the license file has and the daemon did not list. */
function unlistedOf(context: Context, daemon: string, name: string): fc.Arbitrary<FeatureReading> {
  const pool = fc.record({
    version,
    expiry: expiryOf(context.zone),
    total: fc.option(fc.integer({ min: 1, max: 500 }), { nil: null }),
  });
  return fc
    .uniqueArray(pool, { minLength: 1, maxLength: 3, selector: (draft) => draft.version.toLowerCase() })
    .map((drafts): FeatureReading => {
      const unlimited = drafts.some(({ total }) => total === null);
      return {
        ...bare,
        daemon,
        name,
        total: unlimited ? null : drafts.reduce((sum, { total }) => sum + (total ?? 0), 0),
        used: null,
        unlimited,
        error: null,
        fromFile: true,
        pools: drafts.map((draft) => ({
          number: null,
          version: draft.version,
          vendorString: null,
          kind: draft.total === null ? "uncounted" : "unknown",
          total: draft.total,
          used: null,
          unlimited: draft.total === null,
          expiry: draft.expiry,
        })),
      };
    });
}

/** Names of features: words of a license file, and words with what names of other things hold. */
const featureName = fc.oneof(
  token,
  fc.constantFrom("ARC/INFO", "111", "a:b", "F:(x)", "Users", "permanent", "名前"),
);

function partOf(name: string): fc.Arbitrary<DaemonReading> {
  const printed = fc.option(
    version.map((text) => text.replaceAll(/[^v0-9.]/g, "1")),
    { nil: null },
  );
  const answered = fc.record({ status: fc.constantFrom("up", "down"), version: printed });
  return fc.oneof(
    { weight: 2, arbitrary: answered.map((part) => ({ name, ...part, error: null, totals: null })) },
    {
      weight: 1,
      arbitrary: toolError.map((error) => {
        const status = error.kind === "unreachable" ? ("down" as const) : ("unknown" as const);
        return { name, status, version: null, error, totals: null };
      }),
    },
  );
}

function memberOf(host: string): fc.Arbitrary<MemberReading> {
  const port = fc.option(fc.integer({ min: 1, max: 65_535 }), { nil: null });
  const silent = { status: "unknown", version: null, error: null } as const;
  return fc
    .tuple(partOf(host), port, fc.boolean(), fc.boolean())
    .map(([part, ownPort, isMaster, seen]): MemberReading => {
      const { status, version, error } = seen || part.error !== null ? part : silent;
      const master = isMaster && error === null && status === "up";
      return { host, port: ownPort, status, master, version, error };
    });
}

const queryError: fc.Arbitrary<ToolError> = fc
  .tuple(sentence, suffix)
  .map(([words, code]) => parseToolError(`Error getting status: ${words} ${code}`));

/** Readings as lmstat could have printed them, with the zone in which it did. */
export const readings: fc.Arbitrary<{ reading: Reading; zone: string }> = fc
  .record({
    zone: fc.constantFrom("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"),
    // Midwinter and midsummer, away from the hour that occurs twice.
    reportTime: fc.constantFrom(Date.parse("2024-02-20T10:15Z"), Date.parse("2025-08-31T22:10Z")),
    daemons: fc.uniqueArray(token, { maxLength: 3, selector: (name) => name.toLowerCase() }),
    hosts: fc.uniqueArray(host, { maxLength: 3, selector: (name) => name.split(".")[0]?.toLowerCase() }),
    names: fc.uniqueArray(featureName, { maxLength: 5 }),
    errors: fc.array(queryError, { maxLength: 1 }),
    toolVersion: fc.option(fc.constant("v11.19.6.0"), { nil: null }),
  })
  .chain(({ zone, reportTime, daemons, hosts, names, errors, toolVersion }) => {
    const context = { zone, reportTime };
    const listed = fc
      .tuple(
        ...names.map((name) =>
          fc
            .constantFrom(...(daemons.length === 0 ? [""] : daemons))
            .chain((daemon) =>
              fc.oneof(
                { weight: 5, arbitrary: featureOf(context, daemon, name) },
                { weight: 1, arbitrary: failedOf(daemon, name) },
              ),
            ),
        ),
      )
      // Without a daemon's line, the daemon's name in a pool line would be the block's.
      .map((features) =>
        features.map((feature) => (feature.daemon === "" ? withoutPools(feature) : feature)),
      );
    return fc
      .record({
        daemons: fc.tuple(...daemons.map(partOf)),
        members: fc.tuple(...hosts.map(memberOf)),
        features: listed,
        unlisted: fc.tuple(...["Unlisted", "111"].map((name) => unlistedOf(context, "quiet", name))),
        quiet: fc.boolean(),
      })
      .map(({ daemons: parts, members, features, unlisted, quiet }) => ({
        zone,
        reading: {
          manager: "flexnet" as const,
          reportTime,
          toolVersion,
          members,
          daemons: quiet
            ? [...parts, { name: "quiet", status: "up" as const, version: null, error: null, totals: null }]
            : parts,
          features: quiet && daemons.length > 0 ? [...features, ...unlisted] : features,
          errors,
          unparsedLines: 0,
          unparsed: [],
          cut: false,
          recognised: true,
        },
      }));
  });

function withoutPools(feature: FeatureReading): FeatureReading {
  const loose = <T extends { readonly pool: number | null }>(list: readonly T[]) =>
    list.map((held) => ({ ...held, pool: null }));
  return {
    ...feature,
    pools: [],
    checkouts: loose(feature.checkouts),
    reservations: loose(feature.reservations),
    queue: loose(feature.queue),
  };
}
