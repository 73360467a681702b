import { expect, test } from "bun:test";
import { parseMomentOfWeek } from "../../src/domain/time/clock.ts";
import { lastDue, parsePeriod } from "../../src/reports/period.ts";

test.each([
  ["2026-10", "UTC", "October 2026", "2026-10-01T00:00Z", "2026-11-01T00:00Z"],
  // In Berlin, clocks are set back in October and forward in March.
  ["2026-10", "Europe/Berlin", "October 2026", "2026-09-30T22:00Z", "2026-10-31T23:00Z"],
  ["2026-03", "Europe/Berlin", "March 2026", "2026-02-28T23:00Z", "2026-03-31T22:00Z"],
  ["2026-W43", "UTC", "Week 43 of 2026", "2026-10-19T00:00Z", "2026-10-26T00:00Z"],
  ["2026-W01", "UTC", "Week 1 of 2026", "2025-12-29T00:00Z", "2026-01-05T00:00Z"],
  ["2026-W53", "UTC", "Week 53 of 2026", "2026-12-28T00:00Z", "2027-01-04T00:00Z"],
])("%s in %s is %s", (name, zone, title, start, end) => {
  expect(parsePeriod(name, zone)).toEqual({ name, title, start: Date.parse(start), end: Date.parse(end) });
});

test.each("2025-W53,2026-W00,2026-W54,2026-13,2026-1,2026,26-01, 2026-10,2026-10-01".split(","))(
  "%p is no period",
  (text) => expect(parsePeriod(text, "UTC")).toBeNull(),
);

test.each<["week" | "month", string, string, Record<string, string>]>([
  ["week", "Mon 07:00", "UTC", { "2026-11-02T06:59Z": "2026-W43", "2026-11-02T07:00Z": "2026-W44" }],
  ["week", "Mon 00:00", "UTC", { "2026-11-02T00:00Z": "2026-W44" }],
  ["week", "Sun 18:30", "UTC", { "2026-11-08T18:29Z": "2026-W43", "2026-11-08T18:30Z": "2026-W44" }],
  // Due by the host's clock, so one hour later in UTC after clocks are set back.
  [
    "week",
    "Mon 07:00",
    "Europe/Berlin",
    { "2026-10-26T05:59Z": "2026-W42", "2026-10-26T06:00Z": "2026-W43" },
  ],
  ["month", "Mon 07:00", "UTC", { "2026-11-02T06:59Z": "2026-09", "2026-11-02T07:00Z": "2026-10" }],
  ["month", "Sun 07:00", "UTC", { "2026-11-01T07:00Z": "2026-10" }],
  ["month", "Thu 07:00", "UTC", { "2026-01-01T00:00Z": "2025-11" }],
])("a report of a %s, due %s in %s, is by the time about %p", (every, due, zone, periods) => {
  const dueMs = parseMomentOfWeek(due) ?? 0;
  for (const [now, name] of Object.entries(periods))
    expect(lastDue(every, dueMs, zone, Date.parse(now)).name).toBe(name);
});
