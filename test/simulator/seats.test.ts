import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { MINUTE_MS } from "../../src/domain/time/clock.ts";
import type { Request } from "../../src/simulator/demand.ts";
import { type SeatRules, seat } from "../../src/simulator/seats.ts";

function ask(user: string, from: number, minutes: number, more: Partial<Request> = {}): Request {
  return {
    actor: { user, host: `ws-${user}`, display: ":0", group: "all" },
    ordinal: 0,
    week: 0,
    askedAt: from * MINUTE_MS,
    wantedMs: minutes * MINUTE_MS,
    latestEnd: Number.MAX_SAFE_INTEGER,
    count: 1,
    patienceMs: 60 * MINUTE_MS,
    borrowed: false,
    ...more,
  };
}

/** Returns holders with their times in minutes. */
function played(requests: Request[], rules: SeatRules) {
  const { grants, waits, denials } = seat(requests, rules);
  const minutes = (from: number, to: number) => `${from / MINUTE_MS}-${to / MINUTE_MS}`;
  return {
    held: grants.map(
      ({ request, startedAt, endsAt, pool }) =>
        `${request.actor.user} ${minutes(startedAt, endsAt)} of ${pool}`,
    ),
    waited: waits.map(({ request, from, to }) => `${request.actor.user} ${minutes(from, to)}`),
    denied: denials.map(({ request, at }) => `${request.actor.user} ${at / MINUTE_MS}`),
  };
}

const rules = (whenFull: "queue" | "deny", pools: (number | null)[], kept: SeatRules["kept"] = null) => {
  return { pools, kept, whenFull } satisfies SeatRules;
};
const vip = { seats: 1, isFor: ({ user }: { user: string }) => user === "vip" };
const patience = { patienceMs: 15 * MINUTE_MS };

describe("seats", () => {
  test.each<[string, Request[], SeatRules, Partial<ReturnType<typeof played>>]>([
    [
      "a request without one waits in line and starts when one is given back, for as long as wanted",
      [ask("a", 0, 30), ask("b", 10, 20)],
      rules("queue", [1]),
      { held: ["a 0-30 of 0", "b 30-50 of 0"], waited: ["b 10-30"], denied: [] },
    ],
    [
      "a request leaves the line when patience ends",
      [ask("a", 0, 90), ask("b", 10, 20, patience)],
      rules("queue", [1]),
      { held: ["a 0-90 of 0"], waited: ["b 10-25"] },
    ],
    [
      "one is given back before the next request at the same instant",
      [ask("a", 0, 10), ask("b", 10, 10)],
      rules("queue", [1]),
      { waited: [] },
    ],
    [
      "a denied request is tried again until patience ends",
      [ask("a", 0, 90), ask("b", 10, 20, patience)],
      rules("deny", [1]),
      { held: ["a 0-90 of 0"], waited: [], denied: ["b 10", "b 17", "b 24"] },
    ],
    [
      "the second pool serves when the first is full, and several seats come from one pool",
      [ask("a", 0, 90, { count: 2 }), ask("b", 1, 9, { count: 3 }), ask("c", 2, 9)],
      rules("queue", [3, 3]),
      { held: ["a 0-90 of 0", "b 1-10 of 1", "c 2-11 of 0"] },
    ],
    [
      "kept ones are for those they are kept for",
      [ask("a", 0, 90), ask("b", 1, 90), ask("vip", 2, 5)],
      rules("queue", [2], vip),
      { held: ["a 0-90 of 0", "vip 2-7 of 0"], waited: ["b 1-61"] },
    ],
  ])("%s", (_, requests, rules, expected) => {
    expect(played(requests, rules)).toMatchObject(expected);
  });

  test("uncounted pools have room for all", () => {
    const requests = Array.from({ length: 50 }, (_, index) => ask(`u${index}`, index, 1000));
    expect(played(requests, rules("queue", [null])).held).toHaveLength(50);
  });

  test("never grants more seats than there are, and each request ends once", () => {
    const request = fc.record({
      askedAt: fc.integer({ min: 0, max: 500 * MINUTE_MS }),
      wantedMs: fc.integer({ min: MINUTE_MS, max: 200 * MINUTE_MS }),
      count: fc.integer({ min: 1, max: 3 }),
      patienceMs: fc.integer({ min: 0, max: 90 * MINUTE_MS }),
    });
    fc.assert(
      fc.property(
        fc.array(request, { maxLength: 60 }),
        fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 3 }),
        fc.constantFrom("queue" as const, "deny" as const),
        (wishes, pools, whenFull) => {
          const requests = wishes
            .map((wish, index) =>
              ask(`u${index}`, 0, 0, { ...wish, ordinal: index, latestEnd: 900 * MINUTE_MS }),
            )
            .sort((a, b) => a.askedAt - b.askedAt);
          const { grants, waits } = seat(requests, { pools, kept: null, whenFull });
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
