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

const UNKNOWN = { deniedRequests: null, deniedSeats: null, queuedRequests: null, queuedSeatHours: null };
const NO_DENIALS = { deniedRequests: 0, deniedSeats: 0 };

interface Case {
  readonly steps: Step[];
  readonly requests?: UnmetRequest[];
  /** Whether the log was read. */
  readonly isLogged: boolean;
  readonly demand: Partial<ReturnType<typeof demandOf>["demand"]>;
  /** Number of saturated seconds and of affected sessions for each tried total. */
  readonly whatIf?: Record<number, [seconds: number | null, sessions: number | null]>;
}

const CASES: Record<string, Case> = {
  "is unknown without a log, even if the queue is empty": {
    steps: [step(0, TOTAL)],
    isLogged: false,
    demand: { ...UNKNOWN, knownFrom: "none" },
    whatIf: { 2: [3600, 0], 4: [null, null] },
  },
  "a log without denials proves that there were none": {
    steps: [step(0, TOTAL)],
    isLogged: true,
    demand: { ...NO_DENIALS, queuedRequests: 0, queuedSeatHours: 0, knownFrom: "log" },
    whatIf: { 4: [0, 0] },
  },
  // Two requests wait for ten minutes, then five for another ten.
  "without a log, each growth of the queue is a request": {
    steps: [step(0, 3), step(600_000, 3, 2), step(1_200_000, 3, 5), step(1_800_000, 3)],
    isLogged: false,
    demand: { ...UNKNOWN, queuedRequests: 2, queuedSeatHours: 1.1667, knownFrom: "queue" },
    whatIf: { 4: [1200, 2], 5: [1200, 1], 6: [600, 1], 8: [600, 0] },
  },
  // The last poll showed a free seat.
  "a denied request counts from its first to its last attempt, on top of all seats": {
    steps: [step(0, 2)],
    requests: [denied(60_000, 1, 100_000), denied(HOUR / 2, 4)],
    isLogged: true,
    demand: { deniedRequests: 2, deniedSeats: 5, knownFrom: "log" },
    whatIf: { 4: [41, 1], 5: [1, 1], 6: [1, 0], 7: [0, 0] },
  },
  // One user is denied and waits from the next poll on. Later another user waits.
  "a user who is denied and then waits made one request": {
    steps: [step(0, 3), step(120_000, 3, 1), step(1_200_000, 3, 2), step(1_800_000, 3)],
    requests: [denied(60_000, 1)],
    isLogged: true,
    demand: { deniedRequests: 1, queuedRequests: 1 },
  },
  "counts queued requests from the log instead of the queue's growth": {
    steps: [step(0, 3, 3), step(HOUR / 2, 3)],
    requests: [0, 1, 2].map((second) => ({ ...denied(second * SECOND, 1), outcome: "queued" })),
    isLogged: true,
    demand: { ...NO_DENIALS, queuedRequests: 3, queuedSeatHours: 1.5 },
    whatIf: { 4: [1800, 3], 7: [0, 0] },
  },
};

describe("demand beyond the seats", () => {
  test.each(Object.entries(CASES))("%s", (_, { steps, requests = [], isLogged, demand, whatIf = {} }) => {
    const made = demandOf(range(steps), TOTAL, requests, isLogged);
    expect(made.demand).toMatchObject(demand);
    const effects = efficiencyOf(new Map([[TOTAL, HOUR]]), TOTAL, [], made.asked).whatIf;
    for (const [total, [saturatedSeconds, affectedSessions]] of Object.entries(whatIf))
      expect(effects).toContainEqual({ total: Number(total), saturatedSeconds, affectedSessions });
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
