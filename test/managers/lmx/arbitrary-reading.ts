import fc from "fast-check";
import type { CheckoutReading, FeatureReading, Reading } from "../../../src/domain/reading.ts";
import { MINUTE_MS } from "../../../src/domain/time/clock.ts";
import { unitOf } from "../../../src/managers/lmx/lines.ts";
import {
  checkoutReading,
  compareCounts,
  daemonUp,
  memberReading,
  singlePoolFeature,
  sumOfCounts,
  toolError,
} from "../../../src/managers/reading-parts.ts";
import { completeReading, expiryIn, hostileText, place, printedTime, trimmed } from "../arbitraries.ts";
import { ZONE } from "./read.ts";

/** This file makes readings that lmxendutil can print, i.e. all except those that `render` excludes. */

const NEWEST = Date.UTC(2025, 2, 30, 12, 34);
const text = hostileText(
  " ~ [1.2.3.4]~[~]~:~ Version: 1~ Vendor: X~1 of 2 license(s) used~1 license(s) used by a@b~Feature: ~Login time: " +
    "~Shared on custom string: ~XF Error: ~--------~++++++++~last 24 hours",
)
  .map(trimmed)
  .filter((name) => name !== "");
const vendor = fc.oneof(
  text.filter((name) => !` ${name}`.includes(" Vendor: ")),
  fc.constant("ALTAIR"),
);

const holder: fc.Arbitrary<CheckoutReading> = fc
  .record({
    user: fc.option(text),
    host: text.map((name) => name.replaceAll("@", "_")),
    display: fc.option(text.filter((name) => !` ${name}`.includes(" ["))),
    qualifier: fc.option(text),
    count: fc.integer({ min: 1, max: 50_000 }),
    borrowed: fc.boolean(),
    startedAt: printedTime(ZONE, NEWEST, MINUTE_MS),
  })
  .map(({ host, display, ...rest }) => {
    // If the host ends in a bracket, print an address after it; otherwise the brackets would be read as the
    // address.
    const shown = display ?? (host.endsWith("]") ? "192.0.2.1" : null);
    return checkoutReading({ host, display: shown, ...rest, pool: 0 });
  });

const block: fc.Arbitrary<FeatureReading> = fc
  .record({
    name: text,
    daemon: vendor,
    version: fc.stringMatching(/^[0-9]{1,4}(?:\.[0-9]{1,4})?$/),
    expiry: expiryIn(ZONE),
    limit: fc.nat({ max: 100_000 }),
    unlimited: fc.boolean(),
    keyType: fc.constantFrom("EXCLUSIVE", "EXCLUSIVE", "TOKEN"),
    off: fc.constantFrom(0, 0, 0, -1, 1),
    checkouts: fc.array(holder, { maxLength: 4 }),
  })
  .map(({ name, daemon, version, expiry, limit, unlimited, keyType, off, checkouts }) => {
    const held = sumOfCounts(checkouts);
    const used = Math.max(0, held + off);
    const unit = unitOf({ name, vendor: daemon }, keyType, unlimited);
    const printed = { daemon, name, unit, total: unlimited ? null : limit, used, unlimited, checkouts };
    const kind = keyType === "TOKEN" ? "token" : unlimited ? "uncounted" : "floating";
    const consistency = compareCounts(used, held);
    return singlePoolFeature({ ...printed, queue: [], consistency, cut: false }, { version, kind, expiry });
  });

const member = fc
  .record({
    ...place,
    version: fc.stringMatching(/^v[0-9]{1,2}\.[0-9]{1,2}$/),
    message: fc.constantFrom(null, null, "XF Error: Unable to connect to license server!", "XF Error: Busy"),
  })
  .map(({ host, port, version, message }) => {
    if (message === null) return memberReading(host, port, "up", version);
    const error = toolError(message, message.includes("connect") ? "unreachable" : "query");
    return memberReading(host, port, "down", null, error);
  });

export const arbitraryReading: fc.Arbitrary<Reading> = fc
  .record({
    toolVersion: fc.stringMatching(/^v[0-9]{1,2}\.[0-9]{1,2}$/),
    members: fc.uniqueArray(member, {
      minLength: 1,
      maxLength: 3,
      selector: ({ host, port }) => `${port}@${host}`,
    }),
    blocks: fc.array(block, { maxLength: 4 }),
  })
  .map(({ toolVersion, members, blocks }): Reading => {
    const isUp = members.some(({ status }) => status === "up");
    const features = isUp ? blocks : [];
    return completeReading({
      manager: "lmx",
      toolVersion,
      members,
      daemons: [...new Set(features.map(({ daemon }) => daemon))].map((name) => daemonUp(name, null)),
      features,
      errors: isUp ? [] : members.flatMap(({ error }) => error ?? []),
      // If the last server has no features, the text looks cut.
      cut: members.at(-1)?.status === "up" && features.length === 0,
    });
  });
