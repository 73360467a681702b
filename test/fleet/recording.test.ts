import { afterEach, describe, expect, test } from "bun:test";
import { systemRandom } from "../../src/domain/keys.ts";
import { createOutbox, noteStop } from "../../src/fleet/outbox.ts";
import { recordFacts, stopRecording } from "../../src/fleet/recording.ts";
import { packedKey } from "../../src/history/buckets.ts";
import { createTakeBack } from "../../src/history/retention.ts";
import { createSessions } from "../../src/history/sessions/sessions.ts";
import { createDenials } from "../../src/store/denials.ts";
import { createEvents } from "../../src/store/events.ts";
import * as a from "../domain/make.ts";
import { createRig } from "../history/rig.ts";
import { denial } from "../http/make.ts";
import { cleanUp } from "../store/place.ts";

afterEach(cleanUp);

type Rig = ReturnType<typeof createRig>;
const rows = ({ store }: Rig) =>
  createOutbox(store, systemRandom)
    .page(0, 10_000)
    .map(({ kind, key }) => ({ kind, key }));

/** A daemon that records facts. */
function recording(logs = false): Rig {
  const rig = createRig();
  recordFacts(rig.store, logs);
  return rig;
}

const DAY_MS = 86_400_000;
const FORGET_DAYS = "DELETE FROM dirty WHERE kind LIKE 'hub%'";

test("nothing is recorded without a fleet", async () => {
  const rig = createRig();
  await rig.poll(a.outcome());
  recordFacts(rig.store, false);
  stopRecording(rig.store);
  await rig.poll(a.outcome({ finishedAt: a.NOON + 60_000 }));
  expect(rows(rig)).toEqual([]);
});

test("a poll without changes records nothing", async () => {
  const rig = recording();
  for (let poll = 0; poll < 5; poll++) {
    await rig.poll(a.outcome({ finishedAt: a.NOON + poll * 60_000 }));
    expect(rows(rig).map(({ kind }) => kind)).toEqual(["opened", "status", "coverage", "step"]);
  }
});

test("a fact and its outbox row are committed together", () => {
  const rig = recording();
  const failing = () => {
    createDenials(rig.store).write([{ denial: denial(a.NOON), told: true }]);
    throw new Error("no");
  };
  expect(() => rig.store.transaction(failing)).toThrow("no");
  expect(rows(rig)).toEqual([]);
});

test.each([
  [false, []],
  [true, [11, 12]],
])("warnings and audit lines are recorded if configured: %p", (logs, keys) => {
  const rig = recording(logs);
  const events = createEvents(rig.store);
  const write = (id: number, level: "info" | "warn", source: "system" | "audit") => {
    const line = { type: "log", level, source, message: "m", metadata: {} } as const;
    const event = { ...line, id: `log-${id}`, timestamp: new Date(id).toISOString() };
    events.insert(id, event, JSON.stringify(event));
  };
  events.transaction(() => {
    write(10, "info", "system");
    write(11, "warn", "system");
    write(12, "info", "audit");
  });
  expect(rows(rig)).toEqual(keys.map((key) => ({ kind: "event", key })));
});

test("rows of a clock that was ahead are corrected at the hub too", async () => {
  const rig = recording();
  await rig.poll(a.outcome());
  // In the future, whenever this test runs.
  const ahead = a.NOON + 100 * 365 * DAY_MS;
  const other = a.reading({
    features: [a.feature({ used: 2, checkouts: [a.checkout(), a.checkout({ user: "zoe", handle: "7" })] })],
  });
  await rig.poll(a.outcome({ finishedAt: ahead, reading: other }));
  rig.store.transaction(() => createDenials(rig.store).write([{ denial: denial(ahead), told: true }]));
  rig.clock.time = ahead + 2 * DAY_MS;
  rig.history().packAll();
  rig.clock.time = a.NOON + 120_000;
  rig.store.sqlite.run("DELETE FROM fleet_outbox");
  rig.store.sqlite.run(FORGET_DAYS);
  const takeBack = createTakeBack(rig.store);
  while (takeBack.step(rig.clock.time) > 0);
  const gone = rows(rig).flatMap(({ kind, key }) =>
    kind === "gone" ? [JSON.parse(String(key)) as { of: string }] : [],
  );
  expect(new Set(gone.map(({ of }) => of))).toEqual(new Set(["coverage", "status", "denial"]));
  // The day was packed, so it is sent again, now empty.
  const outbox = createOutbox(rig.store, systemRandom);
  expect(outbox.nextDay(rig.clock.time)).toMatchObject({ day: Math.floor(ahead / DAY_MS), whole: true });
});

test("a change to a packed day sends the day again; retention does not", () => {
  const { store } = recording();
  const { sqlite } = store;
  const day = Math.floor(a.NOON / DAY_MS);
  for (const each of [day - 1, day])
    sqlite.run("INSERT INTO packed_days (key, data) VALUES (?, x'00')", [packedKey("held", each)]);
  sqlite.run(FORGET_DAYS);
  const told = () => sqlite.query("SELECT kind, at / 86400000 FROM dirty WHERE kind LIKE 'hub%'").values();
  sqlite.run(
    `INSERT INTO sessions (id, server_id, daemon, feature, count, began_at, first_seen_at, last_seen_at, ended_at)
     VALUES (1, 'eda', 'd', 'f', 1, ?1, ?1, ?1, ?1)`,
    [a.NOON],
  );
  expect(told()).toEqual([["hub", day]]);
  sqlite.run(FORGET_DAYS);
  while (createSessions(store).retainStep(a.NOON + DAY_MS) > 0);
  expect(sqlite.query("SELECT * FROM packed_days").all()).toEqual([]);
  expect(told()).toEqual([]);
});

describe("the outbox", () => {
  const make = () => {
    const rig = recording();
    return { rig, outbox: createOutbox(rig.store, systemRandom) };
  };

  test("an epoch starts once, and sends all existing days", async () => {
    const { rig, outbox } = make();
    await rig.poll(a.outcome({ finishedAt: a.NOON - 3 * DAY_MS }));
    outbox.begin(a.NOON);
    const epoch = outbox.epoch();
    expect(epoch).toMatch(/^[0-9a-f]{16}$/);
    expect(outbox.daysLeft()).toBe(5);
    expect(outbox.page(0, 10)).toEqual([]);
    createOutbox(rig.store, systemRandom).begin(a.NOON);
    expect(outbox.epoch()).toBe(epoch);
  });

  test("numbers are never reused, even after deletions", async () => {
    const { rig, outbox } = make();
    await rig.poll(a.outcome());
    const { head } = outbox.edges();
    outbox.drop(a.NOON, a.NOON);
    await rig.poll(a.failedPoll());
    expect(outbox.page(0, 100).every(({ seq }) => seq > head)).toBe(true);
    expect(outbox.hasLost()).toBe(true);
  });

  test("acknowledged facts are kept for a while", async () => {
    const { rig, outbox } = make();
    outbox.begin(a.NOON);
    await rig.poll(a.outcome());
    const { head } = outbox.edges();
    outbox.acknowledged(head, 0, a.NOON);
    expect(outbox.page(0, 100)).toHaveLength(4);
    outbox.acknowledged(head, head - 1, a.NOON);
    expect(outbox.page(0, 100).map(({ seq }) => seq)).toEqual([head]);
  });

  test("after a time without [fleet] its days are sent", async () => {
    const { rig, outbox } = make();
    outbox.begin(a.NOON);
    rig.store.sqlite.run(FORGET_DAYS);
    stopRecording(rig.store);
    noteStop(rig.store, a.NOON + DAY_MS);
    noteStop(rig.store, a.NOON + 2 * DAY_MS);
    recordFacts(rig.store, false);
    const epoch = outbox.epoch();
    outbox.begin(a.NOON + 3 * DAY_MS);
    expect(outbox.epoch()).toBe(epoch);
    // Days since the outbox was last empty are sent, and so are rows without a day.
    expect(outbox.daysLeft()).toBe(5);
    expect(outbox.hasLost()).toBe(true);
  });

  test("a session that began before the whole days is sent with its state", async () => {
    const { rig, outbox } = make();
    const { store } = rig;
    await rig.poll(a.outcome());
    createDenials(store).write([{ denial: denial(a.NOON), told: false }]);
    const midnight = Math.ceil(a.NOON / DAY_MS) * DAY_MS;
    for (const id of [1, 2])
      store.sqlite.run("INSERT INTO events (id, at, type, body) VALUES (?1, ?1, 'alert', ?2)", [
        midnight + id,
        JSON.stringify({ alert: 1, startedAt: new Date(a.NOON).toISOString() }),
      ]);
    const { head } = outbox.edges();
    outbox.acknowledged(head, 0, midnight);
    // End the session, as removing the server from the configuration does.
    store.sqlite.run("UPDATE sessions SET ended_at = last_seen_at, end_reason = 'unobserved'");
    outbox.drop(midnight + 1, midnight + 2);
    const session = store.sqlite.query<{ id: number }, []>("SELECT id FROM sessions").get()?.id ?? 0;
    expect(outbox.page(head, 100).map(({ kind, key }) => ({ kind, key }))).toEqual([
      { kind: "coverage", key: `${a.NOON} eda` },
      { kind: "status", key: `${a.NOON} eda` },
      { kind: "denial", key: 1 },
      { kind: "ended", key: session },
      { kind: "event", key: midnight + 2 },
    ]);
    expect(outbox.page(0, 1)[0]?.seq).toBeGreaterThan(head);
    expect(outbox.daysLeft()).toBe(2);
  });

  test("days with imported sessions are sent whole", async () => {
    const { rig, outbox } = make();
    await rig.poll(a.outcome());
    outbox.acknowledged(outbox.edges().head, 0, a.NOON);
    const { sqlite } = rig.store;
    sqlite.run("CREATE TEMP TABLE imported AS SELECT * FROM sessions");
    sqlite.run("UPDATE imported SET id = -1, ended_at = ?, end_reason = 'checkin'", [a.NOON - 90 * DAY_MS]);
    sqlite.run("INSERT INTO sessions SELECT * FROM imported");
    createDenials(rig.store).write([{ denial: denial(a.NOON - 80 * DAY_MS), told: true }]);
    outbox.drop(a.NOON, a.NOON);
    const days: number[] = [];
    for (let due = outbox.nextDay(a.NOON); due !== null; due = outbox.nextDay(a.NOON)) {
      days.push(due.day);
      outbox.dayDone(due, 0);
    }
    const today = Math.floor(a.NOON / DAY_MS);
    expect(days).toEqual([-1, today, today - 80, today - 90]);
  });

  test("a day that changed while being sent is sent again", () => {
    const { rig, outbox } = make();
    outbox.begin(a.NOON);
    const [open, today] = [outbox.nextDay(a.NOON), null];
    expect([open?.day, today]).toEqual([-1, null]);
    if (open !== null) outbox.dayDone(open, 0);
    const due = outbox.nextDay(a.NOON);
    expect(due).toMatchObject({ day: Math.floor(a.NOON / DAY_MS), whole: true });
    rig.store.sqlite.run("UPDATE dirty SET touched = 1 WHERE kind = 'hub'");
    if (due !== null) outbox.dayDone(due, 0);
    // Facts have covered the day so far, so the day is not sent before it ends.
    expect(outbox.daysLeft()).toBe(0);
    expect(outbox.nextDay(a.NOON)).toBeNull();
    expect(outbox.nextDay(a.NOON + DAY_MS)).toMatchObject({ whole: false });
  });
});
