import { expect, test } from "bun:test";
import type { DenialRecord } from "../../src/domain/denials.ts";
import type { ExpirationRecord } from "../../src/domain/records.ts";
import { byMonth, grouped } from "../../src/page/past-rows.ts";
import { fewerSeats, meanCoverage } from "../../src/page/series.ts";

const denial = (feature: string | null, outcome: DenialRecord["outcome"], count = 1) =>
  ({ feature, outcome, count, user: "=cmd()" }) as DenialRecord;

test("denials are grouped, the most denied first; a counted row stands for its count, another one for itself", () => {
  const rows = [
    denial("b", "denied", 16),
    denial("a", "queued"),
    denial(null, "denied", 7),
    denial("a", "granted_later"),
  ];
  expect(
    grouped(rows, ({ feature }) => `${feature}`).map(({ rows, ...group }) => [
      group.first.feature,
      group.denied,
      group.queued,
      group.granted_later,
    ]),
  ).toEqual([
    [null, 7, 0, 0],
    ["b", 1, 0, 0],
    ["a", 0, 1, 1],
  ]);
});

test("what expires stands by month and day of a server, what has expired first", () => {
  const pool = (expiresOn: string | null, daysLeft: number, server = "eda") =>
    ({ server, expiresOn, daysLeft, total: 2 }) as ExpirationRecord;
  const rows = [
    pool("2026-12-22", 29),
    pool("2026-12-01", 8),
    pool("2026-10-17", -37),
    pool(null, 0),
    pool("2026-12-22", 29, "cae"),
    pool("2026-12-22", 29),
  ];
  expect(
    byMonth(rows).map(([month, groups]) => [
      month,
      groups.map(({ on, server, rows }) => [on, server, rows.length]),
    ]),
  ).toEqual([
    ["", [["2026-10-17", "eda", 1]]],
    [
      "2026-12",
      [
        ["2026-12-01", "eda", 1],
        ["2026-12-22", "eda", 2],
        ["2026-12-22", "cae", 1],
      ],
    ],
  ]);
});

test.each([
  ["1", 37],
  ["5", undefined],
  ["10 %", 34],
  ["50 %", 30],
])("of %s fewer, what was tried", (fewer, total) => {
  const whatIf = [30, 34, 37, 39].map((total) => ({ total, saturatedSeconds: 0, affectedSessions: 0 }));
  expect(fewerSeats({ total: 38, whatIf }, fewer)?.total).toBe(total as number);
  expect(fewerSeats({ total: null, whatIf: [] }, fewer)).toBeUndefined();
});

test("coverage is never rounded up", () => {
  expect(meanCoverage([{ coverage: 1 }, { coverage: 0.999 }])).toBe(99);
  expect(meanCoverage([])).toBe(0);
});
