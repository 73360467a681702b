import fc from "fast-check";
import type {
  CheckoutReading,
  Expiry,
  FeatureReading,
  QueueReading,
  Reading,
} from "../../../src/domain/reading.ts";
import { PERMANENT, UNKNOWN_EXPIRY } from "../../../src/domain/reading.ts";
import { endOfDay, offsetAt } from "../../../src/domain/time/zone.ts";
import { ZONE } from "./read.ts";

/** Readings that lsmon can print, i.e. all except those that `render` excludes. */

const NEWEST = Date.UTC(2025, 2, 30, 12, 34, 56);
const SECOND = 1000;
const HOUR = 3_600_000;

/** Pieces that are hard to parse. */
const hostile = fc.constantFrom(
  ...' ~:~|- ~|- User name : x~Feature Information~"~"  \t~\t~Press Enter to continue . . .~Unlimited'.split(
    "~",
  ),
  ..."Running since ~License has no expiration.~No licensed features.~Error[5]: ~[Contacting x]".split("~"),
  ..."<script>~=cmd()~\u202e~\u2028~é~日本~😀~'~\\~,~;~@".split("~"),
);
const word = fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 });
const line = fc
  .array(fc.oneof(word, hostile), { minLength: 1, maxLength: 5 })
  .map((pieces) => pieces.join("").replace(/[\r\n]/g, "_"));
const text = line.map((name) => name.replace(/^[ \t]+|[ \t]+$/g, "")).filter((name) => name !== "");
const count = fc.nat({ max: 90_000 });

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
  const isSecond = offsetAt(ZONE, time) < offsetAt(ZONE, time - HOUR);
  return isSecond ? time - HOUR : time;
}

const who = {
  user: fc.option(text),
  host: fc.option(text),
  display: fc.option(text),
  qualifier: fc.option(text),
};
const tokens = fc.integer({ min: 1, max: 500 });

const client: fc.Arbitrary<CheckoutReading> = fc
  .record({ ...who, count: tokens, borrowed: fc.boolean(), ago: fc.option(fc.nat({ max: 300 * 24 * 3600 })) })
  .map(({ ago, ...rest }) => ({
    ...rest,
    version: null,
    handle: null,
    pid: null,
    startedAt: ago === null ? null : firstOccurrence(NEWEST - ago * SECOND),
    lingerSeconds: null,
    pool: 0,
  }));

const queued: fc.Arbitrary<QueueReading> = fc
  .record({ ...who, count: tokens })
  .map((rest) => ({ ...rest, version: null, handle: null, pool: 0 }));

const feature: fc.Arbitrary<FeatureReading> = fc
  .record({
    name: line,
    version: fc.option(line.map((version) => version.replaceAll('"', "_"))),
    total: fc.option(count, { freq: 4 }),
    reserved: count,
    expiry,
    off: fc.constantFrom(0, 0, 0, -1, 1),
    checkouts: fc.array(client, { maxLength: 4 }),
    queue: fc.array(queued, { maxLength: 2 }),
  })
  .map(({ name, version, total, reserved, expiry: until, off, checkouts, queue }) => {
    const held = checkouts.reduce((sum, each) => sum + each.count, 0);
    const used = Math.max(0, held + off);
    const unlimited = total === null;
    const kind = unlimited ? "uncounted" : "floating";
    return {
      daemon: "",
      name,
      total,
      used,
      unlimited,
      error: null,
      pools: [{ number: null, version, vendorString: null, kind, total, used, unlimited, expiry: until }],
      checkouts,
      reservations: [],
      queue,
      reserved,
      consistency: used === held ? "ok" : used > held ? "short" : "shared",
      // lsmon always prints an expiry.
      cut: until === UNKNOWN_EXPIRY,
    };
  });

export const arbitraryReading: fc.Arbitrary<Reading> = fc
  .record({
    toolVersion: fc.stringMatching(/^[0-9]{1,2}(?:\.[0-9]{1,4}){1,3}$/),
    host: line.filter((name) => name !== ""),
    features: fc.array(feature, { maxLength: 4 }),
    message: fc.constantFrom(
      null,
      null,
      null,
      "Unable to contact any servers. Probably no servers running on this subnet.",
      "Error[19]: You are not authorized to perform the requested operation.",
    ),
  })
  .map(({ toolVersion, host, features, message }): Reading => {
    const kind = message?.startsWith("Error") ? "query" : "unreachable";
    const error =
      message === null ? null : ({ message, major: null, minor: null, system: null, kind } as const);
    return {
      manager: "rms",
      reportTime: null,
      toolVersion,
      members: [
        { host, port: null, status: error === null ? "up" : "down", master: false, version: null, error },
      ],
      daemons: [],
      features: error === null ? features : [],
      errors: error === null ? [] : [error],
      unparsedLines: 0,
      unparsed: [],
      cut: false,
      recognised: true,
    };
  });
