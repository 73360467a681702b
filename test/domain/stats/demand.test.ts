import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Step } from "../../../src/domain/history.ts";
import { demandOf, type UnmetRequest } from "../../../src/domain/stats/demand.ts";
import { efficiencyOf } from "../../../src/domain/stats/efficiency.ts";

const SECOND = 1_000;
const HOUR = 3_600_000;
const TOTAL = 3;

const step = (at: number, used: number | null, queued: number | null = 0): Step => ({
  at,
  used,
  queued,
  total: used === null ? null : TOTAL,
  reserved: 0,
  unlimited: false,
});
const denied = (at: number, count: number, until = at): UnmetRequest => ({
  outcome: "denied",
  at,
  until,
  count,
});
const range = (steps: readonly Step[], end = HOUR) => ({ steps, start: 0, end });

function whatIf(made: ReturnType<typeof demandOf>, total: number) {
  const { whatIf } = efficiencyOf(new Map([[TOTAL, HOUR]]), TOTAL, [], made.asked);
  const found = whatIf.find((one) => one.total === total);
  return found && [found.saturatedSeconds, found.affectedSessions];
}

describe("demand beyond the seats", () => {
  test("is unknown without a log, even if the queue is empty", () => {
    const made = demandOf(range([step(0, TOTAL)]), TOTAL, [], false);
    expect(made.demand).toEqual({
      deniedRequests: null,
      deniedSeats: null,
      queuedRequests: null,
      queuedSeatHours: null,
      knownFrom: "none",
    });
    expect([whatIf(made, 4), whatIf(made, 2)]).toEqual([
      [null, null],
      [3600, 0],
    ]);
  });

  test("a log without denials proves that there were none", () => {
    const made = demandOf(range([step(0, TOTAL)]), TOTAL, [], true);
    expect(made.demand).toEqual({
      deniedRequests: 0,
      deniedSeats: 0,
      queuedRequests: 0,
      queuedSeatHours: 0,
      knownFrom: "log",
    });
    expect(whatIf(made, 4)).toEqual([0, 0]);
  });

  test("without a log, each growth of the queue is a request", () => {
    // Two requests wait for ten minutes, then five for another ten.
    const steps = [step(0, 3), step(600_000, 3, 2), step(1_200_000, 3, 5), step(1_800_000, 3)];
    const made = demandOf(range(steps), TOTAL, [], false);
    expect(made.demand).toEqual({
      deniedRequests: null,
      deniedSeats: null,
      queuedRequests: 2,
      queuedSeatHours: 1.1667,
      knownFrom: "queue",
    });
    expect([4, 5, 6, 8].map((total) => whatIf(made, total))).toEqual([
      [1200, 2],
      [1200, 1],
      [600, 1],
      [600, 0],
    ]);
  });

  test("a denied request counts from its first to its last attempt, on top of all seats", () => {
    // The last poll showed a free seat.
    const made = demandOf(
      range([step(0, 2)]),
      TOTAL,
      [denied(60_000, 1, 100_000), denied(HOUR / 2, 4)],
      true,
    );
    expect(made.demand).toMatchObject({ deniedRequests: 2, deniedSeats: 5, knownFrom: "log" });
    expect([4, 5, 6, 7].map((total) => whatIf(made, total))).toEqual([
      [41, 1],
      [1, 1],
      [1, 0],
      [0, 0],
    ]);
  });

  test("a user who is denied and then waits made one request", () => {
    // One user is denied and waits from the next poll on; later another one waits.
    const steps = [step(0, 3), step(120_000, 3, 1), step(1_200_000, 3, 2), step(1_800_000, 3)];
    const { demand } = demandOf(range(steps), TOTAL, [denied(60_000, 1)], true);
    expect([demand.deniedRequests, demand.queuedRequests]).toEqual([1, 1]);
  });

  test("counts queued requests from the log instead of the queue's growth", () => {
    const queued = [0, 1, 2].map(
      (second): UnmetRequest => ({ ...denied(second * SECOND, 1), outcome: "queued" }),
    );
    const made = demandOf(range([step(0, 3, 3), step(HOUR / 2, 3)]), TOTAL, queued, true);
    expect(made.demand).toMatchObject({ deniedRequests: 0, queuedRequests: 3, queuedSeatHours: 1.5 });
    expect([4, 7].map((total) => whatIf(made, total))).toEqual([
      [1800, 3],
      [0, 0],
    ]);
  });

  test("agrees with a plain loop over every second", () => {
    const length = 600;
    const seats = fc.nat({ max: TOTAL });
    const steps = fc.uniqueArray(
      fc.record({ at: fc.nat({ max: length - 1 }), used: fc.option(seats), queued: seats }),
      { selector: ({ at }) => at, maxLength: 20 },
    );
    const requests = fc.array(
      fc.record({
        at: fc.nat({ max: length - 1 }),
        lasts: fc.nat({ max: 60 }),
        count: fc.integer({ min: 1, max: 4 }),
      }),
      { maxLength: 8 },
    );
    fc.assert(
      fc.property(steps, requests, (list, asked) => {
        const sorted = [{ at: 0, used: null, queued: 0 }, ...list]
          .toSorted((a, b) => a.at - b.at)
          .filter(({ at }, index, all) => all[index + 1]?.at !== at)
          .map(({ at, used, queued }) => step(at * SECOND, used, used === null ? null : queued));
        const unmet = asked.map(({ at, lasts, count }) => denied(at * SECOND, count, (at + lasts) * SECOND));
        const made = demandOf(range(sorted, length * SECOND), TOTAL, unmet, true);

        const levels = Array.from({ length }, (_, second) => {
          const now = sorted.findLast(({ at }) => at <= second * SECOND);
          if (now === undefined || now.used === null) return null;
          const waiting = asked
            .filter(({ at, lasts }) => second >= at && second < at + Math.max(lasts, 1))
            .reduce((sum, { count }) => sum + count, now.queued ?? 0);
          const level = now.used + waiting;
          return waiting === 0 ? level : Math.max(level, TOTAL + 1);
        });
        const seconds = new Map<number, number>();
        for (const level of levels)
          if (level !== null) seconds.set(level, (seconds.get(level) ?? 0) + SECOND);
        expect(new Map([...(made.asked?.histogram ?? [])].sort())).toEqual(new Map([...seconds].sort()));
        expect(made.demand.deniedRequests).toBe(asked.length);
        expect(made.asked?.levels.length).toBeGreaterThanOrEqual(asked.length);
      }),
    );
  });
});
