import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { MINUTE } from "../../src/simulator/calendar.ts";
import type { Request } from "../../src/simulator/demand.ts";
import { type SeatRules, seat } from "../../src/simulator/seats.ts";

function ask(user: string, from: number, minutes: number, more: Partial<Request> = {}): Request {
  return {
    actor: { user, host: `ws-${user}`, display: ":0", group: "all" },
    ordinal: 0,
    week: 0,
    askedAt: from * MINUTE,
    wantedMs: minutes * MINUTE,
    latestEnd: Number.MAX_SAFE_INTEGER,
    count: 1,
    patienceMs: 60 * MINUTE,
    borrowed: false,
    ...more,
  };
}

const queue = (pools: (number | null)[], kept: SeatRules["kept"] = []): SeatRules => ({
  pools,
  kept,
  whenFull: "queue",
});

/** Who held when, in minutes. */
function played(requests: Request[], rules: SeatRules) {
  const { grants, waits, denials } = seat(requests, rules);
  return {
    held: grants.map(({ request, startedAt, endsAt, pool }) => [
      request.actor.user,
      startedAt / MINUTE,
      endsAt / MINUTE,
      pool,
    ]),
    waited: waits.map(({ request, from, to }) => [request.actor.user, from / MINUTE, to / MINUTE]),
    denied: denials.map(({ request, at }) => [request.actor.user, at / MINUTE]),
  };
}

describe("seats", () => {
  test("who finds none waits in line and starts when one is given back, for as long as wanted", () => {
    expect(played([ask("a", 0, 30), ask("b", 10, 20)], queue([1]))).toEqual({
      held: [
        ["a", 0, 30, 0],
        ["b", 30, 50, 0],
      ],
      waited: [["b", 10, 30]],
      denied: [],
    });
  });

  test("leaves the line when patience ends", () => {
    const { held, waited } = played(
      [ask("a", 0, 90), ask("b", 10, 20, { patienceMs: 15 * MINUTE })],
      queue([1]),
    );
    expect(held).toHaveLength(1);
    expect(waited).toEqual([["b", 10, 25]]);
  });

  test("a seat is given back before the next one asks at the same instant", () => {
    expect(played([ask("a", 0, 10), ask("b", 10, 10)], queue([1])).waited).toEqual([]);
  });

  test("turned away, tries again until patience ends", () => {
    const rules = { pools: [1], kept: [], whenFull: "deny" } as const;
    const { denied, held, waited } = played(
      [ask("a", 0, 90), ask("b", 10, 20, { patienceMs: 15 * MINUTE })],
      rules,
    );
    expect(denied).toEqual([
      ["b", 10],
      ["b", 17],
      ["b", 24],
    ]);
    expect({ held: held.length, waited }).toEqual({ held: 1, waited: [] });
  });

  test("the second pool serves when the first is full, and several seats come from one pool", () => {
    const { held } = played(
      [ask("a", 0, 90, { count: 2 }), ask("b", 1, 9, { count: 3 }), ask("c", 2, 9)],
      queue([3, 3]),
    );
    expect(held).toEqual([
      ["a", 0, 90, 0],
      ["b", 1, 10, 1],
      ["c", 2, 11, 0],
    ]);
  });

  test("kept seats are for those they are kept for", () => {
    const kept = [{ pool: 0, seats: 1, isFor: ({ user }: { user: string }) => user === "vip" }];
    const { held, waited } = played([ask("a", 0, 90), ask("b", 1, 90), ask("vip", 2, 5)], queue([2], kept));
    expect(held.map(([user]) => user)).toEqual(["a", "vip"]);
    expect(waited.map(([user]) => user)).toEqual(["b"]);
  });

  test("uncounted pools have room for everybody", () => {
    const requests = Array.from({ length: 50 }, (_, index) => ask(`u${index}`, index, 1000));
    expect(played(requests, queue([null])).held).toHaveLength(50);
  });

  test("at no instant more seats than there are, and each request ends in one way", () => {
    const request = fc.record({
      askedAt: fc.integer({ min: 0, max: 500 * MINUTE }),
      wantedMs: fc.integer({ min: MINUTE, max: 200 * MINUTE }),
      count: fc.integer({ min: 1, max: 3 }),
      patienceMs: fc.integer({ min: 0, max: 90 * MINUTE }),
    });
    fc.assert(
      fc.property(
        fc.array(request, { maxLength: 60 }),
        fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 3 }),
        fc.constantFrom("queue" as const, "deny" as const),
        (wishes, pools, whenFull) => {
          const requests = wishes
            .map((wish, index) =>
              ask(`u${index}`, 0, 0, { ...wish, ordinal: index, latestEnd: 900 * MINUTE }),
            )
            .sort((a, b) => a.askedAt - b.askedAt);
          const { grants, waits } = seat(requests, { pools, kept: [], whenFull });
          for (const { startedAt } of grants) {
            for (const [pool, seats] of pools.entries()) {
              const used = grants
                .filter((one) => one.pool === pool && one.startedAt <= startedAt && startedAt < one.endsAt)
                .reduce((sum, one) => sum + one.request.count, 0);
              expect(used).toBeLessThanOrEqual(seats);
            }
          }
          expect(new Set(grants.map((one) => one.request)).size).toBe(grants.length);
          for (const grant of grants) {
            expect(grant.endsAt).toBeGreaterThan(grant.startedAt);
            const wait = waits.find((one) => one.request === grant.request);
            expect(grant.startedAt).toBe(
              whenFull === "deny" ? grant.startedAt : (wait?.to ?? grant.request.askedAt),
            );
          }
        },
      ),
      { numRuns: 150 },
    );
  });
});
