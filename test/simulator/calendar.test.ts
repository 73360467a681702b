import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { asPrinted, dateOf, HOUR, weekAt, weekOf } from "../../src/simulator/calendar.ts";

const zones = [
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "Asia/Kolkata",
  "Australia/Lord_Howe",
  "Pacific/Apia",
];
const instants = fc.integer({ min: Date.parse("2020-01-01"), max: Date.parse("2035-01-01") });

describe("weeks", () => {
  test("every instant lies in its week, and weeks follow without a gap", () => {
    fc.assert(
      fc.property(fc.constantFrom(...zones), instants, (zone, instant) => {
        const week = weekAt(zone, instant);
        expect(week.startsAt).toBeLessThanOrEqual(instant);
        expect(week.endsAt).toBeGreaterThan(instant);
        expect(weekOf(zone, week.index + 1).startsAt).toBe(week.endsAt);
      }),
      { numRuns: 300 },
    );
  });

  test.each([
    ["2026-11-16T02:59:59.999Z", "2026-11-09T03:00:00.000Z"],
    ["2026-11-16T03:00:00.000Z", "2026-11-16T03:00:00.000Z"],
  ])("begin on Monday at 04:00 of the wall clock: %s", (instant, starts) => {
    expect(new Date(weekAt("Europe/Berlin", Date.parse(instant)).startsAt).toISOString()).toBe(starts);
  });

  test("the week in which clocks are set back is an hour longer", () => {
    const week = weekAt("Europe/Berlin", Date.parse("2026-10-21T12:00:00Z"));
    expect((week.endsAt - week.startsAt) / HOUR).toBe(7 * 24 + 1);
  });

  test("dates count from Monday", () => {
    const week = weekAt("UTC", Date.parse("2026-11-18T12:00:00Z"));
    expect([dateOf(week.index, 0), dateOf(week.index, 20)]).toEqual(["2026-11-16", "2026-12-06"]);
  });
});

test.each([
  ["2026-11-18T10:01:59.999Z", "2026-11-18T10:01:00.000Z"],
  // 02:30 occurs twice on this night: the text cannot say that it was the second time.
  ["2026-10-25T01:30:20.000Z", "2026-10-25T00:30:00.000Z"],
])("as printed: %s is %s", (instant, printed) => {
  expect(new Date(asPrinted("Europe/Berlin", Date.parse(instant))).toISOString()).toBe(printed);
});
