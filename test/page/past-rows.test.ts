import { expect, test } from "bun:test";
import type { DenialRecord, LoggingRecord } from "../../src/domain/denials.ts";
import type { ExpirationRecord } from "../../src/domain/records.ts";
import {
  byMonth,
  grouped,
  isLogged,
  lostOf,
  sessionBegin,
  unknownByReason,
} from "../../src/page/past-rows.ts";
import { fewerSeats, meanCoverage } from "../../src/page/series.ts";

const denial = (
  feature: string | null,
  outcome: DenialRecord["outcome"],
  count = 1,
  user: string | null = "=cmd()",
) => ({ feature, outcome, count, attempts: count, user, host: null }) as DenialRecord;

test("denials are grouped, most denied first; a counter counts its attempts, another row counts once", () => {
  const rows = [
    denial("b", "denied", 16),
    denial("a", "queued"),
    denial(null, "denied", 7, null),
    denial("c", "denied", 3, null),
    denial("a", "granted_later"),
  ];
  const groups = grouped(rows, ({ feature }) => `${feature}`);
  expect(groups.map((of) => [of.first.feature, of.denied, of.queued, of.granted_later])).toEqual([
    [null, 7, 0, 0],
    ["c", 3, 0, 0],
    ["b", 1, 0, 0],
    ["a", 0, 1, 1],
  ]);
});

test("expiring seats add up by feature; a seat group counts once, tokens do not count", () => {
  const pool = (feature: string, total: number | null, more: Partial<ExpirationRecord> = {}) =>
    ({
      server: "crash",
      daemon: "",
      feature,
      total,
      unit: "seats",
      seatGroup: null,
      ...more,
    }) as ExpirationRecord;
  const group = { seatGroup: "0" };
  expect(lostOf([pool("a", 2), pool("a", 3), pool("b", null)])).toBe(5);
  const shared = [pool("a", 500, group), pool("b", 500, group), pool("b", 10, group)];
  expect(lostOf([...shared, pool("c", 1)])).toBe(511);
  expect(lostOf([pool("a", 500, group), pool("a", 500, { ...group, server: "other" })])).toBe(1000);
  expect(lostOf([pool("hw", 1_000_003, { unit: "tokens" })])).toBe(0);
});

test("licenses are grouped by month, and by day and server; expired ones first", () => {
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
  const lines = byMonth(rows).flatMap(([month, groups]) =>
    groups.map(({ on, server, rows }) => [month, on, server, rows.length].join(" ")),
  );
  expect(lines).toEqual([
    " 2026-10-17 eda 1",
    "2026-12 2026-12-01 eda 1",
    "2026-12 2026-12-22 eda 2",
    "2026-12 2026-12-22 cae 1",
  ]);
});

test.each([
  ["1", 37],
  ["5", undefined],
  ["10 %", 34],
  ["50 %", 30],
])("%s fewer seats give the nearest tried total", (fewer, total) => {
  const whatIf = [30, 34, 37, 39].map((total) => ({ total, saturatedSeconds: 0, affectedSessions: 0 }));
  expect(fewerSeats({ total: 38, whatIf }, fewer)?.total).toBe(total as number);
  expect(fewerSeats({ total: null, whatIf: [] }, fewer)).toBeUndefined();
});

test("coverage is never rounded up", () => {
  expect(meanCoverage([{ coverage: 1 }, { coverage: 0.999 }])).toBe(99);
  expect(meanCoverage([])).toBe(0);
});

test("a session begins at the time from which its duration counts", () => {
  const at = (minute: number) => new Date(60_000 * minute).toISOString();
  const session = { startedAt: at(0), firstSeenAt: at(5), lastSeenAt: at(65) };
  const begin = (durationSeconds: number, startedAt: string | null = at(0)) =>
    sessionBegin({ ...session, startedAt, durationSeconds }) / 60_000;
  expect(begin(66 * 60)).toBe(0);
  // A poll saw the seat free after the reported start, so the session began later.
  expect(begin(61 * 60)).toBe(5);
  expect(begin(61 * 60, null)).toBe(5);
});

test("denials are unknown before their log was read; servers without a log are grouped by reason", () => {
  const logging = (server: string, fields: Partial<LoggingRecord>): LoggingRecord => ({
    ...{ server, state: "off", source: null, since: null, message: "No counters yet" },
    ...fields,
  });
  const on = logging("a", { state: "on", message: null, since: "2026-11-20T00:00:00.000Z" });
  const noon = (day: number) => Date.UTC(2026, 10, day, 12);
  expect([19, 20].map((day) => isLogged(on, noon(day)))).toEqual([false, true]);
  expect(isLogged(logging("b", {}), noon(20))).toBe(false);
  const all = [on, logging("b", {}), logging("c", { message: null, state: "unreadable" }), logging("d", {})];
  expect(unknownByReason(all)).toEqual([
    { why: "No counters yet", servers: ["b", "d"] },
    { why: "The debug log cannot be read", servers: ["c"] },
  ]);
});
