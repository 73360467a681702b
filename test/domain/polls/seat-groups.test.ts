import { describe, expect, test } from "bun:test";
import type { Series, Shared, Step } from "../../../src/domain/history.ts";
import type { ServerPicture } from "../../../src/domain/picture.ts";
import { applyPoll } from "../../../src/domain/polls/apply-poll.ts";
import { groupLimit, poolOf, seatSets, sharedSets } from "../../../src/domain/polls/seat-groups.ts";
import type { FeatureReading } from "../../../src/domain/reading.ts";
import { sumOfSeats } from "../../../src/domain/stats/spans.ts";
import { feature, NOON, outcome, reading, server } from "../make.ts";

const named = (name: string, shared: Shared = {}) => ({ name, server: name[0] ?? "", ...shared });

test.each<[string, ReturnType<typeof named>[], string[][], string[][]]>([
  ["nothing", [], [], []],
  ["features of their own", [named("a"), named("b")], [["a"], ["b"]], [["a"], ["b"]]],
  [
    "a group among others",
    [named("a1", { seatGroup: "0" }), named("b"), named("a2", { seatGroup: "0" })],
    [["a1", "a2"], ["b"]],
    [["a1", "a2"], ["b"]],
  ],
  [
    "a name of two servers' groups",
    [named("a", { seatGroup: "0" }), named("b", { seatGroup: "0" })],
    [["a"], ["b"]],
    [["a"], ["b"]],
  ],
  [
    "tokens",
    [named("a1", { unit: "tokens", seatGroup: "0" }), named("a2", { seatGroup: "0" })],
    [["a1"], ["a2"]],
    [["a2"]],
  ],
  ["credits", [named("a", { unit: "credits" })], [["a"]], []],
  [
    "a package and its components",
    ["a", "ab", "ac"].map((name) => named(name, { seatGroup: "package a" })),
    [["a"]],
    [["a"]],
  ],
  [
    "components without their package",
    ["ab", "ac"].map((name) => named(name, { seatGroup: "package a" })),
    [["ab", "ac"]],
    [["ab", "ac"]],
  ],
  [
    "a group without a name",
    [named("a", { seatGroup: "" }), named("a", { seatGroup: "" })],
    [["a", "a"]],
    [["a", "a"]],
  ],
])("sets of %s", (_, features, shared, seats) => {
  const namesOf = (sets: (typeof features)[]) => sets.map((set) => set.map(({ name }) => name));
  expect(namesOf(sharedSets(features, (each) => each.server))).toEqual(shared);
  expect(namesOf(seatSets(features, (each) => each.server))).toEqual(seats);
});

type Counts = readonly [total: number | null, used: number | null, unlimited?: boolean];
test.each<[string, Counts[], "seats" | "tokens", Counts]>([
  ["one feature", [[4, 9]], "seats", [4, 9, false]],
  [
    "members of a group",
    [
      [500, 400],
      [500, 40],
      [500, 0],
    ],
    "seats",
    [500, 440, false],
  ],
  [
    "members that say another size",
    [
      [10, 1],
      [12, 1],
    ],
    "seats",
    [12, 2, false],
  ],
  [
    "a member that is not known",
    [
      [500, 400],
      [null, null],
    ],
    "seats",
    [500, 400, false],
  ],
  [
    "no member that is known",
    [
      [null, null],
      [null, null],
    ],
    "seats",
    [null, null, false],
  ],
  [
    "a member without a limit",
    [
      [500, 400],
      [null, 7, true],
    ],
    "seats",
    [null, 407, true],
  ],
  [
    "features that charge one pool of tokens",
    [
      [100, 30],
      [100, 30],
    ],
    "tokens",
    [100, 30, false],
  ],
])("a pool of %s", (_, members, unit, [total, used, unlimited = false]) => {
  const features = members.map(([total, used, unlimited = false]) => ({ total, used, unlimited, unit }));
  expect(poolOf(features)).toEqual({ total, used, unlimited });
});

describe("a poll", () => {
  const poll = (...features: FeatureReading[]) =>
    applyPoll(null, server(), outcome({ reading: reading({ features }) }), null).features;
  const member = (name: string, used: number, change: Partial<FeatureReading> = {}) =>
    feature({ name, total: 500, used, seatGroup: "0", checkouts: [], ...change });

  test("limits the free seats of a group's members, but not their utilization", () => {
    const [a, b, alone] = poll(member("a", 400), member("b", 40), feature({ name: "alone" }));
    expect([a?.available, b?.available, alone?.available]).toEqual([60, 60, 9]);
    expect([a?.utilization, b?.utilization]).toEqual([80, 8]);
    expect(poll(member("a", 400), member("b", 140)).map(({ available }) => available)).toEqual([-40, -40]);
    expect(poll(member("a", 400), member("b", 1, { total: 3 })).map(({ available }) => available)).toEqual([
      99, 2,
    ]);
  });

  test("limits components to the free seats of their package, unless they are in other packages too", () => {
    const found = poll(
      member("suite", 3, { total: 4, seatGroup: "package suite" }),
      member("idle", 0, { total: 4, seatGroup: "package suite" }),
      member("common", 0, { total: 14, seatGroup: "package suite" }),
    );
    expect(found.map(({ available }) => available)).toEqual([1, 1, 14]);
    expect(found.map((each) => groupLimit(each))).toEqual([0, 3, 0]);
    expect(poll(feature(), member("open", 1, { unlimited: true })).map((each) => groupLimit(each))).toEqual([
      0, 0,
    ]);
  });

  test("keeps the group of an idle package while the package exists", () => {
    const seatGroup = "package suite";
    const suite = feature({ name: "suite", seatGroup });
    const [idleSuite, idle] = [feature({ name: "suite" }), feature({ name: "idle" })];
    const next = (before: ServerPicture | null, features: FeatureReading[]) =>
      applyPoll(before, server(), outcome({ reading: reading({ features }) }), null);
    const groups = ({ features }: ServerPicture) =>
      features.map((each) => `${each.name} ${each.state} ${each.seatGroup ?? "none"}`);

    const seen = next(null, [suite, { ...idle, seatGroup }]);
    const later = next(seen, [idleSuite, idle]);
    expect(groups(later)).toEqual([`suite ok ${seatGroup}`, `idle ok ${seatGroup}`]);
    const once = next(later, [idle]);
    expect(groups(once)).toEqual([`idle ok ${seatGroup}`, `suite stale ${seatGroup}`]);
    expect(groups(next(next(once, [idle]), [idle]))).toEqual(["idle ok none"]);
    const pool = { ...idle, seatGroup: "pool" };
    expect(groups(next(next(null, [pool]), [idle]))).toEqual(["idle ok none"]);
  });

  test("keeps unit, group, assigned people and counters, also of a feature with an error", () => {
    const said = {
      unit: "tokens",
      seatGroup: "pool",
      assigned: [{ user: "ada", host: null, since: NOON }],
      totals: { denials: 3 },
    } as const;
    expect(poll(feature(said))[0]).toMatchObject(said);
    const error = { message: "no", major: null, minor: null, system: null, kind: "query" } as const;
    expect(poll(feature({ ...said, error }))[0]).toMatchObject({ state: "failed", ...said });
    const [plain] = poll(feature());
    expect(Object.keys(plain ?? {})).not.toContain("unit");
  });
});

test("a sum of series counts groups once, no tokens, and keeps gaps", () => {
  const step = (at: number, used: number | null, total: number | null = 500): Step => {
    return { at, used, total, reserved: null, queued: null, unlimited: false };
  };
  const series = (shared: Shared, ...steps: Step[]): Pick<Series, "steps" | "feature"> => {
    return { steps, feature: { server: "crash", daemon: "", feature: "f", ...shared } };
  };
  const group = { seatGroup: "0" };
  const { steps } = sumOfSeats(
    [
      series(group, step(0, 100), step(20, 300)),
      series(group, step(0, 40), step(10, null), step(30, 50)),
      series({}, step(0, 1, 10)),
      series({ unit: "tokens" }, step(0, 25_000, 1_000_003)),
    ],
    0,
    40,
  );
  expect(steps.map(({ at, used, total }) => [at, used, total])).toEqual([
    [0, 141, 510],
    [10, 101, 510],
    [20, 301, 510],
    [30, 351, 510],
  ]);
});
