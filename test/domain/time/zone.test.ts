import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  endOfDay,
  fromWallClock,
  isDate,
  isZone,
  localToUtc,
  offsetAt,
  secondOccurrence,
  wallClock,
  weekdayOf,
} from "../../../src/domain/time/zone.ts";

const iso = (ms: number) => new Date(ms).toISOString();

describe("the second occurrence of a wall-clock time", () => {
  const second = (zone: string, first: string) => secondOccurrence(zone, Date.parse(first));
  test.each([
    ["Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00.000Z"],
    ["America/New_York", "2026-11-01T05:59:00Z", "2026-11-01T06:59:00.000Z"],
    ["Australia/Lord_Howe", "2026-04-04T14:45:00Z", "2026-04-04T15:15:00.000Z"],
  ])("in %s of %s is %s", (zone, first, expected) => {
    expect(iso(second(zone, first) ?? Number.NaN)).toBe(expected);
  });

  test.each([
    ["Europe/Berlin", "2026-10-25T01:30:00Z"],
    ["Europe/Berlin", "2026-10-24T23:59:00Z"],
    ["Europe/Berlin", "2026-03-29T00:30:00Z"],
    ["Europe/Berlin", "2026-10-25T12:00:00Z"],
    ["UTC", "2026-10-25T00:30:00Z"],
  ])("in %s of %s does not exist", (zone, first) => {
    expect(second(zone, first)).toBeNull();
  });
});

describe("localToUtc", () => {
  const rows: [string, [number, number, number, number, number], string][] = [
    ["UTC", [2026, 1, 31, 8, 15], "2026-01-31T08:15:00.000Z"],
    ["Europe/Berlin", [2026, 1, 31, 8, 15], "2026-01-31T07:15:00.000Z"],
    ["Europe/Berlin", [2026, 7, 1, 0, 0], "2026-06-30T22:00:00.000Z"],
    ["Asia/Kolkata", [2026, 7, 1, 0, 0], "2026-06-30T18:30:00.000Z"],
    // Clocks are set back at 03:00 CEST on 2026-10-25: 02:30 occurs twice, and the first counts.
    ["Europe/Berlin", [2026, 10, 25, 2, 30], "2026-10-25T00:30:00.000Z"],
    ["Europe/Berlin", [2026, 10, 25, 3, 0], "2026-10-25T02:00:00.000Z"],
    // Clocks are set forward at 02:00 CET on 2026-03-29: 02:30 does not exist and is read as CET.
    ["Europe/Berlin", [2026, 3, 29, 2, 30], "2026-03-29T01:30:00.000Z"],
    ["America/New_York", [2026, 11, 1, 1, 30], "2026-11-01T05:30:00.000Z"],
    ["UTC", [1, 1, 1, 0, 0], "0001-01-01T00:00:00.000Z"],
  ];
  test.each(rows)("%s %p is %s", (zone, [y, mo, d, h, mi], utc) => {
    expect(iso(localToUtc(zone, y, mo, d, h, mi))).toBe(utc);
  });

  test("every existing wall-clock time is converted back", () => {
    fc.assert(
      fc.property(
        fc.constantFrom("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "UTC"),
        fc.integer({ min: Date.UTC(2000, 0, 1), max: Date.UTC(2037, 0, 1) }),
        (zone, instant) => {
          const wall = wallClock(zone, instant);
          const [year = 0, ...parts] = new Date(wall).toISOString().match(/\d+/g)?.map(Number) ?? [];
          const back = localToUtc(zone, year, ...(parts as [number, number]));
          expect(fromWallClock(zone, wall)).toBe(back);
          // `back` equals `instant`, or is up to an hour earlier if the wall-clock time occurs twice.
          const gap = instant - back;
          expect(gap === 0 || (gap > 0 && gap <= 3_600_000)).toBe(true);
          expect(back + offsetAt(zone, back)).toBe(wall);
        },
      ),
    );
  });
});

test("endOfDay is the last millisecond of the day in its zone", () => {
  expect(iso(endOfDay("UTC", 2025, 12, 31))).toBe("2025-12-31T23:59:59.999Z");
  expect(iso(endOfDay("Europe/Berlin", 2025, 12, 31))).toBe("2025-12-31T22:59:59.999Z");
  expect(iso(endOfDay("Europe/Berlin", 2026, 10, 25))).toBe("2026-10-25T22:59:59.999Z");
});

test("isDate, weekdayOf, isZone", () => {
  expect(isDate(2024, 2, 29)).toBe(true);
  expect([isDate(2025, 2, 29), isDate(2025, 13, 1), isDate(2025, 4, 31)]).not.toContain(true);
  expect(weekdayOf(2017, 10, 20)).toBe(5);
  expect([isZone("Europe/Berlin"), isZone("Mars/Olympus")]).toEqual([true, false]);
});
