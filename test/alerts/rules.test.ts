import { expect, test } from "bun:test";
import {
  DENIALS,
  HOST_RULES,
  isForWantOfSeats,
  PICTURE_RULES,
  SEATS,
  TOTALS_CHANGED,
  UNPARSED,
  UNPOLLED,
} from "../../src/alerts/rules.ts";
import { createSettings } from "../../src/alerts/settings.ts";
import { UNWATCHED, type Watch } from "../../src/alerts/watch.ts";
import { DAEMON_RULES } from "../../src/domain/alerts.ts";
import { percent } from "../../src/domain/polls/feature-picture.ts";
import { HOUR_MS } from "../../src/domain/time/clock.ts";
import { feature } from "../http/make.ts";
import { SETTINGS } from "./rig.ts";

const settings = createSettings({ ...SETTINGS, overrides: [] })(null, null, null);

const NOW = 1_000 * HOUR_MS;
/** Numbers of a feature: used, total, queued requests. */
type Counts = readonly [used: number | null, total: number | null, queued?: number | null];
const counted = ([used, total, queued = 0]: Counts, unlimited = false) =>
  feature("solver", {
    used,
    total,
    queued,
    unlimited,
    utilization: used === null || total === null ? null : percent(used, total),
  });
const denied = (count: number, hoursAgo: number): Watch => ({
  ...UNWATCHED,
  denied: { count, lastAt: NOW - hoursAgo * HOUR_MS },
});

const FULL = "All 10 seats of solver are in use";
test.each<[Counts, number | null, string]>([
  [[7, 10], 0, ""],
  [[8, 10], 1, "80 % of the seats of solver are in use (8 of 10)"],
  [[10, 10], 2, FULL],
  [[12, 10], 2, "120 % of the seats of solver are in use (12 of 10)"],
  [[1, 1], 2, "The only seat of solver is in use"],
  [[0, 0], 0, ""],
  [[10, 10, 1], 2, `${FULL}; requests for 1 seat wait`],
  // Seats are free, but too few for the queued request.
  [[5, 10, 6], 2, "50 % of the seats of solver are in use (5 of 10); requests for 6 seats wait"],
  [[5, null, 2], 2, "5 seats of solver are in use; requests for 2 seats wait"],
  [[10, 10, null], 2, FULL],
  [[null, null, null], null, ""],
  [[5, null, null], 0, ""],
])("seats: used, total, queue %p: level %p, %p", (counts, level, message) => {
  const of = counted(counts);
  expect(SEATS.level(of, settings, NOW, UNWATCHED)).toBe(level);
  if (level) expect(SEATS.finding(of, level, settings, NOW, UNWATCHED)).toMatchObject({ message });
});

test.each<[number, number, number]>([
  [38, 0, 0],
  [38, 1, 1],
  [38, 2, 1],
  [37, 1, 0],
])(
  "seats: %p of 50 in use at level %p is level %p: it resolves 5 points below the warning level",
  (used, level, seen) => {
    expect(SEATS.level(counted([used, 50]), settings, NOW, { ...UNWATCHED, level })).toBe(seen);
  },
);

test("seats: unlimited features run short only while users wait", () => {
  expect(SEATS.level(counted([900, null, 0], true), settings, NOW, UNWATCHED)).toBe(0);
  expect(SEATS.level(counted([900, null, null], true), settings, NOW, UNWATCHED)).toBe(0);
});

test.each<[string, Counts, Watch, number]>([
  ["full, no denial", [10, 10], UNWATCHED, 1],
  ["full, denied just now", [10, 10], denied(2, 0.5), 2],
  ["full, denied hours ago", [10, 10], denied(2, 1), 1],
  ["full, a request waits", [10, 10, 1], UNWATCHED, 2],
  ["nearly full, denied", [9, 10], denied(2, 0), 1],
  ["free", [1, 10], denied(2, 0), 0],
])("critical_needs_demand: %s", (_, counts, watch, level) => {
  const own = { ...settings, criticalNeedsDemand: true };
  expect(SEATS.level(counted(counts), own, NOW, watch)).toBe(level);
});

test("a seats alert has the severity, value and limit of its level", () => {
  const find = (level: number, counts: Counts, watch = UNWATCHED) =>
    SEATS.finding(counted(counts), level, settings, NOW, watch);
  expect(find(2, [9, 10])).toMatchObject({ severity: "critical", value: 90, threshold: 95 });
  expect(find(1, [9, 10])).toMatchObject({ severity: "warning", value: 90, threshold: 80 });
  expect(find(2, [5, null, 2])).toMatchObject({ value: null, threshold: null });
  expect(find(2, [10, 10, 3], denied(1, 5)).message).toBe(
    `${FULL}; requests for 3 seats wait; 1 request denied since it began`,
  );
});

test.each<[string | null, number | null, boolean]>([
  ["solver", -4, true],
  ["solver", -24, true],
  ["solver", -101, true],
  ["solver", null, true],
  ["solver", -5, false],
  ["solver", -18, false],
  [null, -4, false],
  [null, null, false],
])("a denial of %p with code %p means too few seats: %p", (name, code, is) => {
  expect(isForWantOfSeats({ feature: name, code })).toBe(is);
});

test("the table has a row for each rule", () => {
  const rows = [...PICTURE_RULES, ...HOST_RULES, UNPARSED, UNPOLLED, TOTALS_CHANGED, DENIALS];
  expect(new Set(rows.map(({ rule }) => rule))).toEqual(new Set(DAEMON_RULES));
});
