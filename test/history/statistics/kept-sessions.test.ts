import { afterEach, describe, expect, test } from "bun:test";
import { HOUR_MS } from "../../../src/domain/time/time.ts";
import { createSessions } from "../../../src/history/sessions/sessions.ts";
import * as a from "../../domain/make.ts";
import { cleanUp } from "../../store/place.ts";
import { asking, createRig, pollOf } from "../rig.ts";

afterEach(cleanUp);

const MINUTE = 60_000;
const FIRST = a.NOON;

/** Six hours of 4 seats: in each hour somebody else takes one for half of it; the last one's is never given back. */
async function site() {
  const rig = createRig([a.server({ intervalMs: MINUTE })]);
  for (let minute = 0; minute < 6 * 60; minute++) {
    const at = FIRST + minute * MINUTE;
    const hour = Math.floor(minute / 60);
    const checkouts =
      minute % 60 < 30 || hour === 5
        ? [a.checkout({ user: `user${hour}`, handle: `${hour}`, startedAt: null })]
        : [];
    await rig.poll(pollOf("solver", at, 4, checkouts));
  }
  rig.clock.time = FIRST + 6 * HOUR_MS;
  rig.history().packAll();
  const { row: stats, efficiency, usage, sessions } = asking(rig, "solver", { eda: MINUTE });
  return {
    rig,
    stats,
    efficiency,
    usage: (start: number, end: number) => usage(start, end, "user"),
    listed: async (start: number, end: number) => (await sessions(start, end)).total,
  };
}

describe("where sessions are no longer kept", () => {
  const HORIZON = FIRST + 2 * HOUR_MS;
  const forgetful = async () => {
    const made = await site();
    const sessions = createSessions(made.rig.store);
    while (sessions.retainStep(HORIZON) > 0);
    return made;
  };

  test("their number is not known, and not the few that are left", async () => {
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

  test("users are those of the hours, whichever part of one is asked for", async () => {
    const { stats } = await forgetful();
    expect(await stats(FIRST + 10 * MINUTE, FIRST + 20 * MINUTE)).toMatchObject({
      uniqueUsers: 1,
      averageUsed: 1,
    });
  });

  test("users of hours that are rolled up again, because a log told of them late, are not forgotten", async () => {
    const { rig, stats } = await forgetful();
    rig.history().reopen(FIRST, FIRST + 2 * HOUR_MS);
    rig.history().packAll();
    expect(await stats(FIRST, FIRST + 4 * HOUR_MS)).toMatchObject({ uniqueUsers: 4 });
  });

  test("nobody knows whom fewer seats would have kept out", async () => {
    const { efficiency } = await forgetful();
    const affected = (row: Awaited<ReturnType<typeof efficiency>>) =>
      row?.whatIf.flatMap(({ total, affectedSessions }) =>
        total < (row.total ?? 0) ? [affectedSessions] : [],
      ) ?? [];
    expect(new Set(affected(await efficiency(FIRST, FIRST + 4 * HOUR_MS)))).toEqual(new Set([null]));
    expect(affected(await efficiency(HORIZON, FIRST + 4 * HOUR_MS))).not.toContain(null);
  });

  test("usage begins where they do, and says so", async () => {
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

test("what was never deleted is told in full", async () => {
  const { stats, usage } = await site();
  expect(await stats(FIRST, FIRST + 4 * HOUR_MS)).toMatchObject({ sessions: 4, uniqueUsers: 4 });
  expect(await usage(FIRST, FIRST + 4 * HOUR_MS)).toMatchObject({ start: FIRST, total: 4 });
});

test("an open session is in no range that is still to come", async () => {
  const { rig, stats, listed } = await site();
  const now = rig.clock.time;
  expect(await listed(now - HOUR_MS, now + HOUR_MS)).toBe(1);
  expect(await stats(now - HOUR_MS, now + HOUR_MS)).toMatchObject({ sessions: 1 });
  expect(await listed(now + HOUR_MS, now + 2 * HOUR_MS)).toBe(0);
  expect(await stats(now + HOUR_MS, now + 2 * HOUR_MS)).toMatchObject({ coverage: 0, sessions: null });
});

test("where nobody looked it is not known that nobody was there", async () => {
  const { stats } = await site();
  const before = await stats(FIRST - 2 * HOUR_MS, FIRST - HOUR_MS);
  expect(before).toMatchObject({ coverage: 0, sessions: null, uniqueUsers: null });
});
