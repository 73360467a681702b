import { afterEach, describe, expect, test } from "bun:test";
import { alertRecord, anonymousAlert } from "../../src/domain/alerts.ts";
import { type FeatureReading, PERMANENT } from "../../src/domain/reading.ts";
import { checkout, daemon, feature, member, NOON, pool, reading, server } from "../domain/make.ts";
import { cleanUp } from "../store/place.ts";
import { createRig, MINUTE, override, type Rig, TARGET, target } from "./rig.ts";

afterEach(cleanUp);

const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const withFeatures = (...features: FeatureReading[]) => ({ reading: reading({ features }) });
const idle = (change: Partial<FeatureReading>) => feature({ used: 0, checkouts: [], ...change });
const seatsNotes = (rig: Rig) => rig.notes().filter(({ alert }) => alert.rule === "seats");
const TEN = new Array<number>(20).fill(10);

describe("polls that fail", () => {
  test("a server that is down fires at the third poll and resolves at the second good poll", () => {
    const rig = createRig();
    rig.play("usage 1, down, down:");
    rig.down();
    const [fired] = rig.events();
    const what = { rule: "server_down", change: "fired", severity: "critical" };
    expect(fired).toMatchObject({ ...what, server: "eda", state: "firing" });
    expect(fired?.message).toContain("Nobody answers at 27000@lic1");
    rig.play("usage 1, down, usage 1:", "usage 1: server_down resolved critical");
    expect(rig.alerts.get(fired?.alert ?? 0)).toMatchObject({
      startedAt: NOON + 2 * MINUTE,
      firedAt: NOON + 4 * MINUTE,
      resolvedAt: rig.now,
    });
  });

  test("the alert begins with the outage", () => {
    const rig = createRig();
    rig.statusSince = { down: NOON - DAY, degraded: NOON - HOUR };
    rig.play("down, down, down: server_down fired critical");
    expect(rig.engine.firing()[0]?.startedAt).toBe(NOON - DAY);
  });

  test("a server of unknown status is stale, not down", () => {
    const rig = createRig();
    rig.usage(1);
    const error = {
      code: "LICENSE_QUERY_FAILED",
      message: "The tool does not start",
      details: null,
    } as const;
    for (let poll = 0; poll < 3; poll++) rig.poll({ reading: null, error });
    rig.play(": stale fired warning", "down, usage 1, usage 1: stale resolved warning");
  });

  test("missing polls are noticed by the clock, and get a cycle of time after a sleep of the host", () => {
    const rig = createRig();
    rig.poll();
    rig.play("pass 3:");
    rig.now += 20 * MINUTE;
    rig.play("pass 4:", "pass 1: stale fired warning", "pass 60:");
  });

  test("members and daemons that are down", () => {
    const rig = createRig({ settings: { failures: 2 } });
    const members = [member(), member({ host: "lic2" }), member({ host: "lic3", status: "down" })];
    const daemons = [daemon(), daemon({ name: "mgcld", status: "down" })];
    for (let poll = 0; poll < 2; poll++) rig.poll({ reading: reading({ members, daemons }) });
    expect(rig.events().map(({ rule, daemon, message }) => [rule, daemon, message])).toEqual([
      ["server_degraded", null, "eda is degraded: lic3, mgcld down"],
      ["daemon_down", "mgcld", "The daemon mgcld of eda is down"],
    ]);
    // The next complete reading does not contain the daemon, so the alert about the daemon resolves.
    rig.poll();
    rig.play(": daemon_down resolved critical");
  });

  test("a picture that changes without a poll is no observation", () => {
    createRig({ settings: { failures: 2 } }).play("usage 1, down, age, age:");
  });
});

describe("seats", () => {
  test("fires at once, rises at once, falls slowly", () => {
    const rig = createRig();
    rig.usage(8);
    const warning = { rule: "seats", change: "fired", severity: "warning", value: 80, threshold: 80 };
    expect(rig.events()).toMatchObject([warning]);
    rig.usage(10);
    const critical = { change: "raised", severity: "critical", value: 100, threshold: 95, peakValue: 100 };
    expect(rig.events()).toMatchObject([critical]);
    rig.play("usage 9:");
    // The firing alert shows the current value, although no event was published.
    expect(rig.engine.firing()).toMatchObject([{ severity: "critical", value: 90, peakValue: 100 }]);
    rig.play("usage 9: seats lowered warning", "usage 1, usage 1: seats resolved warning");
    expect(rig.alerts.get(1)?.peakValue).toBe(100);
  });

  test("must last for `for`, resolves after twice that time, and starts again after a gap", () => {
    const settings = { forMs: 3 * MINUTE };
    const rig = createRig({ overrides: [override({ feature: "comp*", settings })] });
    rig.play("usage 9, usage 9, usage 9:");
    rig.now += 10 * MINUTE;
    rig.play("usage 9, usage 9, usage 9:");
    rig.usage(9);
    const [fired] = rig.events();
    expect(fired).toMatchObject({ rule: "seats", change: "fired" });
    expect(Date.parse(fired?.firedAt ?? "") - Date.parse(fired?.startedAt ?? "")).toBe(3 * MINUTE);
    rig.play("usage 1, usage 1, usage 1, usage 1, usage 1, usage 1:");
    rig.usage(1);
    expect(rig.events()).toMatchObject([{ change: "resolved", peakValue: 90, durationSeconds: 10 * 60 }]);
  });

  test("fires when `for` ends, not at the next poll; time alone resolves nothing", () => {
    createRig({ settings: { forMs: 90_000 } }, [server({ intervalMs: 10 * MINUTE })]).play(
      "usage 9, pass 1:",
      "pass 1: seats fired warning",
      "usage 1, pass 5:",
      "usage 1: seats resolved warning",
    );
  });

  test("stale, failed or partial numbers neither fire nor resolve", () => {
    const rig = createRig({ settings: { recoveries: 1 } });
    rig.play("partial 10:", "usage 10: seats fired critical", "partial 0, down, age:");
    rig.poll(withFeatures());
    rig.play(":");
    // A missing feature ends its alert only at the second reading without the feature.
    rig.poll(withFeatures());
    expect(rig.said().sort()).toEqual(["seats resolved critical", "totals_changed fired warning"]);
  });

  test("features without a limit or without seats are fine", () => {
    const rig = createRig();
    const unlimited = feature({ unlimited: true, total: null, used: 900 });
    rig.poll(withFeatures(unlimited, idle({ name: "none", total: 0 })));
    rig.play(":");
  });

  test("a queue is critical and in the message", () => {
    const rig = createRig();
    rig.poll(withFeatures(feature({ queue: [checkout({ user: "ben", count: 2 })] })));
    rig.play(": seats fired critical");
    expect(rig.engine.firing()[0]?.message).toEndWith("; requests for 2 seats wait");
  });

  test("denials without free seats belong to the alert, others do not", () => {
    const rig = createRig({ settings: { criticalNeedsDemand: true, recoveries: 1 } });
    rig.play("usage 10: seats fired warning");
    rig.denied({ count: 3, code: -4 });
    rig.denied({});
    rig.play(":");
    rig.usage(10);
    const message = expect.stringContaining("; 4 requests denied");
    expect(rig.events()).toMatchObject([{ change: "raised", severity: "critical", message }]);
    // No shortage causes these denials: the server does not have the feature, the feature is unknown, or
    // seats are free.
    rig.denied({ code: -18 });
    rig.denied({ feature: null });
    rig.denied({ feature: "other", code: -4 });
    rig.play(": denials fired warning, denials fired warning", "usage 10: denials fired warning");
    // After an hour without denials, the alert is a warning again and keeps its message.
    for (let minute = 0; minute < 59; minute++) rig.usage(10);
    expect(rig.events()).toMatchObject([{ change: "lowered", severity: "warning", message }]);
    rig.play("usage 1: seats resolved warning", "usage 10: seats fired warning");
    expect(rig.engine.firing().find(({ rule }) => rule === "seats")?.message).toBe(
      "All 10 seats of compiler are in use",
    );
  });
});

describe("overrides", () => {
  test("the last matching override applies; an override for features does not affect the server", () => {
    const usage = { usageWarning: 10, usageCritical: 50 };
    const overrides = [
      override({ server: "e*", settings: usage }),
      override({ feature: "sim?", enabled: false }),
    ];
    const rig = createRig({ settings: { failures: 1 }, overrides });
    rig.play("usage 2: seats fired warning");
    rig.usage(10, "sim1");
    rig.play(":");
    rig.down();
    expect(rig.said()).toContain("server_down fired critical");
  });

  test("disabling an alert or a server resolves the alert", () => {
    const rig = createRig();
    rig.play("usage 9: seats fired warning");
    rig.configure({ overrides: [override({ daemon: "snps*", enabled: false })] });
    rig.play(": seats resolved warning");
    rig.configure({ overrides: [] });
    rig.play("usage 9: seats fired warning");
    rig.setServers([server({ enabled: false })]);
    rig.play(": seats resolved warning");
  });
});

describe("expiry", () => {
  const until = (expiresOn: string) => {
    const expiresAt = Date.parse(`${expiresOn}T23:59:59.999Z`);
    return withFeatures(idle({ pools: [pool({ expiry: { expiresOn, expiresAt, permanent: false } })] }));
  };

  test("fires once per limit, even while the server does not answer, and resolves with a new license", () => {
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

  test.each(["2090-01-01", "9999-12-31"])("%s means permanent", (date) => {
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
    rig.play(":");
    rig.poll(held(["ben", 25], ["cy", 26]));
    const [fired, resolved] = ["held_too_long fired warning", "held_too_long resolved warning"];
    expect(rig.said().sort()).toEqual([fired, fired, resolved]);
  });

  test("the longest is reported first, regardless of the tool's order", () => {
    const rig = createRig({ settings: { heldHours: 24 } });
    rig.poll(held(["ann", 26], ["ben", 30], ["cy", 28]));
    expect(rig.events().map(({ value }) => value)).toEqual([30, 28, 26]);
  });

  test("borrowed seats do not count; by default nothing is too long", () => {
    const rig = createRig();
    rig.poll(held(["ann", 3000]));
    rig.configure({ settings: { heldHours: 1 } });
    rig.poll(withFeatures(feature({ checkouts: [checkout({ borrowed: true })] })));
    expect(rig.said()).toEqual([]);
  });
});

describe("unusual readings", () => {
  const totals = (...list: [string, number][]) =>
    withFeatures(...list.map(([name, total]) => idle({ name, total })));
  const lines = (rig: Rig, count: number) => rig.poll({ reading: reading({ unparsedLines: count }) });

  test("a changed total and a new feature fire; the previous total or a day later resolves them", () => {
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
    rig.play(": totals_changed resolved warning");
    rig.pass(24 * 60);
    expect(rig.said()).toContain("totals_changed resolved warning");
  });

  test("a change while the daemon was down fires, a change in maintenance does not", () => {
    const rig = createRig();
    rig.poll(totals(["a", 10]));
    rig.restart();
    rig.poll(totals(["a", 12]));
    rig.play(": totals_changed fired warning");
    rig.configure({ maintenance: [{ servers: ["*"], startAt: rig.now, durationMs: HOUR, every: null }] });
    rig.poll(totals(["a", 20]));
    rig.configure({ maintenance: [] });
    rig.poll(totals(["a", 20]));
    rig.play(":");
  });

  test("more unrecognized lines than usual fire until they are usual", () => {
    const rig = createRig();
    lines(rig, 4);
    for (let poll = 0; poll < 3; poll++) lines(rig, 9);
    expect(rig.events()).toMatchObject([{ rule: "unparsed", severity: "info", value: 9, threshold: 4 }]);
    for (let minute = 0; minute < 24 * 60; minute++) lines(rig, 9);
    rig.play("pass 1: unparsed resolved info");
    for (let poll = 0; poll < 5; poll++) lines(rig, 9);
    rig.play(":");
  });

  test("a failed poll does not change the usual number of unrecognized lines", () => {
    const rig = createRig({ settings: { failures: 1 } });
    const said = () => rig.said().filter((what) => what.startsWith("unparsed"));
    for (const count of [4, 9]) lines(rig, count);
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

describe("denials without free seats, just before a reading", () => {
  test.each<[string, readonly number[], string]>([
    ["that shows the shortage belong to its alert", [10, ...TEN], "seats fired critical"],
    ["that shows free seats fire", [5], "denials fired warning"],
    ["of a shortage that ends too soon for an alert fire", [10, 10, 5], "denials fired warning"],
  ])("%s", (_, readings, said) => {
    const rig = createRig({ settings: { forMs: 15 * MINUTE } });
    rig.usage(5);
    rig.denied({ count: 2, code: -4 });
    rig.play(":", "restart:");
    for (const used of readings) rig.usage(used);
    rig.play(`: ${said}`);
    if (said === "seats fired critical")
      expect(rig.engine.firing()[0]?.message).toEndWith("; 2 requests denied since it began");
  });

  test("fire even without a reading", () => {
    const rig = createRig();
    rig.usage(5);
    rig.denied({ code: -4 });
    rig.pass(4);
    expect(rig.said()).toContain("denials fired warning");
  });
});

test("denials fire once and resolve after an hour without more", () => {
  const rig = createRig();
  rig.denied({ code: -18, reason: "Not in the license." });
  const told = rig.engine.firing().map((alert) => alertRecord(alert, rig.now));
  expect([...told, ...told.map(anonymousAlert)].map(({ message }) => message)).toEqual([
    "Requests for compiler are denied: Not in the license.",
    "Requests for compiler are denied",
  ]);
  rig.pass(30);
  rig.denied({ count: 2 });
  const said = () => rig.said().filter((text) => text.startsWith("denials"));
  rig.pass(59);
  expect(said()).toEqual(["denials fired warning"]);
  expect(rig.engine.firing()[0]).toMatchObject({ rule: "denials", value: 3 });
  rig.pass(1);
  expect(said()).toEqual(["denials resolved warning"]);
});

describe("licmond's own host", () => {
  test("a disk that fills", () => {
    const rig = createRig({}, []);
    rig.disk = 91;
    rig.play("pass 3: disk fired warning");
    rig.disk = 96;
    rig.pass(3);
    const raised = { change: "raised", severity: "critical", value: 96, threshold: 95, server: null };
    expect(rig.events()).toMatchObject([raised]);
    rig.disk = null;
    rig.pass(10);
    rig.disk = 50;
    rig.play("pass 2: disk resolved critical");
  });

  test("a doubted clock", () => {
    const rig = createRig({}, []);
    rig.pass(3);
    rig.clockDoubtMs = 500.5 * DAY;
    rig.pass(1);
    const fired = { rule: "clock", change: "fired", severity: "warning", value: 500, threshold: 1 };
    const message =
      "The clock is 500 days ahead of the last stored time: retention catches up by one day per hour";
    expect(rig.events()).toMatchObject([{ ...fired, server: null, message }]);
    rig.pass(3);
    rig.clockDoubtMs = null;
    rig.play("pass 1: clock resolved warning");
  });

  test("waiting and dropped facts for the hub of a fleet", () => {
    const rig = createRig({}, []);
    for (const outbox of [
      { percent: 79, dropped: false },
      { percent: 80, dropped: false },
      { percent: 0, dropped: true },
    ]) {
      rig.outbox = outbox;
      rig.pass(3);
    }
    expect(rig.events()).toMatchObject([
      { rule: "outbox", change: "fired", severity: "warning", value: 80, threshold: 80, server: null },
      { rule: "outbox", change: "raised", severity: "critical", value: null },
    ]);
    rig.outbox = { percent: 1, dropped: false };
    rig.play("pass 3: outbox resolved critical");
  });
});

describe("after a clock that was 500 days ahead", () => {
  const AHEAD = 500 * DAY;

  test("an alert about denials ends at once", () => {
    const rig = createRig();
    rig.now += AHEAD;
    rig.denied({ code: -18 });
    rig.play(": denials fired warning");
    rig.now -= AHEAD;
    rig.play("pass 1: denials resolved warning");
  });

  test("reminders are sent again", () => {
    const rig = createRig({ settings: { failures: 1 } });
    rig.now += AHEAD;
    rig.down();
    expect(rig.kinds()).toEqual(["fired"]);
    rig.now -= AHEAD;
    rig.pass(1);
    expect(rig.kinds()).toEqual(["reminder"]);
    rig.pass(60);
    expect(rig.kinds()).toEqual([]);
  });
});

test("in maintenance nothing fires; lasting conditions fire after it, and ended ones resolve", () => {
  const rig = createRig({ settings: { recoveries: 1, failures: 2 } });
  rig.play("usage 9: seats fired warning");
  rig.configure({ maintenance: [{ servers: ["eda"], startAt: NOON, durationMs: HOUR, every: null }] });
  rig.play("usage 10, down, down, down:", "usage 1: seats resolved warning");
  rig.now += HOUR;
  rig.play("down, down: server_down fired critical");
});

describe("a restart", () => {
  test("fires nothing twice and forgets nothing", () => {
    const rig = createRig();
    rig.play("usage 9, down, down: seats fired warning", "restart:");
    expect(rig.firing()).toEqual(["seats"]);
    rig.play(
      "down: server_down fired critical",
      "restart, usage 9, restart, usage 1: server_down resolved critical",
      "restart, usage 1: seats resolved warning",
      "restart, pass 2:",
    );
    expect([1, 2, 3].map((id) => rig.alerts.get(id)?.id)).toEqual([1, 2, undefined]);
  });

  test("sends changes that cannot be stored, and stores them later", async () => {
    const rig = createRig();
    rig.failing = true;
    rig.usage(9);
    await Bun.sleep(0);
    rig.play(": seats fired warning");
    expect(rig.kinds()).toEqual(["fired"]);
    // The second poll comes while the first one is being stored, and does not change the alert.
    rig.play("usage 9, usage 9:");
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
    rig.play("restart, usage 9:");
  });
});

describe("people", () => {
  test("acknowledging stops reminders, not new messages", async () => {
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

  test("alerts that the hub notifies about send nothing here; later ones do", () => {
    const rig = createRig();
    const said = () => seatsNotes(rig).map(({ kind, alert }) => `${kind} ${alert.severity}`);
    rig.hubNotifiesUntil = Number.MAX_SAFE_INTEGER;
    rig.usage(9);
    rig.pass(3);
    expect(rig.firing()).toEqual(["seats"]);
    expect(said()).toEqual([]);
    // The hub was last heard at this moment, so it knows the firing alert but learns of no later alert.
    rig.hubNotifiesUntil = rig.now;
    rig.usage(9);
    rig.pass(1);
    expect(said()).toEqual([]);
    rig.usage(10);
    expect(said()).toEqual(["fired critical"]);
    for (const used of [1, 1]) rig.usage(used);
    expect(said()).toEqual(["resolved critical"]);
  });

  test("a silence also applies to the same alert when it fires again after a restart, until its end", async () => {
    const rig = createRig({ settings: { recoveries: 1 } });
    rig.usage(9);
    const [alert] = rig.engine.firing();
    await rig.engine.silence(alert?.id ?? 0, rig.now + HOUR, "known");
    expect(rig.kinds()).toEqual(["fired"]);
    rig.usage(1);
    expect(rig.kinds()).toEqual(["resolved"]);
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
  test("filter by severity and rule; only targets that know an alert are told that it resolved", () => {
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

  test("filter by globs of servers, features and rules, and by labels of the server", () => {
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
    // The alert is about the server, so the target for features gets nothing.
    expect(told()).toEqual(["server", "rule", "muc"]);
    rig.disk = 99;
    rig.pass(1);
    expect(told()).toEqual([]);
  });

  test("a note names the server and its holders, most seats first, unless the target is anonymized", () => {
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
    // Alerts about the server, and resolved alerts, name no holders.
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

  test("reminders are sent once a day until the alert resolves, and never if disabled", () => {
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
