import fc from "fast-check";
import { type FeatureReading, type Reading, UNKNOWN_EXPIRY } from "../../../src/domain/reading.ts";
import {
  checkoutReading,
  compareCounts,
  memberReading,
  singlePoolFeature,
  sumOfCounts,
  toolError,
} from "../../../src/managers/reading-parts.ts";
import { completeReading, expiryIn, hostileText, printedTime, trimmed } from "../arbitraries.ts";
import { ZONE } from "./read.ts";

/** This file makes readings that lsmon can print, i.e. all except those that `render` excludes. */

const NEWEST = Date.UTC(2025, 2, 30, 12, 34, 56);
const line = hostileText(
  ' ~:~|- ~|- User name : x~Feature Information~"  \t~Press Enter to continue . . .~Unlimited~Running since ' +
    "~License has no expiration.~No licensed features.~Error[5]: ~[Contacting x]",
);
const text = line.map(trimmed).filter((name) => name !== "");
const count = fc.nat({ max: 90_000 });
const who = {
  user: fc.option(text),
  host: fc.option(text),
  display: fc.option(text),
  qualifier: fc.option(text),
  count: fc.integer({ min: 1, max: 500 }),
};

const client = fc
  .record({ ...who, borrowed: fc.boolean(), startedAt: fc.option(printedTime(ZONE, NEWEST, 1000)) })
  .map((printed) => checkoutReading({ ...printed, pool: 0 }));
const queued = fc.record(who).map((rest) => ({ ...rest, version: null, handle: null, pool: 0 }));

const feature: fc.Arbitrary<FeatureReading> = fc
  .record({
    name: line,
    version: fc.option(line.map((version) => version.replaceAll('"', "_"))),
    total: fc.option(count, { freq: 4 }),
    reserved: count,
    expiry: expiryIn(ZONE),
    off: fc.constantFrom(0, 0, 0, -1, 1),
    checkouts: fc.array(client, { maxLength: 4 }),
    queue: fc.array(queued, { maxLength: 2 }),
  })
  .map(({ version, expiry, off, ...printed }) => {
    const held = sumOfCounts(printed.checkouts);
    const used = Math.max(0, held + off);
    const unlimited = printed.total === null;
    // lsmon always prints an expiry, so a feature without one is cut.
    const cut = expiry === UNKNOWN_EXPIRY;
    return singlePoolFeature(
      { daemon: "", ...printed, used, unlimited, consistency: compareCounts(used, held), cut },
      { version, kind: unlimited ? "uncounted" : "floating", expiry },
    );
  });

export const arbitraryReading: fc.Arbitrary<Reading> = fc
  .record({
    toolVersion: fc.stringMatching(/^[0-9]{1,2}(?:\.[0-9]{1,4}){1,3}$/),
    host: line.filter((name) => name !== ""),
    features: fc.array(feature, { maxLength: 4 }),
    error: fc.constantFrom(
      null,
      null,
      null,
      toolError("Unable to contact any servers. Probably no servers running on this subnet.", "unreachable"),
      toolError("Error[19]: You are not authorized to perform the requested operation.", "query"),
    ),
  })
  .map(({ toolVersion, host, features, error }) =>
    completeReading({
      manager: "rms",
      toolVersion,
      members: [memberReading(host, null, error === null ? "up" : "down", null, error)],
      daemons: [],
      features: error === null ? features : [],
      errors: error === null ? [] : [error],
    }),
  );
