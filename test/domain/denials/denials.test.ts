import { describe, expect, test } from "bun:test";
import { type Attempt, countDenials, createEpisodes } from "../../../src/domain/denials.ts";

import type { DaemonReading } from "../../../src/domain/reading.ts";

const T = Date.UTC(2026, 0, 30, 12);
const FULL = { code: -64, reason: "License server out of seats" };
const TOO_MANY = { code: -87, reason: "Checkout exceeds MAX specified in options file" };
const own = { server: "eda", daemon: "acmed", feature: "solver", user: "ada", host: "ws01" };
const attempt = (kind: Attempt["kind"], seconds: number, more: Partial<Attempt> = {}): Attempt => ({
  ...own,
  kind,
  at: T + seconds * 1000,
  count: 1,
  reason: null,
  code: null,
  ...more,
});
const denied = (seconds: number, more?: Partial<Attempt>) => attempt("denied", seconds, more);

function episodesOf(...attempts: Attempt[]) {
  const episodes = createEpisodes();
  for (const one of attempts) episodes.take(one);
  const { changed, settled } = episodes.drain(T + 2 * 86_400_000);
  expect(settled).toHaveLength(changed.length);
  return changed.map(({ denial: { at, until, attempts, outcome, code } }) =>
    [`${(at - T) / 1000}-${(until - T) / 1000}`, attempts, outcome, code]
      .filter((part) => part !== null)
      .join(" "),
  );
}

/**
 * Outcomes by the letter of an attempt. An attempt such as `d30:bob` has a letter, a second, and optionally
 * another reason, user, feature or server.
 */
const KINDS = { d: "denied", g: "granted", q: "queued", x: "dequeued" } as const;
const OPTIONS: Readonly<Record<string, Partial<Attempt>>> = {
  full: FULL,
  many: TOO_MANY,
  bob: { user: "bob" },
  x: { feature: "x" },
  cad: { server: "cad", daemon: "otherd" },
};
const attemptsOf = (text: string) =>
  text.split(" ").map((word) => {
    const [, kind, seconds, option = ""] = /^([dgqx])(\d+):?(\w*)$/.exec(word) ?? [];
    return attempt(KINDS[kind as keyof typeof KINDS], Number(seconds), OPTIONS[option]);
  });

describe("episodes", () => {
  test.each([
    ["one denial", "d0", "0-0 1 denied"],
    ["retries share a row", "d0 d30 d90 d380", "0-380 4 denied"],
    ["a pause starts another row", "d0 d301", "0-0 1 denied, 301-301 1 denied"],
    [
      "each reason has its row",
      "d0:full d10:many d20:full d30:many",
      "0-20 2 denied -64, 10-30 2 denied -87",
    ],
    ["two reasons in one second", "d0:full d0:many", "0-0 1 denied -64, 0-0 1 denied -87"],
    ["a queue line has no reason", "d0:full q1 d60:full d70:many", "0-60 2 queued -64, 70-70 1 denied -87"],
    ["a wait without a reason matches any", "q0 d1200:full", "0-1200 2 queued"],
    ["granted within ten seconds", "d0 g10", "0-0 1 granted_later"],
    ["granted later", "d0 g11", "0-0 1 denied"],
    ["granted two seconds before", "g0 d2", "2-2 1 granted_later"],
    ["granted three seconds before", "g0 d3", "3-3 1 denied"],
    ["granted by another server", "d0 g4:cad", "0-0 1 granted_later"],
    ["granted to another user", "d0 g4:bob", "0-0 1 denied"],
    ["another feature", "d0 g4:x", "0-0 1 denied"],
    ["a denial after the grant starts another row", "d0 g5 d60", "0-0 1 granted_later, 60-60 1 denied"],
    ["a grant between two attempts explains both", "d0 g0 d1", "0-1 2 granted_later"],
    ["queued", "d0 q1", "0-1 1 queued"],
    ["denials while waiting belong to the wait", "q0 d1200 d3000 x3000 g3001", "0-3000 3 queued"],
    ["leaving the queue ends a wait", "q0 x600 d1200", "0-0 1 queued, 1200-1200 1 denied"],
    ["a grant ends a wait", "q0 g600 q1200", "0-0 1 queued, 1200-1200 1 queued"],
    ["another user's wait is another row", "q0 d1200:bob", "0-0 1 queued, 1200-1200 1 denied"],
    ["a wait without an end is given up after a day", "q0 d90000", "0-0 1 queued, 90000-90000 1 denied"],
    ["each server has its row", "d0 d1:cad", "0-0 1 denied, 1-1 1 denied"],
    ["logs may be a few seconds apart", "g8:cad d1", "1-1 1 granted_later"],
  ])("%s", (_name, attempts, rows) => {
    expect(episodesOf(...attemptsOf(attempts)).join(", ")).toBe(rows);
  });

  test("are published once, when their outcome is final", () => {
    const episodes = createEpisodes();
    episodes.take(denied(0));
    expect(episodes.drain(T + 10_000)).toMatchObject({ changed: [{ told: false }], settled: [] });
    expect(episodes.drain(T + 10_000)).toEqual({ changed: [], settled: [] });
    const { settled } = episodes.drain(T + 10_001);
    expect(settled).toMatchObject([{ told: true, denial: { outcome: "denied" } }]);
    episodes.take(denied(30));
    expect(episodes.drain(T + 60_000)).toMatchObject({ changed: [{ denial: { attempts: 2 } }], settled: [] });
  });

  test("continue after a restart", () => {
    const first = createEpisodes();
    first.take(denied(0));
    const [stored] = first.drain(T).changed;
    const next = createEpisodes();
    if (stored !== undefined) next.resume(stored.denial, stored.told);
    next.take(denied(40));
    expect(next.drain(T + 60_000)).toMatchObject({
      changed: [{ denial: { at: T, attempts: 2 } }],
      settled: [{ denial: { at: T } }],
    });
  });

  test("are forgotten once they cannot continue", () => {
    const episodes = createEpisodes();
    for (let index = 0; index < 1000; index++) episodes.take(denied(0, { user: `u${index}` }));
    episodes.drain(T + 3_600_000);
    expect(episodes.isWaiting).toBe(false);
    expect(episodes.drain(T + 7_200_000)).toEqual({ changed: [], settled: [] });
  });
});

test.each<[string, Record<string, number>, (number | null)[], number | null, number | null]>([
  ["the first reading sets the start", {}, [7], null, 7],
  ["the difference", { isv: 7 }, [9], 2, 9],
  ["no change", { isv: 9 }, [9], null, 9],
  ["a reset to zero", { isv: 9 }, [0], null, 0],
  ["a reset, then new denials", { isv: 9 }, [3], 3, 3],
  ["counter not printed", { isv: 9 }, [null], null, 9],
  ["daemon not printed", { isv: 9 }, [], null, 9],
])("counters: %s", (_name, before, printed, count, after) => {
  const daemons = printed.map((denials): DaemonReading => {
    const totals = { checkouts: 0, denials, removals: 0 };
    return { name: "isv", status: "up", version: null, error: null, totals };
  });
  const step = countDenials(before, { daemons, features: [] });
  expect(step.denied).toEqual(count === null ? [] : [{ daemon: "isv", feature: null, count }]);
  expect(step.counters.isv ?? null).toBe(after);
  expect(step.changed).toBe(before.isv !== after);
});

test("counts denials per feature, and ignores a counter that fell", () => {
  const features = (...denials: (number | null)[]) =>
    denials.map((count, at) => {
      return { daemon: "lmx", name: `f${at}`, ...(count !== null && { totals: { denials: count } }) };
    });
  const totals = { checkouts: 0, denials: 100, removals: 0 };
  const daemons: DaemonReading[] = [{ name: "lmx", status: "up", version: null, error: null, totals }];
  const first = countDenials({}, { daemons, features: features(5, 7, null) });
  expect([first.denied, first.changed]).toEqual([[], true]);
  const next = countDenials(first.counters, { daemons, features: features(8, 6, null) });
  expect(next.denied).toEqual([{ daemon: "lmx", feature: "f0", count: 3 }]);
  const last = countDenials(next.counters, { daemons, features: features(8, 7, 1) });
  expect(last.denied).toEqual([{ daemon: "lmx", feature: "f1", count: 1 }]);
});
