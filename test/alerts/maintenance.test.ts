import { expect, test } from "bun:test";
import { createMaintenance, isOpen } from "../../src/alerts/settings.ts";
import type { MaintenanceWindow } from "../../src/config/config.ts";

const window = (start: string, change: Partial<MaintenanceWindow> = {}): MaintenanceWindow => ({
  servers: ["*"],
  startAt: Date.parse(start),
  durationMs: 4 * 3_600_000,
  every: null,
  ...change,
});

const START = "2026-01-31T22:00:00Z";
const ONCE = window(START);
const WEEKLY = window(START, { every: "week" });

test.each<[string, MaintenanceWindow, string, boolean]>([
  ["once, before", ONCE, "2026-01-31T21:59:59Z", false],
  ["once, at its start", ONCE, START, true],
  ["once, at its end", ONCE, "2026-02-01T02:00:00Z", false],
  ["once, a week later", ONCE, "2026-02-07T22:00:00Z", false],
  ["weekly, before the first", WEEKLY, "2026-01-24T23:00:00Z", false],
  ["weekly, ten weeks later, past midnight", WEEKLY, "2026-04-12T00:30:00Z", true],
  ["weekly, another day", WEEKLY, "2026-04-12T22:30:00Z", false],
  [
    "daily, longer than a day",
    { ...ONCE, every: "day", durationMs: 90_000_000 },
    "2026-05-05T12:00:00Z",
    true,
  ],
])("%s", (_, own, at, open) => {
  const zone = at.startsWith("2026-04") ? "Europe/Berlin" : "UTC";
  expect(isOpen(own, Date.parse(at), zone)).toBe(open);
});

test("a window that repeats keeps its time of day when the clocks change", () => {
  // 22:00 in Berlin is 21:00 UTC in winter and 20:00 UTC in summer.
  const daily = window("2026-01-31T21:00:00Z", { every: "day", durationMs: 3_600_000 });
  const at = (time: string) => isOpen(daily, Date.parse(time), "Europe/Berlin");
  expect([at("2026-03-28T20:30:00Z"), at("2026-03-28T21:30:00Z")]).toEqual([false, true]);
  expect([at("2026-03-29T20:30:00Z"), at("2026-03-29T21:30:00Z")]).toEqual([true, false]);
});

test("names of servers are patterns", () => {
  const inMaintenance = createMaintenance([{ ...ONCE, servers: ["eda*", "r?m"] }], () => "UTC");
  const fits = (id: string) => inMaintenance(id, Date.parse(START));
  expect(["eda", "eda-2", "rlm", "rm", "xeda"].filter(fits)).toEqual(["eda", "eda-2", "rlm"]);
});
