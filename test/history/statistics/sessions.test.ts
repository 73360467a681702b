import { afterEach, describe, expect, test } from "bun:test";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../../src/domain/time/clock.ts";
import { createSessionImport, createSessions } from "../../../src/history/sessions/sessions.ts";
import * as a from "../../domain/make.ts";
import { cleanUp } from "../../store/place.ts";
import { asking, createRig, oldSession, pollOf } from "../rig.ts";

afterEach(cleanUp);

const FIRST = a.NOON;
const hours = (count: number) => FIRST + count * HOUR_MS;
const minutes = (count: number) => FIRST + count * MINUTE_MS;

/**
 * Creates six hours of a feature with 4 seats. In the first half of each hour another user holds a seat;
 * the last user never returns it.
 */
async function site() {
  const rig = createRig();
  for (let minute = 0; minute < 6 * 60; minute++) {
    const hour = Math.floor(minute / 60);
    const held = minute % 60 < 30 || hour === 5;
    const checkout = a.checkout({ user: `user${hour}`, handle: `${hour}`, startedAt: null });
    await rig.poll(pollOf("solver", minutes(minute), 4, held ? [checkout] : []));
  }
  rig.clock.time = hours(6);
  rig.history().packAll();
  return { rig, ...asking(rig, "solver", { eda: MINUTE_MS }) };
}

describe("for times whose sessions are deleted", () => {
  const forgetful = async () => {
    const made = await site();
    const sessions = createSessions(made.rig.store);
    while (sessions.retainStep(hours(2)) > 0);
    return made;
  };

  test("the number of sessions is unknown, not the number of the remaining ones", async () => {
    const { row } = await forgetful();
    const unknown = { sessions: null, uniqueUsers: 4, usedSeatHours: 2, heldSeatHours: null };
    expect(await row(FIRST, hours(4))).toMatchObject(unknown);
    const known = { sessions: 2, uniqueUsers: 2, usedSeatHours: 1, heldSeatHours: 1 };
    expect(await row(hours(2), hours(4))).toMatchObject(known);
  });

  test("users are those of whole hours", async () => {
    const { row } = await forgetful();
    expect(await row(minutes(10), minutes(20))).toMatchObject({ uniqueUsers: 1, averageUsed: 1 });
  });

  test("users of an hour are kept when it is rolled up again", async () => {
    const { rig, row } = await forgetful();
    rig.history().reopen(FIRST, hours(2));
    rig.history().packAll();
    expect(await row(FIRST, hours(4))).toMatchObject({ uniqueUsers: 4 });
  });

  test("the effect of fewer seats is unknown", async () => {
    const { efficiency } = await forgetful();
    const affected = async (start: number) => {
      const { total = 0, whatIf = [] } = (await efficiency(start, hours(4))) ?? {};
      return whatIf.flatMap((one) => (one.total < (total ?? 0) ? [one.affectedSessions] : []));
    };
    expect(new Set(await affected(FIRST))).toEqual(new Set([null]));
    expect(await affected(hours(2))).not.toContain(null);
  });

  test("usage begins where sessions begin, and reports that time", async () => {
    const { usage } = await forgetful();
    const { start, end, rows } = await usage(FIRST, hours(4), "user");
    expect({ start, end }).toEqual({ start: hours(2), end: hours(4) });
    expect(rows.map(({ keys, heldSeatHours }) => [keys.user, heldSeatHours])).toEqual([
      ["user2", 0.5],
      ["user3", 0.5],
    ]);
    expect(await usage(FIRST, hours(1), "user")).toMatchObject({ start: hours(1), rows: [], total: 0 });
  });
});

test("without deletions all sessions count", async () => {
  const { row, usage } = await site();
  expect(await row(FIRST, hours(4))).toMatchObject({ sessions: 4, uniqueUsers: 4 });
  expect(await usage(FIRST, hours(4), "user")).toMatchObject({ start: FIRST, total: 4 });
});

test("an open session is in no future range, and users are unknown without polls", async () => {
  const { row, sessions } = await site();
  expect(await sessions(hours(5), hours(7))).toMatchObject({ total: 1 });
  expect(await row(hours(5), hours(7))).toMatchObject({ sessions: 1 });
  expect(await sessions(hours(7), hours(8))).toMatchObject({ total: 0 });
  for (const [start, end] of [
    [hours(7), hours(8)],
    [hours(-2), hours(-1)],
  ] as const)
    expect(await row(start, end)).toMatchObject({ coverage: 0, sessions: null, uniqueUsers: null });
});

/**
 * Polls every five minutes. `startedIn` returns the reported start of Ada's checkout at a poll, or null if
 * she has none.
 */
async function withAda(
  from: number,
  until: number,
  startedIn: (at: number) => number | null,
  packed = false,
) {
  const rig = createRig([a.server({ intervalMs: 5 * MINUTE_MS })]);
  const poll = async (at: number) => {
    const startedAt = startedIn(at);
    const checkouts = startedAt === null ? [] : [a.checkout({ user: "ada", handle: "1", startedAt })];
    await rig.poll(pollOf("solver", at, 4, checkouts));
  };
  for (let at = from; at < until; at += 5 * MINUTE_MS) {
    rig.clock.time = at - 1;
    // Pack each completed hour.
    if (packed) rig.history().packAll();
    await poll(at);
  }
  const { row } = asking(rig, "solver");
  const counts = async (start: number, end: number) => {
    const figures = await row(start, end);
    return [figures?.sessions, figures?.uniqueUsers];
  };
  return { rig, poll, counts };
}

test.each([false, true])(
  "a session counts from its proven start, also across the edge of a range (packed: %p)",
  async (packed) => {
    // Ada is first seen at 14:06, `lead` minutes after her start.
    const atEdge = async (lead: number) => {
      const seen = minutes(126);
      const started = (at: number) => (at === seen ? at - lead * MINUTE_MS : null);
      const { rig, counts } = await withAda(minutes(1), hours(3), started, packed);
      rig.clock.time = hours(4);
      if (packed) rig.history().packAll();
      return counts;
    };
    const early = await atEdge(7);
    // The tool reports a start at 13:59, but the reading at 14:01 shows no checkout yet.
    expect(await early(hours(1), hours(2))).toEqual([0, 0]);
    expect(await early(hours(2), hours(3))).toEqual([1, 1]);
    const inTime = await atEdge(5);
    expect(await inTime(hours(1), hours(2))).toEqual([0, 0]);
    // The start is 14:01, later than the reading of that minute. So the session counts from 14:06, as the
    // samples do.
    expect(await inTime(hours(2), minutes(125))).toEqual([0, 0]);
    expect(await inTime(minutes(125), hours(3))).toEqual([1, 1]);
    expect(await inTime(minutes(125), minutes(150))).toEqual([1, 1]);
  },
);

test("rolls up a packed hour again if a session turns out to begin in it", async () => {
  const { rig, poll, counts } = await withAda(minutes(2), minutes(45), (at) =>
    at === minutes(62) ? minutes(58) : null,
  );
  rig.clock.time = hours(1) + 90_000;
  rig.history().packAll();
  // After twenty minutes without polls, no reading disproves the reported start.
  await poll(minutes(62));
  await poll(minutes(67));
  expect(await counts(FIRST, hours(1))).toEqual([1, 1]);
  rig.clock.time = hours(3);
  rig.history().packAll();
  expect(await counts(FIRST, hours(1))).toEqual([1, 1]);
});

test("counts time before the first poll from a log, but not from a start that the tool reports", async () => {
  const rig = createRig();
  const startedAt = FIRST - 60 * DAY_MS;
  const held = a.checkout({ user: "bruno", host: "Render-01", startedAt });
  for (let minute = 0; minute <= 15; minute++) await rig.poll(pollOf("solver", minutes(minute), 4, [held]));
  const now = minutes(15);
  rig.clock.time = now;
  const start = now - 30 * DAY_MS;
  const { usage, row, sessions } = asking(rig, "solver", { eda: MINUTE_MS });
  const rows = async () => (await usage(start, now, "user", "host")).rows;
  const keys = { user: "bruno", host: "Render-01" };
  expect(await rows()).toMatchObject([{ keys, heldSeatHours: 0.25, sessions: 1, peakHeld: 1 }]);
  expect(await row(start, now)).toMatchObject({ usedSeatHours: 0.25, heldSeatHours: 0.25 });
  expect((await sessions(start, now)).rows).toMatchObject([
    { startedAt: new Date(startedAt).toISOString(), durationSeconds: 60 * 86_400 + 15 * 60 },
  ]);

  const old = { feature: "solver", user: "bruno", host: "render-01", endReason: "unobserved" } as const;
  const session = oldSession({ ...old, startedAt: hours(-2), endedAt: FIRST });
  rig.store.transaction(() => createSessionImport(rig.store).add("eda", [session]));
  // Each host is shown in its last printed form.
  expect(await rows()).toMatchObject([{ keys, heldSeatHours: 2.25, sessions: 2, peakHeld: 1 }]);
  expect(await row(start, now)).toMatchObject({ usedSeatHours: 0.25, heldSeatHours: 2.25 });
});
