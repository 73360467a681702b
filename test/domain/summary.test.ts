import { expect, test } from "bun:test";
import { applyPoll, initialPicture, markStale } from "../../src/domain/polls/apply-poll.ts";
import type { FeatureReading } from "../../src/domain/reading.ts";
import { NEXT_EXPIRIES, summarise } from "../../src/domain/summary.ts";
import { checkout, feature, NOON, outcome, pool, reading, server, toolError } from "./make.ts";

const picture = (id: string, features = [feature()]) =>
  applyPoll(null, server({ id }), outcome({ reading: reading({ features }) }), null);

test("an empty site has unknown totals", () => {
  const summary = summarise({ version: 1, servers: [initialPicture(server())] });
  expect(summary.seats).toEqual({ total: null, used: null, available: null });
  expect(summary).toMatchObject({ utilization: null, collectedAt: null, features: 0 });
  expect(summary.servers).toEqual({ up: 0, degraded: 0, down: 0, unknown: 1 });
});

test("totals include ok, partial and stale features, not failed and unlimited ones", () => {
  const failed = feature({ name: "gone", total: null, used: null, error: toolError(), checkouts: [] });
  const free = feature({ name: "free", total: null, used: 7, unlimited: true });
  const short = feature({ name: "short", total: 4, used: 4, consistency: "short" });
  const summary = summarise({
    version: 1,
    servers: [picture("a", [feature(), failed, free, short]), markStale(picture("b"))],
  });
  expect(summary).toMatchObject({
    features: 5,
    staleFeatures: 1,
    unlimitedFeatures: 1,
    seats: { total: 24, used: 6, available: 18 },
    utilization: 25,
    collectedAt: NOON,
  });
});

test("seats of unknown use are neither used nor available", () => {
  // The daemon does not list this feature, so only its total is known, from the license file.
  const listed = feature({ name: "listed", total: 6, used: null, checkouts: [] });
  const totals = (...features: FeatureReading[]) => {
    const { seats, utilization } = summarise({ version: 1, servers: [picture("a", features)] });
    return { ...seats, utilization };
  };
  expect(totals(feature(), listed)).toEqual({ total: 16, used: 1, available: 9, utilization: 10 });
  expect(totals(listed)).toEqual({ total: 6, used: null, available: null, utilization: null });
  expect(totals()).toEqual({ total: 0, used: 0, available: 0, utilization: null });
});

test("distinguishes users as written, and hosts without case", () => {
  const rows = [
    checkout({ user: "ann", host: "WS1" }),
    checkout({ user: "ann", host: "ws1" }),
    checkout({ user: "Ann", host: null }),
  ];
  const summary = summarise({ version: 1, servers: [picture("a", [feature({ checkouts: rows })])] });
  expect(summary).toMatchObject({ users: 2, hosts: 1 });
});

test("lists the next expiries, soonest first", () => {
  const day = (n: number) => {
    const expiresOn = `2026-06-${String(n).padStart(2, "0")}`;
    const expiresAt = Date.parse(`${expiresOn}T23:59:59.999Z`);
    return pool({ expiry: { expiresOn, expiresAt, permanent: false } });
  };
  const pools = [14, 3, 9, 1, 5, 7, 11, 13, 2, 4, 6, 8].map(day);
  const { expiries } = summarise({ version: 1, servers: [picture("a", [feature({ pools })])] });
  expect(expiries).toHaveLength(NEXT_EXPIRIES);
  expect(expiries[0]?.expiry.expiresOn).toBe("2026-06-01");
  expect(expiries.at(-1)?.expiry.expiresOn).toBe("2026-06-11");
});
