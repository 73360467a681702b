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
const queued = (seconds: number) => attempt("queued", seconds);
const granted = (seconds: number, more?: Partial<Attempt>) => attempt("granted", seconds, more);

function episodesOf(...attempts: Attempt[]) {
  const episodes = createEpisodes();
  for (const one of attempts) episodes.take(one);
  const { changed, settled } = episodes.drain(T + 2 * 86_400_000);
  expect(settled).toHaveLength(changed.length);
  return changed.map(({ denial: { at, until, attempts, outcome, code, reason } }) => {
    return { at: (at - T) / 1000, until: (until - T) / 1000, attempts, outcome, code, reason };
  });
}

const other = { server: "cad", daemon: "otherd" };

describe("episodes", () => {
  const wasDenied = [{ outcome: "denied" }];
  const wasGranted = [{ outcome: "granted_later" }];
  test.each<[string, Attempt[], object[]]>([
    ["one denial", [denied(0)], [{ at: 0, until: 0, attempts: 1, outcome: "denied" }]],
    [
      "retries are one row",
      [0, 30, 90, 380].map((at) => denied(at)),
      [{ at: 0, until: 380, attempts: 4, ...wasDenied[0] }],
    ],
    [
      "after a pause it is another one",
      [denied(0), denied(301)],
      [{ attempts: 1 }, { at: 301, attempts: 1 }],
    ],
    [
      "another reason is another row, and each goes on",
      [denied(0, FULL), denied(10, TOO_MANY), denied(20, FULL), denied(30, TOO_MANY)],
      [
        { at: 0, until: 20, attempts: 2, ...FULL },
        { at: 10, until: 30, attempts: 2, ...TOO_MANY },
      ],
    ],
    [
      "another reason in the same second",
      [denied(0, FULL), denied(0, TOO_MANY)],
      [
        { at: 0, attempts: 1, ...FULL },
        { at: 0, attempts: 1, ...TOO_MANY },
      ],
    ],
    [
      "a line about the queue states no reason",
      [denied(0, FULL), queued(1), denied(60, FULL), denied(70, TOO_MANY)],
      [
        { at: 0, attempts: 2, outcome: "queued", ...FULL },
        { at: 70, outcome: "denied", ...TOO_MANY },
      ],
    ],
    [
      "a wait without a reason takes any",
      [queued(0), denied(1200, FULL)],
      [{ at: 0, until: 1200, outcome: "queued" }],
    ],
    ["granted within ten seconds", [denied(0), granted(10)], wasGranted],
    ["granted after that", [denied(0), granted(11)], wasDenied],
    ["granted two seconds before", [granted(0), denied(2)], wasGranted],
    ["granted three seconds before", [granted(0), denied(3)], wasDenied],
    ["granted by another server", [denied(0), granted(4, other)], wasGranted],
    ["granted to another user", [denied(0), granted(4, { user: "bob" })], wasDenied],
    ["another feature", [denied(0), granted(4, { feature: "x" })], wasDenied],
    [
      "denied again after the grant: another one",
      [denied(0), granted(5), denied(60)],
      [
        { at: 0, ...wasGranted[0] },
        { at: 60, attempts: 1, ...wasDenied[0] },
      ],
    ],
    [
      "the grant between two attempts explains both",
      [denied(0), granted(0), denied(1)],
      [{ at: 0, until: 1, attempts: 2, ...wasGranted[0] }],
    ],
    ["queued", [denied(0), attempt("queued", 1)], [{ attempts: 1, outcome: "queued" }]],
    [
      "whoever waits in the queue and is denied meanwhile asks once",
      [queued(0), denied(1200), denied(3000), attempt("dequeued", 3000), granted(3001)],
      [{ at: 0, until: 3000, attempts: 3, outcome: "queued" }],
    ],
    [
      "a wait ends when it leaves the queue",
      [queued(0), attempt("dequeued", 600), denied(1200)],
      [{ outcome: "queued" }, { at: 1200, outcome: "denied" }],
    ],
    [
      "and when it gets its seats",
      [queued(0), granted(600), queued(1200)],
      [
        { at: 0, outcome: "queued" },
        { at: 1200, outcome: "queued" },
      ],
    ],
    [
      "somebody else's wait is another one",
      [queued(0), denied(1200, { user: "bob" })],
      [{ at: 0 }, { at: 1200 }],
    ],
    [
      "a wait without an end is given up after a day",
      [queued(0), denied(90_000)],
      [{ at: 0 }, { at: 90_000 }],
    ],
    ["two servers, two rows", [denied(0), denied(1, other)], [{ attempts: 1 }, { attempts: 1 }]],
    ["logs a few seconds apart", [granted(8, other), denied(1)], [{ at: 1, ...wasGranted[0] }]],
  ])("%s", (_name, attempts, expected) => {
    expect(episodesOf(...attempts)).toMatchObject(expected);
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
  ["the first reading is where counting begins", {}, [7], null, 7],
  ["the difference", { isv: 7 }, [9], 2, 9],
  ["nothing", { isv: 9 }, [9], null, 9],
  ["a restart is no negative denial", { isv: 9 }, [0], null, 0],
  ["what was denied since a restart", { isv: 9 }, [3], 3, 3],
  ["nothing printed", { isv: 9 }, [null], null, 9],
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
