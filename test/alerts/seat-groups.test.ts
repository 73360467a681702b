import { afterEach, describe, expect, test } from "bun:test";
import { anonymousAlert } from "../../src/domain/alerts.ts";
import type { FeatureReading } from "../../src/domain/reading.ts";
import { checkout, feature, NOON, reading } from "../domain/make.ts";
import { cleanUp } from "../store/place.ts";
import { createRig, MINUTE, target } from "./rig.ts";

afterEach(cleanUp);

const HOUR = 60 * MINUTE;

const member = (name: string, used: number, more: Partial<FeatureReading> = {}): FeatureReading => {
  const checkouts = used === 0 ? [] : [checkout({ user: `of ${name}`, host: null, count: used })];
  return feature({ name, total: 500, used, seatGroup: "0", checkouts, ...more });
};

describe("the seats of a group", () => {
  const see = (rig: ReturnType<typeof createRig>, ...features: FeatureReading[]) =>
    rig.poll({ reading: reading({ features }) });

  test("are one alert about the first member, with the names of all", () => {
    const rig = createRig();
    see(rig, member("mpp", 240), member("dyna", 100), member("iso", 0), member("ale", 0), member("em", 100));
    expect(rig.notes().map(({ alert }) => [alert.feature, alert.severity, alert.message])).toEqual([
      ["ale", "warning", "88 % of the seats of ale, dyna, em and 2 others are in use (440 of 500)"],
    ]);
    see(rig, member("mpp", 300), member("dyna", 100), member("iso", 0), member("ale", 0), member("em", 100));
    const [note] = rig.notes();
    expect(note?.alert).toMatchObject({
      severity: "critical",
      message: "All 500 seats of ale, dyna, em and 2 others are in use",
      holders: [
        { user: "of mpp", seats: 300 },
        { user: "of dyna", seats: 100 },
        { user: "of em", seats: 100 },
      ],
    });
    for (let poll = 0; poll < 2; poll++)
      see(rig, member("mpp", 10), member("dyna", 100), member("iso", 0), member("ale", 0), member("em", 100));
    expect(rig.firing()).toEqual([]);
    expect(rig.notes().map(({ kind }) => kind)).toEqual(["resolved"]);
  });

  test("are not judged while a member is unknown, and share a queue", () => {
    const rig = createRig();
    see(rig, member("dyna", 460), member("mpp", 0));
    expect(rig.firing()).toEqual(["seats"]);
    see(rig, member("dyna", 10), member("mpp", 0, { consistency: "short" }));
    expect(rig.firing()).toEqual(["seats"]);
    const queue = [{ ...checkout({ user: "max", count: 7 }), count: 7 }];
    see(rig, member("dyna", 10), member("mpp", 0, { queue }));
    const [alert] = rig.engine.firing();
    expect(alert).toMatchObject({
      feature: "dyna",
      severity: "critical",
      message: "2 % of the seats of dyna and mpp are in use (10 of 500); requests for 7 seats wait",
    });
  });

  test("of two groups and a feature are three alerts", () => {
    const rig = createRig();
    see(
      rig,
      member("a", 500),
      member("b", 500, { seatGroup: "1" }),
      feature({ name: "c", used: 10, checkouts: [] }),
    );
    expect(rig.engine.firing().map(({ message }) => message)).toEqual([
      "All 500 seats of a are in use",
      "All 500 seats of b are in use",
      "All 10 seats of c are in use",
    ]);
  });
});

test("a package has one alert for its components, and one per person", () => {
  const rig = createRig({ settings: { heldHours: 1 } });
  const inPackage = (name: string, ...users: string[]) =>
    feature({
      name,
      total: 2,
      used: users.length,
      seatGroup: "package suite",
      checkouts: users.map((user) => checkout({ user, host: null, startedAt: NOON - 2 * HOUR })),
    });
  const features = [
    inPackage("drafting", "ann"),
    inPackage("modelling", "bob"),
    inPackage("suite", "ann", "bob"),
  ];
  rig.poll({ reading: reading({ features }) });
  const alerts = rig.engine.firing().map(({ rule, feature: name, message }) => [rule, name, message]);
  expect(alerts).toEqual([
    ["seats", "suite", "All 2 seats of suite are in use"],
    ["held_too_long", "suite", expect.stringContaining("ann")],
    ["held_too_long", "suite", expect.stringContaining("bob")],
  ]);
  expect(rig.notes()[0]?.alert.holders).toEqual([
    expect.objectContaining({ user: "ann", seats: 1 }),
    expect.objectContaining({ user: "bob", seats: 1 }),
  ]);
});

describe("tokens", () => {
  const tokens = (used: number, more: Partial<FeatureReading> = {}) =>
    feature({ name: "HyperWorks", total: 1000, used, unit: "tokens", checkouts: [], ...more });

  test("are called tokens in every message", () => {
    const rig = createRig({ settings: { heldHours: 1 } });
    const rows = [checkout({ user: "ann", host: "ws1", count: 1000, startedAt: NOON - 2 * HOUR })];
    rig.poll({ reading: reading({ features: [tokens(1000, { checkouts: rows })] }) });
    rig.poll({ reading: reading({ features: [tokens(1000, { checkouts: rows, total: 1100 })] }) });
    const messages = Object.fromEntries(rig.engine.firing().map(({ rule, message }) => [rule, message]));
    expect(messages).toMatchObject({
      seats: "90.91 % of the tokens of HyperWorks are in use (1000 of 1100)",
      held_too_long: expect.stringMatching(/^Tokens of HyperWorks have been held by ann on ws1 for 2 h/),
      totals_changed: "HyperWorks has 1100 tokens now; it had 1000",
    });
    expect(rig.notes().find(({ alert }) => alert.rule === "seats")?.alert).toMatchObject({
      unit: "tokens",
      holders: [{ user: "ann", seats: 1000 }],
    });
    rig.poll({ reading: reading({ features: [tokens(0, { total: 1100 })] }) });
    const over = rig.notes().find(({ kind, alert }) => kind === "resolved" && alert.rule === "held_too_long");
    expect(over?.alert.message).toStartWith("tokens were held too long for");
    for (let poll = 0; poll < 2; poll++) rig.poll({ reading: reading({ features: [] }) });
    const gone = rig.engine.firing().find(({ rule }) => rule === "totals_changed");
    expect(gone?.message).toBe("HyperWorks is gone; it had 1100 tokens");
  });

  test("are called tokens in anonymized messages", () => {
    const rig = createRig({ settings: { heldHours: 1 }, targets: [target("hidden", { anonymize: true })] });
    const rows = [checkout({ user: "ann", startedAt: NOON - 2 * HOUR })];
    rig.poll({ reading: reading({ features: [tokens(1, { checkouts: rows })] }) });
    const [note] = rig.notes();
    expect(note?.alert.message).toBe("Tokens of HyperWorks have been held for 2 h, longer than 1 h");
    expect(note && anonymousAlert(note.alert).message).toBe(note?.alert.message as string);
  });
});

test("an unknown holder is called unknown, not null", () => {
  const rig = createRig({ settings: { heldHours: 1 } });
  const held = { startedAt: NOON - 2 * HOUR, handle: null };
  const rows = [
    checkout({ ...held, user: null, host: "ws7" }),
    checkout({ ...held, user: "null", host: "ws7" }),
    checkout({ ...held, user: null, host: null }),
  ];
  rig.poll({ reading: reading({ features: [feature({ total: 3, used: 3, checkouts: rows })] }) });
  const told = rig.engine.firing().filter(({ rule }) => rule === "held_too_long");
  expect(told.map(({ message }) => / by (.*) for /.exec(message)?.[1]).sort()).toEqual([
    "an unknown user",
    "an unknown user on ws7",
    "null on ws7",
  ]);
  const seats = rig.notes().find(({ alert }) => alert.rule === "seats");
  expect(seats?.alert.holders.map(({ user, host }) => [user, host])).toEqual([
    [null, "ws7"],
    ["null", "ws7"],
    [null, null],
  ]);
});
