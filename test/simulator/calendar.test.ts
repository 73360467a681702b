import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { DAY_MS, HOUR_MS, parseMomentOfWeek } from "../../src/domain/time/clock.ts";
import { asPrinted } from "../../src/managers/simulated-tool.ts";
import { aheadFor, dateOf, weekAt, weekOf } from "../../src/simulator/calendar.ts";

const WEST = ["UTC", "Europe/Berlin", "America/New_York"];
const zones = [...WEST, "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia"];
const ahead = fc.integer({ min: -84 * HOUR_MS, max: 84 * HOUR_MS });
const instants = fc.integer({ min: Date.parse("2020-01-01"), max: Date.parse("2035-01-01") });

describe("weeks", () => {
  test("every instant is in its week, without gaps", () => {
    fc.assert(
      fc.property(fc.constantFrom(...zones), ahead, instants, (zone, ahead, instant) => {
        const clock = { zone, ahead };
        const week = weekAt(clock, instant);
        expect(week.startsAt).toBeLessThanOrEqual(instant);
        expect(week.endsAt).toBeGreaterThan(instant);
        expect(weekOf(clock, week.index + 1).startsAt).toBe(week.endsAt);
      }),
      { numRuns: 300 },
    );
  });

  test.each([
    ["2026-11-16T02:59:59.999Z", "2026-11-09T03:00:00.000Z"],
    ["2026-11-16T03:00:00.000Z", "2026-11-16T03:00:00.000Z"],
  ])("begin on Monday at 04:00 of the wall clock: %s", (instant, starts) => {
    const { startsAt } = weekAt({ zone: "Europe/Berlin", ahead: 0 }, Date.parse(instant));
    expect(new Date(startsAt).toISOString()).toBe(starts);
  });

  test("the week in which clocks are set back is an hour longer", () => {
    const week = weekAt({ zone: "Europe/Berlin", ahead: 0 }, Date.parse("2026-10-21T12:00:00Z"));
    expect((week.endsAt - week.startsAt) / HOUR_MS).toBe(7 * 24 + 1);
  });

  test("dates count from Monday", () => {
    const week = weekAt({ zone: "UTC", ahead: 0 }, Date.parse("2026-11-18T12:00:00Z"));
    expect([dateOf(week.index, 0), dateOf(week.index, 20)]).toEqual(["2026-11-16", "2026-12-06"]);
  });
});

test.each([
  ["2026-11-18T10:01:59.999Z", "2026-11-18T10:01:00.000Z"],
  // 02:30 occurs twice on this night. The text cannot show that this is the second time, so the first one
  // counts.
  ["2026-10-25T01:30:20.000Z", "2026-10-25T00:30:00.000Z"],
])("as printed: %s is %s", (instant, printed) => {
  expect(new Date(asPrinted("Europe/Berlin", Date.parse(instant))).toISOString()).toBe(printed);
});

describe("the week that a demo shows", () => {
  /** Day (0 = Monday) and hour of the staff's clock. */
  const shown = (now: string, at: string | null) => {
    const wanted = at === null ? null : parseMomentOfWeek(at);
    const moved = new Date(Date.parse(now) + aheadFor("UTC", Date.parse(now), wanted));
    return [(moved.getUTCDay() + 6) % 7, moved.getUTCHours() + moved.getUTCMinutes() / 60];
  };

  test.each([
    ["a Wednesday at noon stays", "2026-11-18T12:00:00Z", null, [2, 12]],
    ["a Wednesday night shows a morning", "2026-11-18T23:00:00Z", null, [3, 10.5]],
    ["a Saturday at noon shows a Friday", "2026-11-21T12:00:00Z", null, [4, 12]],
    ["a Sunday evening shows a Monday morning", "2026-11-22T20:00:00Z", null, [0, 10.5]],
    ["what is asked for", "2026-11-22T20:00:00Z", "Tue 10:30", [1, 10.5]],
    ["a weekend, when it is asked for", "2026-11-18T12:00:00Z", "sunday 3:00", [6, 3]],
  ])("%s", (_, now, at, wanted) => {
    expect(shown(now, at)).toEqual(wanted);
  });

  test("is the nearest working time", () => {
    fc.assert(
      fc.property(fc.constantFrom(...zones), instants, (zone, now) => {
        const moved = now + aheadFor(zone, now, null);
        const { midnights } = weekAt({ zone, ahead: 0 }, moved);
        const day = midnights.findLastIndex((midnight) => midnight <= moved);
        expect(day).toBeLessThan(5);
        expect(Math.abs(moved - now)).toBeLessThanOrEqual(1.5 * DAY_MS);
      }),
    );
  });

  test.each(["Tue", "10:30", "Tue 24:00", "Tue 10:60", "Tuu 10:30", ""])(
    "%s is no moment of a week",
    (text) => {
      expect(parseMomentOfWeek(text)).toBeNull();
    },
  );
});
