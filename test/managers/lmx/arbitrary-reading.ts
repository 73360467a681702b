import fc from "fast-check";
import type { CheckoutReading, Expiry, FeatureReading, Reading } from "../../../src/domain/reading.ts";
import { PERMANENT, UNKNOWN_EXPIRY } from "../../../src/domain/reading.ts";
import { endOfDay, offsetAt } from "../../../src/domain/time/zone.ts";
import { unitOf } from "../../../src/managers/lmx/lines.ts";
import { ZONE } from "./read.ts";

/** Readings that lmxendutil can print, i.e. all except those that `render` excludes. */

const NEWEST = Date.UTC(2025, 2, 30, 12, 34);
const MINUTE = 60_000;

/** Pieces that are hard to parse. */
const hostile = fc.constantFrom(
  ..." ~@~ [1.2.3.4]~[~]~:~\t~ Version: 1~ Vendor: X~1 of 2 license(s) used~1 license(s) used by a@b".split(
    "~",
  ),
  ..."Feature: ~Login time: ~Shared on custom string: ~XF Error: ~--------~++++++++~last 24 hours".split("~"),
  ..."<script>~=cmd()~\u202e~\u2028~é~日本~😀~'~\"~\\~,~;".split("~"),
);
const word = fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 });
const text = fc
  .array(fc.oneof(word, hostile), { minLength: 1, maxLength: 5 })
  .map((pieces) =>
    pieces
      .join("")
      .replace(/[\r\n]/g, "_")
      .replace(/^[ \t]+|[ \t]+$/g, ""),
  )
  .filter((name) => name !== "");

const feature = text;
const vendor = fc.oneof(
  text.filter((name) => !` ${name}`.includes(" Vendor: ")),
  fc.constant("ALTAIR"),
);
const host = text.map((name) => name.replaceAll("@", "_"));
const address = text.filter((name) => !` ${name}`.includes(" ["));
const version = fc.stringMatching(/^[0-9]{1,4}(?:\.[0-9]{1,4})?$/);
const count = fc.nat({ max: 100_000 });

const expiry: fc.Arbitrary<Expiry> = fc.oneof(
  fc.constant(PERMANENT),
  fc.constant(UNKNOWN_EXPIRY),
  fc.tuple(fc.integer({ min: 1, max: 28 }), fc.integer({ min: 1, max: 12 })).map(([day, month]) => {
    const expiresOn = `2031-${String(month).padStart(2, "0")}-${String(day).padStart(2, "0")}`;
    return { expiresOn, expiresAt: endOfDay(ZONE, 2031, month, day), permanent: false };
  }),
);

/** In a repeated hour, the text always means the first occurrence. */
function firstOccurrence(time: number): number {
  const isSecond = offsetAt(ZONE, time) < offsetAt(ZONE, time - 60 * MINUTE);
  return isSecond ? time - 60 * MINUTE : time;
}

const holder: fc.Arbitrary<CheckoutReading> = fc
  .record({
    user: fc.option(text),
    host,
    display: fc.option(address),
    qualifier: fc.option(text),
    count: fc.integer({ min: 1, max: 50_000 }),
    borrowed: fc.boolean(),
    minutesAgo: fc.nat({ max: 300 * 24 * 60 }),
  })
  .map(({ minutesAgo, ...rest }) => ({
    ...rest,
    // A host that ends in a bracket needs an address after it, to be distinguished from one.
    display: rest.display ?? (rest.host.endsWith("]") ? "192.0.2.1" : null),
    version: null,
    handle: null,
    pid: null,
    startedAt: firstOccurrence(NEWEST - minutesAgo * MINUTE),
    lingerSeconds: null,
    pool: 0,
  }));

const block: fc.Arbitrary<FeatureReading> = fc
  .record({
    name: feature,
    daemon: vendor,
    version,
    expiry,
    total: count,
    limit: fc.constantFrom("counted", "counted", "unlimited"),
    keyType: fc.constantFrom("EXCLUSIVE", "EXCLUSIVE", "TOKEN"),
    off: fc.constantFrom(0, 0, 0, -1, 1),
    checkouts: fc.array(holder, { maxLength: 4 }),
  })
  .map(({ name, daemon, version: printed, expiry: until, total, limit, keyType, off, checkouts }) => {
    const held = checkouts.reduce((sum, each) => sum + each.count, 0);
    const used = Math.max(0, held + off);
    const unlimited = limit === "unlimited";
    const counts = { total: unlimited ? null : total, used, unlimited };
    const kind = keyType === "TOKEN" ? "token" : unlimited ? "uncounted" : "floating";
    const unit = unitOf({ name, vendor: daemon }, keyType, unlimited);
    return {
      daemon,
      name,
      ...(unit !== "seats" && { unit }),
      ...counts,
      error: null,
      pools: [{ number: null, version: printed, vendorString: null, kind, ...counts, expiry: until }],
      checkouts,
      reservations: [],
      queue: [],
      consistency: used === held ? "ok" : used > held ? "short" : "shared",
      cut: false,
    };
  });

const member = fc.record({
  host: fc.stringMatching(/^[a-z][a-z0-9.-]{0,12}$/),
  port: fc.integer({ min: 1, max: 65_535 }),
  version: fc.stringMatching(/^v[0-9]{1,2}\.[0-9]{1,2}$/),
  message: fc.constantFrom(null, null, "XF Error: Unable to connect to license server!", "XF Error: Busy"),
});

export const arbitraryReading: fc.Arbitrary<Reading> = fc
  .record({
    toolVersion: fc.stringMatching(/^v[0-9]{1,2}\.[0-9]{1,2}$/),
    members: fc.uniqueArray(member, {
      minLength: 1,
      maxLength: 3,
      selector: ({ host: name, port }) => `${port}@${name}`,
    }),
    features: fc.array(block, { maxLength: 4 }),
  })
  .map(({ toolVersion, members, features: blocks }): Reading => {
    const read = members.map(({ host: name, port, version: printed, message }) => {
      const error =
        message === null
          ? null
          : {
              message,
              major: null,
              minor: null,
              system: null,
              kind: message.includes("connect") ? ("unreachable" as const) : ("query" as const),
            };
      return {
        host: name,
        port,
        status: error === null ? ("up" as const) : ("down" as const),
        master: false,
        version: error === null ? printed : null,
        error,
      };
    });
    const isUp = read.some(({ status }) => status === "up");
    const features = isUp ? blocks : [];
    return {
      manager: "lmx",
      reportTime: null,
      toolVersion,
      members: read,
      daemons: [...new Set(features.map(({ daemon }) => daemon))].map((name) => ({
        name,
        status: "up",
        version: null,
        error: null,
        totals: null,
      })),
      features,
      errors: isUp ? [] : read.flatMap(({ error }) => (error === null ? [] : [error])),
      unparsedLines: 0,
      unparsed: [],
      // If the last server has no features, the text looks cut.
      cut: read.at(-1)?.status === "up" && features.length === 0,
      recognised: true,
    };
  });
