import { afterEach, describe, expect, test } from "bun:test";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../../src/domain/time/clock.ts";
import { createSessionImport } from "../../../src/history/sessions/import-sessions.ts";
import { createSessions } from "../../../src/history/sessions/sessions.ts";
import * as a from "../../domain/make.ts";
import { cleanUp } from "../../store/place.ts";
import { asking, createRig, oldSession, pollOf } from "../rig.ts";

afterEach(cleanUp);

const FIRST = a.NOON;

/** Six hours of 4 seats. Each hour another user holds one for half of it; the last user never returns it. */
async function site() {
  const rig = createRig([a.server({ intervalMs: MINUTE_MS })]);
  for (let minute = 0; minute < 6 * 60; minute++) {
    const at = FIRST + minute * MINUTE_MS;
    const hour = Math.floor(minute / 60);
    const checkouts =
      minute % 60 < 30 || hour === 5
        ? [a.checkout({ user: `user${hour}`, handle: `${hour}`, startedAt: null })]
        : [];
    await rig.poll(pollOf("solver", at, 4, checkouts));
  }
  rig.clock.time = FIRST + 6 * HOUR_MS;
  rig.history().packAll();
  const { row: stats, efficiency, usage, sessions } = asking(rig, "solver", { eda: MINUTE_MS });
  return {
    rig,
    stats,
    efficiency,
    usage: (start: number, end: number) => usage(start, end, "user"),
    listed: async (start: number, end: number) => (await sessions(start, end)).total,
  };
}

describe("for times whose sessions are deleted", () => {
  const HORIZON = FIRST + 2 * HOUR_MS;
  const forgetful = async () => {
    const made = await site();
    const sessions = createSessions(made.rig.store);
    while (sessions.retainStep(HORIZON) > 0);
    return made;
  };

  test("the number of sessions is unknown, not the number of the remaining ones", async () => {
    const { stats } = await forgetful();
    expect(await stats(FIRST, FIRST + 4 * HOUR_MS)).toMatchObject({
      sessions: null,
      uniqueUsers: 4,
      usedSeatHours: 2,
      heldSeatHours: null,
    });
    expect(await stats(HORIZON, FIRST + 4 * HOUR_MS)).toMatchObject({
      sessions: 2,
      uniqueUsers: 2,
      usedSeatHours: 1,
      heldSeatHours: 1,
    });
  });

  test("users are those of whole hours", async () => {
    const { stats } = await forgetful();
    expect(await stats(FIRST + 10 * MINUTE_MS, FIRST + 20 * MINUTE_MS)).toMatchObject({
      uniqueUsers: 1,
      averageUsed: 1,
    });
  });

  test("users of an hour are kept when it is rolled up again", async () => {
    const { rig, stats } = await forgetful();
    rig.history().reopen(FIRST, FIRST + 2 * HOUR_MS);
    rig.history().packAll();
    expect(await stats(FIRST, FIRST + 4 * HOUR_MS)).toMatchObject({ uniqueUsers: 4 });
  });

  test("the effect of fewer seats is unknown", async () => {
    const { efficiency } = await forgetful();
    const affected = (row: Awaited<ReturnType<typeof efficiency>>) =>
      row?.whatIf.flatMap(({ total, affectedSessions }) =>
        total < (row.total ?? 0) ? [affectedSessions] : [],
      ) ?? [];
    expect(new Set(affected(await efficiency(FIRST, FIRST + 4 * HOUR_MS)))).toEqual(new Set([null]));
    expect(affected(await efficiency(HORIZON, FIRST + 4 * HOUR_MS))).not.toContain(null);
  });

  test("usage begins where sessions begin, and reports that time", async () => {
    const { usage } = await forgetful();
    const { start, end, rows } = await usage(FIRST, FIRST + 4 * HOUR_MS);
    expect({ start, end }).toEqual({ start: HORIZON, end: FIRST + 4 * HOUR_MS });
    expect(rows.map(({ keys, heldSeatHours }) => [keys.user, heldSeatHours])).toEqual([
      ["user2", 0.5],
      ["user3", 0.5],
    ]);
    expect(await usage(FIRST, FIRST + HOUR_MS)).toMatchObject({ start: FIRST + HOUR_MS, rows: [], total: 0 });
  });
});

test("without deletions all sessions count", async () => {
  const { stats, usage } = await site();
  expect(await stats(FIRST, FIRST + 4 * HOUR_MS)).toMatchObject({ sessions: 4, uniqueUsers: 4 });
  expect(await usage(FIRST, FIRST + 4 * HOUR_MS)).toMatchObject({ start: FIRST, total: 4 });
});

test("an open session is in no future range", async () => {
  const { rig, stats, listed } = await site();
  const now = rig.clock.time;
  expect(await listed(now - HOUR_MS, now + HOUR_MS)).toBe(1);
  expect(await stats(now - HOUR_MS, now + HOUR_MS)).toMatchObject({ sessions: 1 });
  expect(await listed(now + HOUR_MS, now + 2 * HOUR_MS)).toBe(0);
  expect(await stats(now + HOUR_MS, now + 2 * HOUR_MS)).toMatchObject({ coverage: 0, sessions: null });
});

test("users are unknown in times without polls", async () => {
  const { stats } = await site();
  const before = await stats(FIRST - 2 * HOUR_MS, FIRST - HOUR_MS);
  expect(before).toMatchObject({ coverage: 0, sessions: null, uniqueUsers: null });
});

/**
 * A server is polled every five minutes from 12:01 on. Ada is first seen at 14:06, `lead` minutes after her
 * start.
 */
async function atEdge(lead: number, packed: boolean) {
  const rig = createRig([a.server({ intervalMs: 5 * MINUTE_MS })]);
  const begun = a.NOON + MINUTE_MS;
  for (let at = begun; at < a.NOON + 3 * HOUR_MS; at += 5 * MINUTE_MS) {
    // Pack each hour as soon as it is over.
    rig.clock.time = at - 1;
    if (packed) rig.history().packAll();
    const held = at === a.NOON + 2 * HOUR_MS + 6 * MINUTE_MS;
    const checkouts = held
      ? [a.checkout({ user: "ada", handle: "1", startedAt: at - lead * MINUTE_MS })]
      : [];
    await rig.poll(pollOf("solver", at, 4, checkouts));
  }
  rig.clock.time = a.NOON + 4 * HOUR_MS;
  if (packed) rig.history().packAll();
  const { row } = asking(rig, "solver");
  return async (start: number, end: number) => {
    const told = await row(a.NOON + start, a.NOON + end);
    return [told?.sessions, told?.uniqueUsers];
  };
}

test.each([false, true])(
  "a session counts from its proven start, also across the edge of a range (packed: %p)",
  async (packed) => {
    const early = await atEdge(7, packed);
    // The tool reports a start at 13:59, but the reading at 14:01 disproves it.
    expect(await early(HOUR_MS, 2 * HOUR_MS)).toEqual([0, 0]);
    expect(await early(2 * HOUR_MS, 3 * HOUR_MS)).toEqual([1, 1]);
    const inTime = await atEdge(5, packed);
    expect(await inTime(HOUR_MS, 2 * HOUR_MS)).toEqual([0, 0]);
    // The start is 14:01, after that minute's reading, so the session counts from 14:06, as the samples do.
    expect(await inTime(2 * HOUR_MS, 2 * HOUR_MS + 5 * MINUTE_MS)).toEqual([0, 0]);
    expect(await inTime(2 * HOUR_MS + 5 * MINUTE_MS, 3 * HOUR_MS)).toEqual([1, 1]);
    expect(await inTime(2 * HOUR_MS + 5 * MINUTE_MS, 2 * HOUR_MS + 30 * MINUTE_MS)).toEqual([1, 1]);
  },
);

test("rolls up a packed hour again if a session turns out to begin in it", async () => {
  const rig = createRig([a.server({ intervalMs: 5 * MINUTE_MS })]);
  const poll = (at: number, started: number | null) => {
    const checkouts = started === null ? [] : [a.checkout({ user: "ada", handle: "1", startedAt: started })];
    return rig.poll(pollOf("solver", at, 4, checkouts));
  };
  // Without polls for twenty minutes, nothing disproves the reported start.
  for (let at = a.NOON + 2 * MINUTE_MS; at < a.NOON + 45 * MINUTE_MS; at += 5 * MINUTE_MS)
    await poll(at, null);
  rig.clock.time = a.NOON + HOUR_MS + 90_000;
  rig.history().packAll();
  await poll(a.NOON + HOUR_MS + 2 * MINUTE_MS, a.NOON + HOUR_MS - 2 * MINUTE_MS);
  await poll(a.NOON + HOUR_MS + 7 * MINUTE_MS, null);
  const { row } = asking(rig, "solver");
  const told = async () => {
    const figures = await row(a.NOON, a.NOON + HOUR_MS);
    return [figures?.sessions, figures?.uniqueUsers];
  };
  expect(await told()).toEqual([1, 1]);
  rig.clock.time = a.NOON + 3 * HOUR_MS;
  rig.history().packAll();
  expect(await told()).toEqual([1, 1]);
});

/** A quarter of an hour of polls; the tool reports a seat as held for sixty days. */
async function firstLook() {
  const rig = createRig();
  const held = a.checkout({ user: "bruno", host: "Render-01", startedAt: a.NOON - 60 * DAY_MS });
  for (let minute = 0; minute <= 15; minute++) {
    const at = a.NOON + minute * MINUTE_MS;
    await rig.poll(pollOf("solver", at, 4, [held]));
  }
  const now = a.NOON + 15 * MINUTE_MS;
  rig.clock.time = now;
  const { usage, row, sessions } = asking(rig, "solver", { eda: MINUTE_MS });
  const start = now - 30 * DAY_MS;
  return {
    rig,
    usage: async () => (await usage(start, now, "user", "host")).rows,
    stats: () => row(start, now),
    sessions: () => sessions(start, now),
  };
}

test("counts no time before the first poll, even if the tool reports an earlier start", async () => {
  const { usage, stats, sessions } = await firstLook();
  expect(await usage()).toMatchObject([
    { keys: { user: "bruno", host: "Render-01" }, heldSeatHours: 0.25, sessions: 1, peakHeld: 1 },
  ]);
  expect(await stats()).toMatchObject({ usedSeatHours: 0.25, heldSeatHours: 0.25 });
  const [session] = (await sessions()).rows;
  expect(session).toMatchObject({
    startedAt: new Date(a.NOON - 60 * DAY_MS).toISOString(),
    durationSeconds: 60 * 86_400 + 15 * 60,
  });
});

test("counts time before the first poll from a log", async () => {
  const { rig, usage, stats } = await firstLook();
  rig.store.transaction(() =>
    createSessionImport(rig.store).add("eda", [
      oldSession({
        feature: "solver",
        user: "bruno",
        host: "render-01",
        endReason: "unobserved",
        startedAt: a.NOON - 2 * HOUR_MS,
        endedAt: a.NOON,
      }),
    ]),
  );
  // Hosts appear as last printed.
  expect(await usage()).toMatchObject([
    { keys: { host: "Render-01" }, heldSeatHours: 2.25, sessions: 2, peakHeld: 1 },
  ]);
  expect(await stats()).toMatchObject({ usedSeatHours: 0.25, heldSeatHours: 2.25 });
});
