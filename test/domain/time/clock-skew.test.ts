import { expect, test } from "bun:test";
import fc from "fast-check";
import { clockSkew, zoneSkewByAges } from "../../../src/domain/time/zone.ts";

const MINUTE = 60_000;
const NOW = Date.UTC(2026, 10, 20, 10, 15, 42);
const poll = {
  reportTime: null,
  latestStart: null,
  askedAt: NOW,
  answeredAt: NOW + 2_000,
  zone: "Europe/Berlin",
};
const zone = (minutes: number, utcOffset: string) => ({ kind: "zone", ahead: minutes * MINUTE, utcOffset });
const minute = (time: number) => Math.floor(time / MINUTE) * MINUTE;

test.each([
  ["no clock is printed", null, null],
  ["the same minute", minute(NOW), null],
  ["the next minute, when the poll ends in it", minute(NOW + 59_000), null],
  ["two minutes off", minute(NOW - 2 * MINUTE), null],
  ["seven minutes behind", minute(NOW - 7 * MINUTE), { kind: "clock", ahead: -7 * MINUTE }],
  ["an hour ahead", minute(NOW + 60 * MINUTE), zone(60, "UTC+02:00")],
  ["six hours behind", minute(NOW - 360 * MINUTE), zone(-360, "UTC-05:00")],
  ["India from Berlin", minute(NOW + 270 * MINUTE), zone(270, "UTC+05:30")],
  // As a time zone, this would be UTC+00:45, which does not exist.
  ["a quarter of an hour behind", minute(NOW - 15 * MINUTE), { kind: "clock", ahead: -15 * MINUTE }],
  ["an hour and five minutes", minute(NOW + 66 * MINUTE), { kind: "clock", ahead: expect.any(Number) }],
])("%s", (_name, reportTime, expected) => {
  expect<unknown>(clockSkew({ ...poll, reportTime })).toEqual(expected);
});

test("a checkout in the future is reported if the printed clock is the tool's", () => {
  const reportTime = minute(NOW);
  const latestStart = (minutes: number) =>
    clockSkew({ ...poll, reportTime, latestStart: minute(NOW + minutes * MINUTE) });
  expect([latestStart(-600), latestStart(0), latestStart(2)]).toEqual([null, null, null]);
  expect(latestStart(55)?.kind).toBe("future");
});

test("reports no skew for synchronized hosts, at any minute and poll duration", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 4e12 }),
      fc.integer({ min: 0, max: 120_000 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.integer({ min: -100_000, max: 100_000 }),
      (askedAt, took, when, drift) => {
        const printed = minute(askedAt + took * when + drift);
        const clocks = { ...poll, askedAt, answeredAt: askedAt + took };
        expect(clockSkew({ ...clocks, reportTime: printed, latestStart: printed })).toBeNull();
      },
    ),
  );
});

const INTERVAL = MINUTE;

test.each([
  ["just begun", 20_000, 5, null],
  ["as old as the gap between two polls", INTERVAL + 2 * MINUTE, 5, null],
  ["an hour old", 60 * MINUTE + 30_000, 5, "UTC+00:00"],
  ["begins in nearly six hours", -360 * MINUTE + 10_000, 5, "UTC+07:00"],
  ["begins in four and a half hours, as in India", -270 * MINUTE, 6, "UTC+05:30"],
  ["an hour old, but outages may explain it", 60 * MINUTE, 4, null],
  ["not a multiple of 15 minutes old", 67 * MINUTE, 9, null],
  ["of an offset that no zone has", 15 * MINUTE, 9, null],
])("the youngest checkout is %s", (_name, least, polls, offset) => {
  const skew = zoneSkewByAges({ least, polls }, { intervalMs: INTERVAL, zone: "Europe/Berlin", now: NOW });
  expect(skew?.kind === "zone" ? skew.utcOffset : null).toBe(offset);
});

test("long gaps between polls show nothing", () => {
  const ages = { least: 60 * MINUTE, polls: 9 };
  expect(zoneSkewByAges(ages, { intervalMs: 60 * MINUTE, zone: "UTC", now: NOW })).toBeNull();
});
