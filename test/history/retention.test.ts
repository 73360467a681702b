import { afterEach, expect, test } from "bun:test";
import { coveredMs, type Rollup } from "../../src/domain/stats/rollup.ts";
import { DAY_MS, HOUR_MS } from "../../src/domain/time/clock.ts";
import { packedKey } from "../../src/history/buckets.ts";
import { createHistoryRetention, createTakeBack } from "../../src/history/retention.ts";
import { MOST_ROWS } from "../../src/store/database/transaction.ts";
import { createMarks } from "../../src/store/events.ts";
import * as a from "../domain/make.ts";
import { cleanUp } from "../store/place.ts";
import { createRig, outcomeOf } from "./rig.ts";

afterEach(cleanUp);

const DAYS = 12;

async function withDays() {
  const rig = createRig([a.server({ intervalMs: HOUR_MS })]);
  const first = Math.floor(a.NOON / DAY_MS) * DAY_MS;
  for (let hour = 0; hour < DAYS * 24; hour++) {
    const counts = new Map([
      ["compiler", { total: 10, used: hour % 7, queued: 0 }],
      ["quiet", { total: 3, used: 1, queued: 0 }],
    ]);
    await rig.poll(outcomeOf({ at: first + hour * HOUR_MS, counts }));
    // One failed poll splits the coverage.
    if (hour === 100) await rig.poll(outcomeOf({ at: first + hour * HOUR_MS + 1, counts: null }));
  }
  rig.clock.time = first + (DAYS + 1) * DAY_MS;
  rig.history().packAll();
  return { rig, first, now: rig.clock.time };
}

test("samples, coverage and rollups are deleted by whole days, each after its own time", async () => {
  const { rig, first, now } = await withDays();
  const retention = createHistoryRetention(rig.store);
  const coveredOf = (rollups: readonly Rollup[]) => rollups.reduce((sum, one) => sum + coveredMs(one), 0);
  const over = (start: number, end: number) => rig.reader().rollups([rig.feature("compiler")], start, end);
  const before = over(first, now);
  while (retention(now - 5 * DAY_MS - 1, now - 9 * DAY_MS) > 0);

  // Retention keeps the day that contains the limit.
  const samplesFrom = first + (DAYS + 1 - 6) * DAY_MS;
  const rollupsFrom = first + (DAYS + 1 - 9) * DAY_MS;
  expect(rig.reader().reach()).toEqual({ samplesFrom, rollupsFrom });
  for (const name of ["compiler", "quiet"]) {
    const feature = rig.feature(name);
    const { steps } = rig.reader().series(feature, samplesFrom, now);
    expect(steps[0]).toMatchObject({ at: samplesFrom, used: name === "quiet" ? 1 : expect.any(Number) });
    const hours = rig.reader().hours(feature, first, now);
    expect(hours[0]?.at).toBe(rollupsFrom);
    expect(hours).toHaveLength((9 - 1) * 24);
    expect(rig.reader().days(feature, first, now)).toHaveLength(9 - 1);
  }

  // For the time before the samples, rollups still answer in whole hours.
  const asked = over(rollupsFrom + 1, samplesFrom - 1);
  // Everything is covered except the hour after the failed poll.
  expect(coveredOf(asked)).toBe(samplesFrom - rollupsFrom - (HOUR_MS - 1));
  expect(coveredOf(before)).toBeGreaterThan(coveredOf(asked));

  // Rolling up again keeps the rollups of hours without samples.
  rig.history().reopen(first, now);
  rig.history().packAll();
  expect(over(rollupsFrom + 1, samplesFrom - 1)).toEqual(asked);
});

test("a step deletes few rows, and all steps delete everything", async () => {
  const { rig, now } = await withDays();
  const insert = rig.store.sqlite.query<null, [number, Uint8Array]>(
    "INSERT INTO packed_days (key, data) VALUES (?, ?)",
  );
  rig.store.transaction(() => {
    for (let key = 1; key <= 20_000; key++) insert.run(key, new Uint8Array(600));
  });
  const retention = createHistoryRetention(rig.store);
  let steps = 0;
  for (;;) {
    const deleted = retention(now - DAY_MS, now - DAY_MS);
    if (deleted === 0) break;
    steps++;
    expect(deleted).toBeLessThanOrEqual(MOST_ROWS);
  }
  expect(steps).toBeGreaterThanOrEqual(20_000 / MOST_ROWS);
  const left = rig.store.sqlite.query("SELECT count(*) AS n FROM coverage").get();
  expect(left).toEqual({ n: 0 });
});

const AHEAD_MS = 500 * DAY_MS;
const counts = new Map([["compiler", { total: 10, used: 3, queued: 0 }]]);

/**
 * Creates a history: two hours of polls, two more by a clock that is ahead, and one poll after the clock
 * was corrected.
 */
async function afterWrongClock() {
  const rig = createRig([a.server({ intervalMs: HOUR_MS })]);
  const first = Math.floor(a.NOON / DAY_MS) * DAY_MS;
  for (const at of [0, HOUR_MS, AHEAD_MS, AHEAD_MS + HOUR_MS]) {
    await rig.poll(outcomeOf({ at: first + at, counts }));
  }
  rig.clock.time = first + AHEAD_MS + 2 * DAY_MS;
  rig.history().packAll();
  rig.clock.time = first + 2 * HOUR_MS;
  await rig.poll(outcomeOf({ at: rig.clock.time, counts }));
  return { rig, first, now: rig.clock.time, takeBack: createTakeBack(rig.store) };
}

test("deletes history of the future, and keeps readings of a correct clock", async () => {
  const { rig, first, now, takeBack } = await afterWrongClock();
  const { sqlite } = rig.store;
  const site = packedKey("site", Math.floor((now + AHEAD_MS) / DAY_MS));
  sqlite.run("INSERT INTO packed_days (key, data) VALUES (?, x'00')", [site]);
  const used = () => rig.reader().series(rig.feature("compiler"), first, now + 1).steps;
  const before = used();
  const ahead = () =>
    ["coverage WHERE from_at", "samples WHERE at", "dirty WHERE at"]
      .map((table) => `SELECT count(*) AS n FROM ${table} > ${now + DAY_MS}`)
      .concat(
        ["samples", "hours", "rollups", "site"].map(
          (kind) =>
            `SELECT count(*) AS n FROM packed_days WHERE kind = '${kind}' AND day > ${now / DAY_MS + 1}`,
        ),
      )
      .map((query) => sqlite.query<{ n: number }, []>(query).get()?.n ?? 0);
  expect(ahead().reduce((sum, n) => sum + n)).toBeGreaterThan(4);

  while (takeBack.step(now) > 0);
  expect(ahead()).toEqual([0, 0, 0, 0, 0, 0, 0]);
  expect(used()).toEqual(before);
  expect(before.length).toBeGreaterThan(1);
});

type Times = readonly [began: number, first: number, last: number, ended: number | null];

/** Inserts sessions, undoes the effects of the wrong clock, and returns the sessions. */
async function takenBack(
  rows: (at: { first: number; now: number; wrong: number }) => Record<number, Times>,
  doubtMs: number | null = null,
) {
  const { rig, first, now, takeBack } = await afterWrongClock();
  const { sqlite } = rig.store;
  const insert = sqlite.query(
    `INSERT INTO sessions (id, server_id, daemon, feature, user, count, began_at, first_seen_at, last_seen_at, ended_at, end_reason, doubt_ms)
     VALUES (?1, 'eda', 'snpslmd', 'compiler', 'ann', 1, ?2, ?3, ?4, ?5, iif(?5 IS NULL, NULL, 'checkin'), ?6)`,
  );
  const at = { first, now, wrong: first + AHEAD_MS };
  for (const [id, times] of Object.entries(rows(at))) insert.run(Number(id), ...times, doubtMs);
  while (takeBack.step(now) > 0);
  const left = sqlite.query<[number, number, number, number, number | null, string | null], []>(
    `SELECT id, began_at, first_seen_at, last_seen_at, ended_at, end_reason FROM sessions
     WHERE (id > 1000 OR id < 0) AND doubt_ms IS NULL ORDER BY id`,
  );
  return { ...at, left: left.values() };
}

test("no session holds its seats until a future time", async () => {
  const { first, now, wrong, left } = await takenBack(({ first, now, wrong }) => ({
    1001: [first, first, first, first + HOUR_MS],
    1002: [first, first, wrong, wrong + 1],
    1003: [wrong, wrong, wrong, wrong + 1],
    1004: [first, wrong, wrong, null],
    // This start is less than a day ahead, so it is kept, and the session cannot end before it.
    1005: [now + HOUR_MS, now + HOUR_MS, wrong, wrong + 1],
    // Times from an imported log are kept, even in the future.
    [-1]: [wrong, wrong, wrong, wrong + 1],
  }));
  const soon = now + HOUR_MS;
  expect(left).toEqual([
    [-1, wrong, wrong, wrong, wrong + 1, "checkin"],
    [1001, first, first, first, first + HOUR_MS, "checkin"],
    [1002, first, first, now, now, "unobserved"],
    [1004, first, now, now, null, null],
    [1005, soon, soon, soon, soon, "unobserved"],
  ]);
});

test("sessions of a doubted clock get corrected times", async () => {
  const { first, left } = await takenBack(
    ({ first, wrong }) => ({
      1001: [first, first, wrong + 1, wrong + 2],
      1002: [wrong, wrong, wrong + 1, wrong + 2],
      1003: [wrong, wrong, wrong + 1, null],
      1004: [first, first, first + 1, first + 2],
    }),
    AHEAD_MS,
  );
  expect(left).toEqual([
    [1001, first, first, first + 1, first + 2, "checkin"],
    [1002, first, first, first + 1, first + 2, "checkin"],
    [1003, first, first, first + 1, null, null],
    [1004, first, first, first + 1, first + 2, "checkin"],
  ]);
});

test("a retention mark in the future moves to the oldest stored session", async () => {
  const { rig, first, now, takeBack } = await afterWrongClock();
  const marks = createMarks(rig.store);
  const mark = () => marks.get("deleted_sessions");
  marks.set("deleted_sessions", first + AHEAD_MS);
  takeBack.mendMark(now, false);
  expect(mark()).toBe(first + AHEAD_MS);
  takeBack.mendMark(now, true);
  expect(mark()).toBe(now);
  marks.set("deleted_sessions", first + AHEAD_MS);
  rig.store.sqlite.run(
    `INSERT INTO sessions (id, server_id, daemon, feature, user, count, began_at, first_seen_at, last_seen_at, ended_at, end_reason)
     VALUES (1001, 'eda', 'snpslmd', 'compiler', 'ann', 1, ${first}, ${first}, ${first}, ${first + HOUR_MS}, 'checkin')`,
  );
  takeBack.mendMark(now, false);
  expect(mark()).toBe(first + HOUR_MS);
  // A mark in the past is kept, even if older sessions are imported.
  marks.set("deleted_sessions", now - 1);
  takeBack.mendMark(now, false);
  expect(mark()).toBe(now - 1);
});
