import { describe, expect, test } from "bun:test";
import { durationSeconds, type Session } from "../../../src/domain/session.ts";
import { efficiencyOf, levelsAtBegin, totalsToTry } from "../../../src/domain/stats/efficiency.ts";
import { clip, countedMs, heldSeatsOf, holdingOf } from "../../../src/domain/stats/held-seats.ts";
import { createUsage } from "../../../src/domain/stats/usage.ts";

const MINUTE = 60_000;
test("a session of zero length counts as one session without hours", () => {
  const one = { server: "eda", daemon: "acmed", feature: "solver", user: "ada", host: null, count: 2 };
  const times = { beganAt: 50, firstSeenAt: 50, lastSeenAt: 50, endedAt: 50, endReason: null };
  const usage = createUsage(["user"], 0, 100, "UTC");
  usage.add(
    heldSeatsOf([{ ...one, ...times }], () => ({ from: 50, to: 50 })),
    0,
    100,
  );
  expect(usage.groups()).toEqual([
    { keys: { user: "ada" }, heldSeatHours: 0, sessions: 1, peakHeld: 2, uniqueUsers: 1, lastUsedAt: 50 },
  ]);
});

describe("when seats were held", () => {
  const base: Session = {
    id: 1,
    server: "eda",
    daemon: "acmed",
    feature: "solver",
    user: "ada",
    host: null,
    display: null,

    qualifier: null,
    version: null,
    count: 1,
    handle: null,
    startedAt: null,
    endReason: null,

    beganAt: 0,
    firstSeenAt: 10_000,
    lastSeenAt: 10_000,
    endedAt: null,
  };

  test.each<[string, Partial<Session>, number | null, number, number]>([
    ["an open session until now", {}, 100_000, 130_000, 130_000],
    ["an open session after a gap, until one interval after the last reading", {}, 100_000, 900_000, 160_000],
    ["an ended session until its end", { lastSeenAt: 50_000, endedAt: 90_000 }, 800_000, 900_000, 90_000],
    ["a session with an unobserved end", { lastSeenAt: 50_000, endedAt: 500_000 }, null, 900_000, 110_000],
    [
      "a checkin, independent of the interval",
      { endedAt: 500_000, endReason: "checkin" },
      null,
      900_000,
      500_000,
    ],
    [
      "a session that was first seen after its end",
      { beganAt: 20_000, firstSeenAt: 20_000, endedAt: 15_000 },
      null,
      900_000,
      20_000,
    ],
  ])("%s", (_, more, readAt, now, to) => {
    const one = { ...base, ...more };
    const holding = holdingOf(one, readAt, now, MINUTE);
    expect(holding).toEqual({ from: one.firstSeenAt, to });
    if (one.endReason === "checkin") return;
    const seen = one.endedAt === null && readAt !== null ? { ...one, lastSeenAt: readAt } : one;
    expect(Math.max(0, Math.floor((holding.to - one.beganAt) / 1000))).toBe(
      durationSeconds(seen, now, MINUTE),
    );
  });

  test.each<[number, number, unknown]>([
    [0, 10, null],
    [0, 11, { from: 10, to: 11 }],
    [15, 30, { from: 15, to: 20 }],
    [20, 30, null],
    [10, 10, { from: 10, to: 10 }],
    [20, 20, null],
  ])("[%p, %p) in [10, 20)", (from, to, wanted) => {
    expect(clip({ from, to }, 10, 20)).toEqual(wanted as never);
  });
});

describe("efficiency", () => {
  test("a large feature lists only seats after which the share changes", () => {
    const histogram = new Map([
      [0, 50],
      [3, 25],
      [4000, 25],
    ]);
    const { seats } = efficiencyOf(histogram, 5000, [], null);
    expect(seats).toEqual([
      { seat: 1, busyPercent: 50 },
      { seat: 3, busyPercent: 50 },
      { seat: 4000, busyPercent: 25 },
      { seat: 5000, busyPercent: 0 },
    ]);
  });

  test.each<[number | null, number[]]>([
    [null, []],
    [0, []],
    [1, [2, 3, 4, 5, 6]],
    [6, [1, 2, 3, 4, 5, 7, 8, 9, 10, 11]],
    [100, [50, 75, 80, 90, 95, 96, 97, 98, 99, 101, 102, 103, 104, 105, 110, 120, 125]],
  ])("of %p seats it tries %p", (total, tried) => {
    expect(totalsToTry(total)).toEqual(tried);
  });

  test("affected sessions began above the tried total", () => {
    const { whatIf } = efficiencyOf(new Map([[3, 1000]]), 3, [1, 2, 2, 3], null);
    expect(whatIf.filter(({ total }) => total < 4)).toEqual([
      { total: 1, saturatedSeconds: 1, affectedSessions: 3 },
      { total: 2, saturatedSeconds: 1, affectedSessions: 1 },
    ]);
  });

  test("levels are the seats in use at the first reading, or in a gap those of the open sessions", () => {
    const at = (firstSeenAt: number, to: number, count = 1) => ({
      from: firstSeenAt,
      to,
      firstSeenAt,
      count,
    });
    const step = (from: number, used: number | null) => ({
      at: from,
      used,
      total: 5,
      reserved: 0,
      queued: 0,
      unlimited: false,
    });
    const list = [at(0, 100), at(10, 20, 2), at(20, 30), at(20, 40), at(50, 60), at(200, 300)];
    const steps = [step(0, 1), step(10, 4), step(20, null), step(50, 3)];
    //            0 → 1   10 → 4   20, 20 → gap: 1 + 1 + 1   50 → 3
    expect(levelsAtBegin(list, steps, 0, 200)).toEqual([1, 3, 3, 3, 4]);
    expect(levelsAtBegin(list, steps, 5, 50)).toEqual([3, 3, 4]);
    expect(levelsAtBegin(list, [], 0, 200)).toEqual([1, 2, 3, 3, 3]);
  });
});

test.each([
  ["before a gap", 0, 10, 10],
  ["up to the middle of a gap", 0, 30, 20],
  ["over a gap", 0, 100, 80],
  ["within a gap", 25, 35, 0],
  ["of zero length within a gap", 30, 30, 0],
  ["that ends before it begins", 35, 25, 0],
  ["after the last gap", 50, 60, 10],
])("counts the part of a holding %s", (_, from, to, ms) => {
  expect(countedMs(new Map([["eda", [{ from: 20, to: 40 }]]]), "eda", from, to)).toBe(ms);
});
