import { afterEach, expect, test } from "bun:test";
import { createSessionImport } from "../../../src/history/sessions/import-sessions.ts";
import { sessionsQuery } from "../../../src/history/sessions/session-list.ts";
import { statsQuery } from "../../../src/history/statistics/stats.ts";
import { usageQuery } from "../../../src/history/statistics/usage.ts";
import * as a from "../../domain/make.ts";
import { cleanUp } from "../../store/place.ts";
import { createRig } from "../rig.ts";

afterEach(cleanUp);

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A daemon that is a quarter of an hour old, and a seat that its tool says is held for sixty days. */
async function site() {
  const rig = createRig();
  const held = a.checkout({ user: "bruno", host: "Render-01", startedAt: a.NOON - 60 * DAY });
  for (let minute = 0; minute <= 15; minute++) {
    const at = a.NOON + minute * MINUTE;
    const features = [a.feature({ name: "solver", total: 4, used: 1, checkouts: [held] })];
    await rig.poll(a.outcome({ startedAt: at - 200, finishedAt: at, reading: a.reading({ features }) }));
  }
  const now = a.NOON + 15 * MINUTE;
  rig.clock.time = now;
  const asked = { now, intervals: { eda: MINUTE }, start: now - 30 * DAY, end: now, limit: 10, offset: 0 };
  const filter = { servers: null, daemons: null, features: ["solver"], users: null, hosts: null };
  const usage = async () =>
    (
      await usageQuery(rig.reader(now), {
        ...{ ...asked, filter, groupBy: ["user", "host"] as const, timezone: "UTC" },
        sort: { field: "heldSeatHours", descending: true },
      })
    ).rows;
  const stats = async () =>
    (
      await statsQuery(rig.reader(now), {
        ...{ ...asked, filter, interval: null, timezone: "UTC", series: false, sort: null },
      })
    ).rows[0];
  const sessions = async () =>
    await sessionsQuery(rig.reader(now), {
      ...asked,
      filter,
      sort: { field: "firstSeenAt", descending: false },
    });
  return { rig, usage, stats, sessions };
}

test("nobody is credited with time before licmond looked, though the tool's start is told", async () => {
  const { usage, stats, sessions } = await site();
  expect(await usage()).toMatchObject([
    { keys: { user: "bruno", host: "Render-01" }, heldSeatHours: 0.25, sessions: 1, peakHeld: 1 },
  ]);
  expect(await stats()).toMatchObject({ usedSeatHours: 0.25, heldSeatHours: 0.25 });
  const [session] = (await sessions()).rows;
  expect(session).toMatchObject({
    startedAt: new Date(a.NOON - 60 * DAY).toISOString(),
    durationSeconds: 60 * 86_400 + 15 * 60,
  });
});

test("unless a log tells of it", async () => {
  const { rig, usage, stats } = await site();
  rig.store.transaction(() =>
    createSessionImport(rig.store).add("eda", [
      {
        ...{ daemon: "snpslmd", feature: "solver", user: "bruno", host: "render-01", version: null },
        ...{ handle: null, data: null, ordinal: 0, part: 0, count: 1, endReason: "unobserved" as const },
        ...{ startedAt: a.NOON - 2 * HOUR, endedAt: a.NOON },
      },
    ]),
  );
  // Hosts are told as they were printed last.
  expect(await usage()).toMatchObject([
    { keys: { host: "Render-01" }, heldSeatHours: 2.25, sessions: 2, peakHeld: 1 },
  ]);
  expect(await stats()).toMatchObject({ usedSeatHours: 0.25, heldSeatHours: 2.25 });
});
