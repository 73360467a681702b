import { afterEach, describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Conditions } from "../../src/alerts/evaluator.ts";
import { createReplay, type Firing, type Span } from "../../src/alerts/replay.ts";
import { createSettings } from "../../src/alerts/settings.ts";
import type { ServerPicture } from "../../src/domain/picture.ts";
import { initialPicture } from "../../src/domain/polls/apply-poll.ts";
import { failedFeature } from "../../src/domain/polls/feature-picture.ts";
import { NOON, server } from "../domain/make.ts";
import { cleanUp } from "../store/place.ts";
import { createRig, MINUTE, override, SETTINGS } from "./rig.ts";

afterEach(cleanUp);

const EDA = server({ intervalMs: MINUTE, timeoutMs: MINUTE / 2 });
const BLANK = initialPicture(EDA);
const UP: ServerPicture = { ...BLANK, status: "up", state: "ok" };

const settingsOf = createSettings({ ...SETTINGS, overrides: [] });
const CONDITIONS: Conditions = { settingsOf, inMaintenance: () => false };

interface Look {
  readonly at: number;
  /** Number of used seats; null if the poll failed. */
  readonly used: number | null;
  readonly total?: number;
}

/** Merges equal consecutive numbers into spans, as in history. */
function spansOf(looks: readonly Look[], end: number): Span[] {
  const steps = looks.filter(({ used, total }, index) => {
    const before = looks[index - 1];
    return before?.used !== used || before?.total !== total;
  });
  return steps.flatMap(({ at, used, total = 10 }, index) => {
    if (used === null) return [];
    const counts = { used, total, queued: 0, utilization: (used / total) * 100 };
    const feature = { ...failedFeature("snpslmd", "compiler", null), ...counts, state: "ok" as const };
    const picture = { ...UP, features: [feature] };
    return [{ from: at, until: steps[index + 1]?.at ?? end, everyMs: MINUTE, picture }];
  });
}

/** Returns rule, worst severity, and begin and end in minutes of the alerts. */
function fired(spans: readonly Span[], end: number, change: Partial<Conditions> = {}) {
  const replay = createReplay({ ...CONDITIONS, ...change }, BLANK);
  replay.polls(spans);
  replay.pass(end);
  return replay.firings().map(shownFiring);
}

const shownFiring = ({ rule, severity, firedAt, resolvedAt }: Firing): (string | number | null)[] => {
  return [rule, severity, firedAt / MINUTE, resolvedAt && resolvedAt / MINUTE];
};

test("`for`: times, worst severity and value", () => {
  const settings = { ...SETTINGS, forMs: 3 * MINUTE, overrides: [] };
  const own = { ...CONDITIONS, settingsOf: createSettings(settings) };
  // Seats are short from minute 2 until minute 12. The later shortage of two minutes is too short to fire.
  const used = [1, 1, 8, 8, 8, 8, 10, 10, 10, 10, 8, 10, ...Array(10).fill(1), 10, 10, ...Array(10).fill(1)];
  const replay = createReplay(own, BLANK);
  const looks = used.map((each, index) => ({ at: index * MINUTE, used: each }));
  replay.polls(spansOf(looks, used.length * MINUTE));
  replay.pass(used.length * MINUTE);
  const about = { rule: "seats", server: "eda", daemon: "snpslmd", feature: "compiler" } as const;
  expect(replay.firings()).toMatchObject([
    {
      ...about,
      severity: "critical",
      startedAt: 2 * MINUTE,
      firedAt: 5 * MINUTE,
      resolvedAt: 18 * MINUTE,
      peakValue: 100,
    },
  ]);
});

test("denials without free seats belong to the seats alert while seats are short", () => {
  const replay = createReplay(CONDITIONS, BLANK);
  const denial = (at: number, code: number | null) => {
    return { server: "eda", daemon: "snpslmd", feature: "compiler", count: 1, at: at * MINUTE, code };
  };
  const looks = [10, 10, 10, 1, 1, 1].map((used, index) => ({ at: index * 10 * MINUTE, used }));
  const end = 300 * MINUTE;
  replay.polls(spansOf(looks, end), [denial(5, -4), denial(12, -18), denial(15, null), denial(200, -4)]);
  replay.pass(end);
  expect(replay.firings().map(({ rule, firedAt }) => [rule, firedAt / MINUTE])).toEqual([
    ["seats", 0],
    ["denials", 12],
    // This denial fires only at the next reading, which shows free seats.
    ["denials", 201],
  ]);
});

test("totals that change back, again, over a gap, and a day later", () => {
  const changes = (totals: readonly (number | null)[], minutes = 1) => {
    const looks = totals.map((total, index) => ({
      at: index * minutes * MINUTE,
      used: total === null ? null : 1,
      ...(total !== null && { total }),
    }));
    const end = totals.length * minutes * MINUTE;
    return fired(spansOf(looks, end), end).map(([, , from, until]) => [from, until]);
  };
  expect(changes([10, 8])).toEqual([[1, null]]);
  expect(changes([10, 8, 10])).toEqual([[1, 2]]);
  expect(changes([10, 8, 6])).toEqual([[1, null]]);
  expect(changes([10, null, 8])).toEqual([[2, null]]);
  expect(changes([10, 8, 10, 12])).toEqual([
    [1, 2],
    [3, null],
  ]);
  const day = 24 * 60;
  expect(changes([10, 8, 10], day + 5)).toEqual([
    [day + 5, day + 5 + day],
    [2 * (day + 5), 2 * (day + 5) + day],
  ]);
});

test("equals the engine's result for the same polls", () => {
  let count = 0;
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(1, 1, 8, 8, 10, 10, null), { minLength: 10, maxLength: 40 }),
      fc.record({ failures: fc.integer({ min: 1, max: 3 }), recoveries: fc.integer({ min: 1, max: 3 }) }),
      fc.constantFrom(0, 0, 1, 3),
      fc.record({ first: fc.nat(30), minutes: fc.nat(8) }),
      (polls, own, minutes, quiet) => {
        const overrides = [override({ feature: "*", settings: { ...own, forMs: minutes * MINUTE } })];
        const startAt = NOON + quiet.first * MINUTE;
        const durationMs = quiet.minutes * MINUTE;
        const rig = createRig(
          { overrides, maintenance: [{ servers: ["*"], startAt, durationMs, every: null }] },
          [EDA],
        );
        const looks = polls.map((used): Look => {
          if (used === null) rig.down();
          else rig.usage(used);
          return { at: rig.now, used };
        });
        const told = new Map<number, (string | number | null)[]>();
        for (const event of rig.events()) {
          if (event.rule !== "seats") continue;
          const worst = told.get(event.alert)?.includes("critical") ? "critical" : event.severity;
          const end = event.resolvedAt === null ? null : Date.parse(event.resolvedAt) / MINUTE;
          told.set(event.alert, ["seats", worst, Date.parse(event.firedAt) / MINUTE, end]);
        }
        count += told.size;
        const replayed = fired(spansOf(looks, rig.now + 1), rig.now + 1, {
          settingsOf: createSettings({ ...SETTINGS, overrides }),
          inMaintenance: (_, at) => at >= startAt && at < startAt + durationMs,
        });
        expect(replayed.filter(([rule]) => rule === "seats")).toEqual([...told.values()]);
        rig.close();
      },
    ),
    { numRuns: 60 },
  );
  expect(count).toBeGreaterThan(20);
});

describe("outages", () => {
  const span = (from: number, until: number, picture: ServerPicture): Span => {
    return { from: from * MINUTE, until: until * MINUTE, everyMs: MINUTE, picture };
  };
  const downs = (list: readonly [number, number | null][]) => {
    const spans = list.flatMap(([from, until], index): Span[] => [
      span(from, until ?? 100, { ...BLANK, status: "down" }),
      ...(until === null ? [] : [span(until, list[index + 1]?.[0] ?? 100, UP)]),
    ]);
    return fired(spans, 100 * MINUTE).map(([, , from, until]) => [from, until]);
  };

  test("short outages are ignored, and outages with short breaks are one", () => {
    expect(downs([[0, 2]])).toEqual([]);
    expect(downs([[0, 3]])).toEqual([[2, 4]]);
    const three: [number, number | null][] = [
      [0, 5],
      [6, 20],
      [40, null],
    ];
    expect(String(downs(three))).toBe("2,21,42,");
  });
});

test("denials within an hour of each other are one alert", () => {
  const HOUR = 60 * MINUTE;
  const replay = createReplay(CONDITIONS, BLANK);
  const times = [0, HOUR, 2 * HOUR, 3 * HOUR + 1];
  replay.polls(
    [],
    times.map((at) => ({ server: "eda", daemon: "snpslmd", feature: "compiler", count: 1, at, code: -18 })),
  );
  replay.pass(10 * HOUR);
  expect(replay.firings().map(({ firedAt, resolvedAt }) => [firedAt, resolvedAt])).toEqual([
    [0, 3 * HOUR],
    [3 * HOUR + 1, 4 * HOUR + 1],
  ]);
});
