import { describe, expect, test } from "bun:test";
import type { Series, Shared, Step } from "../../../src/domain/history.ts";
import type { ServerPicture } from "../../../src/domain/picture.ts";
import { applyPoll } from "../../../src/domain/polls/apply-poll.ts";
import { groupLimit, poolOf, seatSets, sharedSets } from "../../../src/domain/polls/seat-groups.ts";
import type { FeatureReading } from "../../../src/domain/reading.ts";
import { sumOfSeats } from "../../../src/domain/stats/spans.ts";
import type { Unit } from "../../../src/domain/words.ts";
import { feature, NOON, outcome, reading, server } from "../make.ts";

/** Parses `name`, `name@seatGroup` or `name@seatGroup@unit`. The first letter of the name is the server. */
const featuresOf = (text: string) =>
  text.split(" ").flatMap((word) => {
    const [name = "", group, unit] = word.split("@");
    if (name === "") return [];
    const seatGroup = group === undefined ? {} : { seatGroup: group === "package" ? "package a" : group };
    return [{ name, server: name[0] ?? "", ...seatGroup, ...(unit !== undefined && { unit: unit as Unit }) }];
  });

test.each([
  ["nothing", "", "", ""],
  ["single features", "a b", "a, b", "a, b"],
  ["a group and a feature", "a1@0 b a2@0", "a1 a2, b", "a1 a2, b"],
  ["equal names of groups at two servers", "a@0 b@0", "a, b", "a, b"],
  ["tokens", "a1@0@tokens a2@0", "a1, a2", "a2"],
  ["credits", "a@1@credits", "a", ""],
  ["a package and its components", "a@package ab@package ac@package", "a", "a"],
  ["components without their package", "ab@package ac@package", "ab ac", "ab ac"],
  ["a group without a name", "a@ a@", "a a", "a a"],
])("sets of %s", (_, text, shared, seats) => {
  const features = featuresOf(text);
  const namesOf = (sets: (typeof features)[]) =>
    sets.map((set) => set.map(({ name }) => name).join(" ")).join(", ");
  expect(namesOf(sharedSets(features, (each) => each.server))).toBe(shared);
  expect(namesOf(seatSets(features, (each) => each.server))).toBe(seats);
});

/** Each member as `used/total`, and their sum. `?` is unknown, `∞` is unlimited. */
test.each<[string, string, string, Unit?]>([
  ["one feature", "9/4", "9/4"],
  ["members of a group", "400/500 40/500 0/500", "440/500"],
  ["members that report different sizes", "1/10 1/12", "2/12"],
  ["an unknown member", "400/500 ?/?", "400/500"],
  ["unknown members", "?/? ?/?", "?/?"],
  ["an unlimited member", "400/500 7/∞", "407/∞"],
  ["features with one pool of tokens", "30/100 30/100", "30/100", "tokens"],
])("a pool of %s", (_, members, sum, unit = "seats") => {
  const countOf = (text = "") => (Number.isNaN(Number(text)) ? null : Number(text));
  const features = members.split(" ").map((member) => {
    const [used, total] = member.split("/");
    return { total: countOf(total), used: countOf(used), unlimited: total === "∞", unit };
  });
  const { total, used, unlimited } = poolOf(features);
  expect(`${used ?? "?"}/${unlimited ? "∞" : (total ?? "?")}`).toBe(sum);
  if (unlimited) expect(total).toBeNull();
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
