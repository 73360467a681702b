import { afterEach, describe, expect, test } from "bun:test";
import type { MaintenanceWindow } from "../../src/config/config.ts";
import { alertRecord, anonymousAlert } from "../../src/domain/alerts.ts";
import { type FeatureReading, PERMANENT } from "../../src/domain/reading.ts";
import { checkout, daemon, feature, member, NOON, pool, reading, server } from "../domain/make.ts";
import { cleanUp } from "../store/place.ts";
import { createRig, MINUTE, override, type Rig, TARGET, target } from "./rig.ts";

afterEach(cleanUp);

const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const well = (rig: Rig) => rig.usage(1);
const withFeatures = (...features: FeatureReading[]) => ({ reading: reading({ features }) });
/** A feature that nobody holds. */
const idle = (change: Partial<FeatureReading>) => feature({ used: 0, checkouts: [], ...change });
const seatsNotes = (rig: Rig) => rig.notes().filter(({ alert }) => alert.rule === "seats");
const TEN = new Array<number>(20).fill(10);
const DENIED = { server: "eda", daemon: "snpslmd", feature: "compiler", count: 1, code: null };

describe("polls that fail", () => {
  test("a server that is down fires at the third poll and ends at the second good one", () => {
    const rig = createRig();
    well(rig);
    rig.down();
    rig.down();
    expect(rig.said()).toEqual([]);
    rig.down();
    const [fired] = rig.events();
    const what = { rule: "server_down", change: "fired", severity: "critical" };
    expect(fired).toMatchObject({ ...what, server: "eda", state: "firing" });
    expect(fired?.message).toContain("Nobody answers at 27000@lic1");
    well(rig);
    rig.down();
    well(rig);
    expect(rig.firing()).toEqual(["server_down"]);
    well(rig);
    expect(rig.said()).toEqual(["server_down resolved critical"]);
    const stored = rig.alerts.get(fired?.alert ?? 0);
    expect(stored).toMatchObject({ startedAt: NOON + 2 * MINUTE, resolvedAt: rig.now });
    expect(stored?.firedAt).toBe(NOON + 4 * MINUTE);
  });

  test("begins with the outage that it is of", () => {
    const rig = createRig();
    rig.statusSince = { down: NOON - DAY, degraded: NOON - HOUR };
    for (let poll = 0; poll < 3; poll++) rig.down();
    expect(rig.alerts.get(rig.events()[0]?.alert ?? 0)?.startedAt).toBe(NOON - DAY);
  });

  test("a server of which nothing is known is stale, not down", () => {
    const rig = createRig();
    well(rig);
    const error = {
      code: "LICENSE_QUERY_FAILED",
      message: "The tool does not start",
      details: null,
    } as const;
    for (let poll = 0; poll < 3; poll++) rig.poll({ reading: null, error });
    expect(rig.said()).toEqual(["stale fired warning"]);
    rig.down();
    well(rig);
    well(rig);
    expect(rig.said()).toEqual(["stale resolved warning"]);
  });

  test("polls that do not come at all are noticed by the clock; after a sleep of the host they have a cycle", () => {
    const rig = createRig();
    rig.poll();
    rig.pass(3);
    expect(rig.said()).toEqual([]);
    rig.now += 20 * MINUTE;
    rig.pass(4);
    expect(rig.said()).toEqual([]);
    rig.pass(1);
    expect(rig.said()).toEqual(["stale fired warning"]);
    rig.pass(60);
    expect(rig.said()).toEqual([]);
  });

  test("members and daemons that are down", () => {
    const rig = createRig({ settings: { failures: 2 } });
    const members = [member(), member({ host: "lic2" }), member({ host: "lic3", status: "down" })];
    const daemons = [daemon(), daemon({ name: "mgcld", status: "down" })];
    for (let poll = 0; poll < 2; poll++) rig.poll({ reading: reading({ members, daemons }) });
    const told = rig.events();
    expect(told.map(({ rule, daemon, message }) => [rule, daemon, message])).toEqual([
      ["server_degraded", null, "eda is degraded: lic3, mgcld down"],
      ["daemon_down", "mgcld", "The daemon mgcld of eda is down"],
    ]);
    // Gone from a whole reading: there is nothing left to be down.
    rig.poll();
    expect(rig.said()).toEqual(["daemon_down resolved critical"]);
  });
});

describe("seats", () => {
  test("fires at the poll that sees it, rises at once, falls slowly", () => {
    const rig = createRig();
    rig.usage(8);
    expect(rig.events()).toMatchObject([
      { rule: "seats", change: "fired", severity: "warning", value: 80, threshold: 80 },
    ]);
    rig.usage(10);
    expect(rig.events()).toMatchObject([
      { rule: "seats", change: "raised", severity: "critical", value: 100, threshold: 95, peakValue: 100 },
    ]);
    rig.usage(9);
    expect(rig.said()).toEqual([]);
    // What it says is of now, also without an event.
    expect(rig.engine.firing()).toMatchObject([{ severity: "critical", value: 90, peakValue: 100 }]);
    rig.usage(9);
    expect(rig.said()).toEqual(["seats lowered warning"]);
    rig.usage(1);
    rig.usage(1);
    expect(rig.said()).toEqual(["seats resolved warning"]);
    expect(rig.store.state.sqlite.query("SELECT peak_value AS peak FROM alerts").all()).toEqual([
      { peak: 100 },
    ]);
  });

  test("must last for `for`, twice as long to end, and begins again after a gap", () => {
    const settings = { forMs: 3 * MINUTE };
    const rig = createRig({ overrides: [override({ feature: "comp*", settings })] });
    rig.usage(9);
    rig.usage(9);
    rig.usage(9);
    expect(rig.said()).toEqual([]);
    rig.now += 10 * MINUTE;
    rig.usage(9);
    rig.usage(9);
    rig.usage(9);
    expect(rig.said()).toEqual([]);
    rig.usage(9);
    const [fired] = rig.events();
    expect(fired).toMatchObject({ rule: "seats", change: "fired" });
    // Three minutes after it began.
    expect(Date.parse(fired?.firedAt ?? "") - Date.parse(fired?.startedAt ?? "")).toBe(3 * MINUTE);
    for (let poll = 0; poll < 6; poll++) rig.usage(1);
    expect(rig.said()).toEqual([]);
    rig.usage(1);
    const [resolved] = rig.events();
    expect(resolved).toMatchObject({ change: "resolved", peakValue: 90, durationSeconds: 10 * 60 });
  });

  test("fires when `for` is over, and not at the poll behind", () => {
    const rig = createRig({ settings: { forMs: 90_000 } }, [server({ intervalMs: 10 * MINUTE })]);
    rig.usage(9);
    rig.pass(1);
    expect(rig.said()).toEqual([]);
    rig.pass(1);
    expect(rig.said()).toEqual(["seats fired warning"]);
    // Time that goes on is no look: one good poll alone ends nothing.
    rig.usage(1);
    rig.pass(5);
    expect(rig.said()).toEqual([]);
    rig.usage(1);
    expect(rig.said()).toEqual(["seats resolved warning"]);
  });

  test("numbers that are stale, failed or partial neither fire nor resolve", () => {
    const rig = createRig({ settings: { recoveries: 1 } });
    rig.partial(10);
    expect(rig.said()).toEqual([]);
    rig.usage(10);
    expect(rig.said()).toEqual(["seats fired critical"]);
    rig.partial(0);
    rig.down();
    rig.age();
    rig.poll(withFeatures());
    expect(rig.said()).toEqual([]);
    expect(rig.firing()).toEqual(["seats"]);
    // The second reading without it: it is gone.
    rig.poll(withFeatures());
    expect(rig.said().sort()).toEqual(["seats resolved critical", "totals_changed fired warning"]);
  });

  test("features without a limit or without seats are fine", () => {
    const rig = createRig();
    const unlimited = feature({ unlimited: true, total: null, used: 900 });
    rig.poll(withFeatures(unlimited, idle({ name: "none", total: 0 })));
    expect(rig.said()).toEqual([]);
  });

  test("a queue is critical, and is said", () => {
    const rig = createRig();
    rig.poll(withFeatures(feature({ queue: [checkout({ user: "ben", count: 2 })] })));
    expect(rig.events()).toMatchObject([{ rule: "seats", severity: "critical" }]);
    expect(rig.engine.firing()[0]?.message).toEndWith("; requests for 2 seats wait");
  });

  test("denials for want of seats belong to it, others do not", () => {
    const rig = createRig({ settings: { criticalNeedsDemand: true, recoveries: 1 } });
    rig.usage(10);
    expect(rig.said()).toEqual(["seats fired warning"]);
    rig.engine.denied([{ ...DENIED, count: 3, code: -4, at: rig.now }]);
    rig.engine.denied([{ ...DENIED, count: 1, at: rig.now }]);
    expect(rig.said()).toEqual([]);
    rig.usage(10);
    expect(rig.events()).toMatchObject([
      { change: "raised", severity: "critical", message: expect.stringContaining("; 4 requests denied") },
    ]);
    // A feature that the server does not have, no word of which feature, and a feature that has seats.
    rig.engine.denied([{ ...DENIED, code: -18, at: rig.now }]);
    rig.engine.denied([{ ...DENIED, feature: null, at: rig.now }]);
    rig.engine.denied([{ ...DENIED, feature: "other", code: -4, at: rig.now }]);
    expect(rig.said()).toEqual(["denials fired warning", "denials fired warning"]);
    rig.usage(10);
    expect(rig.said()).toEqual(["denials fired warning"]);
    // After an hour without more it is a warning again, and says still what was.
    for (let minute = 0; minute < 59; minute++) rig.usage(10);
    expect(rig.events()).toMatchObject([
      { change: "lowered", severity: "warning", message: expect.stringContaining("; 4 requests denied") },
    ]);
    rig.usage(1);
    rig.usage(10);
    expect(rig.said()).toEqual(["seats resolved warning", "seats fired warning"]);
    expect(rig.engine.firing().find(({ rule }) => rule === "seats")?.message).toBe(
      "All 10 seats of compiler are in use",
    );
  });
});

describe("overrides", () => {
  test("the last one that fits counts; one of features leaves the server alone", () => {
    const rig = createRig({
      settings: { failures: 1 },
      overrides: [
        override({ server: "e*", settings: { usageWarning: 10, usageCritical: 50 } }),
        override({ feature: "sim?", enabled: false }),
      ],
    });
    rig.usage(2);
    expect(rig.said()).toEqual(["seats fired warning"]);
    rig.usage(10, "sim1");
    expect(rig.said()).toEqual([]);
    rig.down();
    expect(rig.said()).toContain("server_down fired critical");
  });

  test("switching off ends what fires, and so does removing the server", () => {
    const rig = createRig();
    rig.usage(9);
    rig.said();
    rig.configure({ overrides: [override({ daemon: "snps*", enabled: false })] });
    expect(rig.said()).toEqual(["seats resolved warning"]);
    rig.configure({ overrides: [] });
    rig.usage(9);
    expect(rig.said()).toEqual(["seats fired warning"]);
    rig.setServers([server({ enabled: false })]);
    expect(rig.said()).toEqual(["seats resolved warning"]);
  });
});

describe("expiry", () => {
  const until = (expiresOn: string) => {
    const expiresAt = Date.parse(`${expiresOn}T23:59:59.999Z`);
    return withFeatures(idle({ pools: [pool({ expiry: { expiresOn, expiresAt, permanent: false } })] }));
  };

  test("is reported once per limit, even while the server does not answer, and ends with a new license", () => {
    const rig = createRig();
    rig.poll(until("2026-04-10"));
    expect(rig.said()).toEqual([]);
    for (let day = 0; day < 40; day++) {
      rig.now += DAY;
      rig.pass(1);
    }
    const changes = rig.events().filter(({ rule }) => rule === "expiry");
    expect(
      changes.map(({ value, change, severity, threshold }) => [value, `${change} ${severity} ${threshold}`]),
    ).toEqual([
      [30, "fired warning 30"],
      [14, "raised warning 14"],
      [7, "raised warning 7"],
      [1, "raised warning 1"],
      [-1, "raised critical 0"],
    ]);
    rig.poll(until("2027-04-10"));
    expect(rig.said()).toContain("expiry resolved critical");
  });

  test.each(["2090-01-01", "9999-12-31"])("%s is how a vendor writes permanent", (date) => {
    const rig = createRig({ settings: { expiryDays: [3650] } });
    rig.poll(until(date));
    rig.poll(withFeatures(feature({ pools: [pool({ expiry: PERMANENT })] })));
    expect(rig.said()).toEqual([]);
  });
});

describe("held too long", () => {
  const held = (...users: [string, number][]) => {
    const checkouts = users.map(([user, hours]) => checkout({ user, startedAt: NOON - hours * HOUR }));
    return withFeatures(feature({ used: users.length, checkouts }));
  };

  test("each holder is reported once, until the seat is returned", () => {
    const rig = createRig({ settings: { heldHours: 24 } });
    rig.poll(held(["ann", 30], ["ben", 2]));
    const [told] = rig.events();
    expect(told).toMatchObject({ rule: "held_too_long", feature: "compiler", value: 30, threshold: 24 });
    expect(told?.message).toContain("ann on ws1");
    rig.poll(held(["ann", 30], ["ben", 2]));
    expect(rig.said()).toEqual([]);
    rig.poll(held(["ben", 25], ["cy", 26]));
    const [fired, resolved] = ["held_too_long fired warning", "held_too_long resolved warning"];
    expect(rig.said().sort()).toEqual([fired, fired, resolved]);
  });

  test("the longest is reported first, regardless of the tool's order", () => {
    const rig = createRig({ settings: { heldHours: 24 } });
    rig.poll(held(["ann", 26], ["ben", 30], ["cy", 28]));
    expect(rig.events().map(({ value }) => value)).toEqual([30, 28, 26]);
  });

  test("borrowed seats are out on purpose; by default nothing is too long", () => {
    const rig = createRig();
    rig.poll(held(["ann", 3000]));
    rig.configure({ settings: { heldHours: 1 } });
    rig.poll(withFeatures(feature({ checkouts: [checkout({ borrowed: true })] })));
    expect(rig.said()).toEqual([]);
  });
});

describe("what was usual", () => {
  const totals = (...list: [string, number][]) =>
    withFeatures(...list.map(([name, total]) => idle({ name, total })));
  const lines = (rig: Rig, count: number) => rig.poll({ reading: reading({ unparsedLines: count }) });

  test("another total, a new feature; back to what it was ends it, and so does a day", () => {
    const rig = createRig();
    rig.poll(totals(["a", 10], ["b", 5]));
    rig.poll(totals(["a", 8], ["b", 5], ["c", 1]));
    expect(
      rig.events().map(({ rule, message, value, threshold }) => [rule, message, value, threshold]),
    ).toEqual([
      ["totals_changed", "a has 8 seats now; it had 10", 8, 10],
      ["totals_changed", "c is new, with 1 seat", 1, null],
    ]);
    rig.poll(totals(["a", 10], ["b", 5], ["c", 1]));
    expect(rig.said()).toEqual(["totals_changed resolved warning"]);
    rig.pass(24 * 60);
    expect(rig.said()).toContain("totals_changed resolved warning");
  });

  test("a change while the daemon was not there is a change too, and one in maintenance is none", () => {
    const rig = createRig();
    rig.poll(totals(["a", 10]));
    rig.restart();
    rig.poll(totals(["a", 12]));
    expect(rig.said()).toEqual(["totals_changed fired warning"]);
    rig.configure({ maintenance: [{ servers: ["*"], startAt: rig.now, durationMs: HOUR, every: null }] });
    rig.poll(totals(["a", 20]));
    rig.configure({ maintenance: [] });
    rig.poll(totals(["a", 20]));
    expect(rig.said()).toEqual([]);
  });

  test("unknown lines that grow, until they are usual", () => {
    const rig = createRig();
    lines(rig, 4);
    for (let poll = 0; poll < 3; poll++) lines(rig, 9);
    expect(rig.events()).toMatchObject([{ rule: "unparsed", severity: "info", value: 9, threshold: 4 }]);
    for (let minute = 0; minute < 24 * 60; minute++) lines(rig, 9);
    rig.pass(1);
    expect(rig.said()).toEqual(["unparsed resolved info"]);
    for (let poll = 0; poll < 5; poll++) lines(rig, 9);
    expect(rig.said()).toEqual([]);
  });

  test("a failed poll does not change the usual number of unrecognized lines", () => {
    const rig = createRig({ settings: { failures: 1 } });
    const said = () => rig.said().filter((what) => what.startsWith("unparsed"));
    lines(rig, 4);
    lines(rig, 9);
    expect(said()).toEqual(["unparsed fired info"]);
    rig.now += 24 * HOUR;
    rig.down();
    rig.pass(1);
    expect(said()).toEqual([]);
    lines(rig, 9);
    rig.pass(1);
    expect(said()).toEqual(["unparsed resolved info"]);
    for (let poll = 0; poll < 3; poll++) lines(rig, 9);
    expect(said()).toEqual([]);
  });
});

describe("denials for want of seats, just before a reading", () => {
  const cases: [string, number, readonly number[], readonly string[]][] = [
    ["that shows the shortage: its alert tells of them", 15, [10, ...TEN], ["seats fired critical"]],
    ["that shows free seats", 15, [5], ["denials fired warning"]],
    ["of a shortage that ends too soon for an alert", 15, [10, 10, 5], ["denials fired warning"]],
  ];
  test.each(cases)("%s", (_, minutes, looks, said) => {
    const rig = createRig({ settings: { forMs: minutes * MINUTE } });
    rig.usage(5);
    rig.engine.denied([{ ...DENIED, count: 2, code: -4, at: rig.now }]);
    expect(rig.said()).toEqual([]);
    rig.restart();
    for (const used of looks) rig.usage(used);
    expect(rig.said()).toEqual([...said]);
    if (said[0] === "seats fired critical")
      expect(rig.engine.firing()[0]?.message).toEndWith("; 2 requests denied since it began");
  });

  test("are reported even without a reading", () => {
    const rig = createRig();
    rig.usage(5);
    rig.engine.denied([{ ...DENIED, code: -4, at: rig.now }]);
    rig.pass(4);
    expect(rig.said()).toContain("denials fired warning");
  });
});

test("denials fire once and are over after an hour without more", () => {
  const rig = createRig();
  rig.engine.denied([{ ...DENIED, code: -18, reason: "Not in the license.", at: rig.now }]);
  const told = rig.engine.firing().map((alert) => alertRecord(alert, rig.now));
  const messages = [...told, ...told.map(anonymousAlert)].map(({ message }) => message);
  expect(messages).toEqual([
    "Requests for compiler are denied: Not in the license.",
    "Requests for compiler are denied",
  ]);
  rig.pass(30);
  rig.engine.denied([{ ...DENIED, count: 2, at: rig.now }]);
  const said = () => rig.said().filter((text) => text.startsWith("denials"));
  rig.pass(59);
  expect(said()).toEqual(["denials fired warning"]);
  expect(rig.engine.firing()[0]).toMatchObject({ rule: "denials", value: 3 });
  rig.pass(1);
  expect(said()).toEqual(["denials resolved warning"]);
});

test("a disk that fills", () => {
  const rig = createRig({}, []);
  rig.disk = 91;
  rig.pass(3);
  expect(rig.said()).toEqual(["disk fired warning"]);
  rig.disk = 96;
  rig.pass(3);
  expect(rig.events()).toMatchObject([
    { change: "raised", severity: "critical", value: 96, threshold: 95, server: null },
  ]);
  rig.disk = null;
  rig.pass(10);
  rig.disk = 50;
  rig.pass(2);
  expect(rig.said()).toEqual(["disk resolved critical"]);
});

test("a clock that is doubted, until it is not", () => {
  const rig = createRig({}, []);
  rig.pass(3);
  rig.clockDoubtMs = 500.5 * 24 * HOUR;
  rig.pass(1);
  const fired = {
    rule: "clock",
    change: "fired",
    severity: "warning",
    value: 500,
    threshold: 1,
    server: null,
  };
  const message =
    "The clock is 500 days ahead of the last stored time: retention catches up by one day per hour";
  expect(rig.events()).toMatchObject([{ ...fired, message }]);
  rig.pass(3);
  rig.clockDoubtMs = null;
  rig.pass(1);
  expect(rig.said()).toEqual(["clock resolved warning"]);
});

test("waiting and dropped facts for the hub of a fleet", () => {
  const rig = createRig({}, []);
  rig.outbox = { percent: 79, dropped: false };
  rig.pass(3);
  rig.outbox = { percent: 80, dropped: false };
  rig.pass(3);
  rig.outbox = { percent: 0, dropped: true };
  rig.pass(3);
  expect(rig.events()).toMatchObject([
    { rule: "outbox", change: "fired", severity: "warning", value: 80, threshold: 80, server: null },
    { rule: "outbox", change: "raised", severity: "critical", value: null },
  ]);
  rig.outbox = { percent: 1, dropped: false };
  rig.pass(3);
  expect(rig.said().at(-1)).toBe("outbox resolved critical");
});

describe("after a clock that was 500 days ahead", () => {
  const AHEAD = 500 * 24 * HOUR;

  test("an alert about denials does not last until then", () => {
    const rig = createRig();
    rig.now += AHEAD;
    rig.engine.denied([{ ...DENIED, code: -18, at: rig.now }]);
    expect(rig.said()).toEqual(["denials fired warning"]);
    rig.now -= AHEAD;
    rig.pass(1);
    expect(rig.said()).toEqual(["denials resolved warning"]);
  });

  test("reminders come again", () => {
    const rig = createRig({ settings: { failures: 1 } });
    rig.now += AHEAD;
    rig.down();
    expect(rig.notes().map(({ kind }) => kind)).toEqual(["fired"]);
    rig.now -= AHEAD;
    rig.pass(1);
    expect(rig.notes().map(({ kind }) => kind)).toEqual(["reminder"]);
    rig.pass(60);
    expect(rig.notes()).toEqual([]);
  });
});

describe("maintenance", () => {
  const now: MaintenanceWindow = { servers: ["eda"], startAt: NOON, durationMs: HOUR, every: null };

  test("nothing fires in it, lasting conditions fire after it, and ended ones resolve", () => {
    const rig = createRig({ settings: { recoveries: 1, failures: 2 } });
    rig.usage(9);
    rig.said();
    rig.configure({ maintenance: [now] });
    rig.usage(10);
    rig.down();
    rig.down();
    rig.down();
    expect(rig.said()).toEqual([]);
    rig.usage(1);
    expect(rig.said()).toEqual(["seats resolved warning"]);
    rig.now += HOUR;
    rig.down();
    rig.down();
    expect(rig.said()).toEqual(["server_down fired critical"]);
  });
});

describe("a restart", () => {
  test("fires nothing twice and forgets nothing", () => {
    const rig = createRig();
    rig.usage(9);
    rig.down();
    rig.down();
    expect(rig.said()).toEqual(["seats fired warning"]);
    rig.restart();
    expect(rig.firing()).toEqual(["seats"]);
    rig.down();
    expect(rig.said()).toEqual(["server_down fired critical"]);
    rig.restart();
    rig.usage(9);
    rig.restart();
    rig.usage(1);
    expect(rig.said()).toEqual(["server_down resolved critical"]);
    rig.restart();
    rig.usage(1);
    expect(rig.said()).toEqual(["seats resolved warning"]);
    rig.restart();
    rig.pass(2);
    expect(rig.said()).toEqual([]);
    expect(rig.store.state.sqlite.query("SELECT id FROM alerts").all()).toHaveLength(2);
  });

  test("sends changes that cannot be stored, and stores them later", async () => {
    const rig = createRig();
    rig.failing = true;
    rig.usage(9);
    await Bun.sleep(0);
    expect(rig.said()).toEqual(["seats fired warning"]);
    expect(rig.notes()).toHaveLength(1);
    // The second poll comes while the first is still being stored, and has nothing to store itself.
    for (let poll = 0; poll < 2; poll++) rig.usage(9);
    await Bun.sleep(0);
    expect(rig.alerts.firing()).toEqual([]);
    rig.failing = false;
    rig.pass(1);
    await Bun.sleep(0);
    expect(rig.alerts.firing()).toMatchObject([{ rule: "seats" }]);
    expect(rig.log.lines.map(({ message }) => message)).toEqual([
      "Alert fired",
      "Cannot store alerts; their messages are sent anyway",
      "Alerts are stored again",
    ]);
    rig.restart();
    rig.usage(9);
    expect(rig.said()).toEqual([]);
  });
});

describe("people", () => {
  test("acknowledging ends the reminders, not the news", async () => {
    const rig = createRig();
    rig.usage(9);
    const [alert] = rig.engine.firing();
    const handled = await rig.engine.acknowledge(alert?.id ?? 0, "ann's key", "on it");
    const alertNow = { acknowledgedBy: "ann's key", comment: "on it" };
    expect(handled).toMatchObject({ outcome: "done", alert: alertNow });
    expect(rig.events().at(-1)).toMatchObject({ change: "acknowledged", acknowledged: true });
    rig.notes();
    rig.now += 3 * DAY;
    rig.pass(1);
    expect(seatsNotes(rig)).toEqual([]);
    rig.usage(10);
    expect(rig.notes()).toContainEqual(expect.objectContaining({ kind: "raised" }));
    expect(await rig.engine.acknowledge(999, "x", null)).toEqual({ outcome: "unknown" });
    rig.usage(1);
    rig.usage(1);
    expect(await rig.engine.acknowledge(alert?.id ?? 0, "x", null)).toEqual({ outcome: "resolved" });
    expect(await rig.engine.silence(alert?.id ?? 0, rig.now + 1, null)).toEqual({ outcome: "resolved" });
  });

  test("what the hub of a fleet notifies of is not notified here, and what comes after its end is", () => {
    const rig = createRig();
    const said = () => seatsNotes(rig).map(({ kind, alert }) => `${kind} ${alert.severity}`);
    rig.hubNotifiesUntil = Number.MAX_SAFE_INTEGER;
    rig.usage(9);
    rig.pass(3);
    expect(rig.firing()).toEqual(["seats"]);
    expect(said()).toEqual([]);
    // Nothing is heard of the hub since: it knows of this alert, and of none that comes now.
    rig.hubNotifiesUntil = rig.now;
    rig.usage(9);
    rig.pass(1);
    expect(said()).toEqual([]);
    rig.usage(10);
    expect(said()).toEqual(["fired critical"]);
    rig.usage(1);
    rig.usage(1);
    expect(said()).toEqual(["resolved critical"]);
  });

  test("a silence holds for the same trouble when it comes again, over a restart, until its end", async () => {
    const rig = createRig({ settings: { recoveries: 1 } });
    rig.usage(9);
    const [alert] = rig.engine.firing();
    await rig.engine.silence(alert?.id ?? 0, rig.now + HOUR, "known");
    expect(rig.notes().map(({ kind }) => kind)).toEqual(["fired"]);
    rig.usage(1);
    expect(rig.notes().map(({ kind }) => kind)).toEqual(["resolved"]);
    rig.restart();
    rig.usage(9);
    expect(rig.engine.firing()).toMatchObject([{ silencedUntil: NOON + MINUTE + HOUR }]);
    expect(rig.notes()).toEqual([]);
    rig.pass(55);
    expect(seatsNotes(rig)).toEqual([]);
    rig.pass(5);
    expect(seatsNotes(rig).map(({ kind }) => kind)).toEqual(["fired"]);
  });
});

describe("targets", () => {
  test("by severity and rule; a rise brings in those who did not want the lesser; the end goes to those that know of the begin", () => {
    const rig = createRig({
      settings: { recoveries: 1 },
      targets: [
        target("all", { severity: "info" }),
        target("critical", { severity: "critical" }),
        target("denials", { severity: "info", rules: ["denials"] }),
      ],
    });
    const told = () => seatsNotes(rig).map(({ target, kind }) => `${target} ${kind}`);
    rig.usage(9);
    expect(told()).toEqual(["all fired"]);
    rig.usage(10);
    expect(told()).toEqual(["all raised", "critical fired"]);
    rig.usage(9);
    expect(told()).toEqual([]);
    rig.usage(1);
    expect(told()).toEqual(["all resolved", "critical resolved"]);
  });

  test("by globs of servers, features and rules, and by labels of the server", () => {
    const rig = createRig(
      {
        targets: [
          target("server", { servers: ["ed?", "x"] }),
          target("other", { servers: ["cae"] }),
          target("feature", { features: ["comp*"] }),
          target("rule", { rules: ["server_*"] }),
          target("before", { rules: ["seats_exhausted"] }),
          target("muc", { labels: { location: "muc", floor: "3" } }),
          target("ber", { labels: { location: "ber" } }),
        ],
        settings: { failures: 1 },
      },
      [server({ labels: { location: "muc", floor: "3" } })],
    );
    const told = () => rig.notes().map(({ target }) => target);
    rig.usage(9);
    expect(told()).toEqual(["server", "feature", "before", "muc"]);
    rig.down();
    // An alert about a server is about no feature.
    expect(told()).toEqual(["server", "rule", "muc"]);
    rig.disk = 99;
    rig.pass(1);
    expect(told()).toEqual([]);
  });

  test("a note names the server and those who hold most, then longest; not to a target without people", () => {
    const rig = createRig({ targets: [TARGET, target("quiet", { anonymize: true })] }, [
      server({ name: "EDA tools" }),
    ]);
    const hours = (user: string, held: number, count = 1) =>
      checkout({ user, count, startedAt: NOON - held * HOUR });
    const checkouts = [
      ...[hours("ann", 1), hours("ben", 5), hours("cy", 2, 3), hours("dan", 3), hours("ann", 2)],
    ];
    rig.poll(withFeatures(feature({ used: 9, checkouts })));
    const [named, quiet] = rig.notes();
    expect(named?.alert).toMatchObject({
      serverName: "EDA tools",
      holders: [
        { user: "cy", host: "ws1", seats: 3 },
        { user: "ann", host: "ws1", seats: 2, since: new Date(NOON - 2 * HOUR).toISOString() },
        { user: "ben", host: "ws1", seats: 1 },
      ],
    });
    expect(quiet?.alert).toMatchObject({ serverName: "EDA tools", holders: [] });
    // About the server, and over: nobody is named.
    rig.configure({ settings: { failures: 1 } });
    rig.down();
    for (let poll = 0; poll < 3; poll++) rig.usage(1);
    const others = rig.notes();
    expect(new Set(others.map(({ kind }) => kind))).toEqual(new Set(["fired", "resolved"]));
    expect(others.flatMap(({ alert }) => alert.holders)).toEqual([]);
  });

  test("a reminder describes the current state", () => {
    const rig = createRig({ settings: { reminderMs: HOUR } });
    rig.usage(9);
    rig.notes();
    for (let minute = 0; minute < 30; minute++) rig.usage(8);
    rig.pass(30);
    const message = "80 % of the seats of compiler are in use (8 of 10)";
    const reminders = seatsNotes(rig);
    expect(reminders).toMatchObject([{ kind: "reminder", alert: { value: 80, peakValue: 90, message } }]);
  });

  test("reminders, each day, not more often, until it ends; and none when they are off", () => {
    const rig = createRig();
    rig.usage(9);
    rig.notes();
    for (let hour = 0; hour < 72; hour++) {
      rig.pass(60);
      if (hour === 30) rig.restart();
    }
    expect(seatsNotes(rig).map(({ kind }) => kind)).toEqual(["reminder", "reminder", "reminder"]);
    rig.configure({ settings: { reminderMs: 0 } });
    rig.pass(60);
    rig.now += 30 * DAY;
    rig.pass(1);
    expect(seatsNotes(rig)).toEqual([]);
  });

  test("a new target is notified about firing alerts", () => {
    const rig = createRig();
    rig.usage(9);
    rig.notes();
    rig.configure({ targets: [TARGET, target("second")] });
    expect(rig.notes().map(({ target, kind }) => `${target} ${kind}`)).toEqual(["second fired"]);
  });
});

test("a picture that changes without a poll is no look", () => {
  const rig = createRig({ settings: { failures: 2 } });
  well(rig);
  rig.down();
  rig.age();
  rig.age();
  expect(rig.said()).toEqual([]);
});
