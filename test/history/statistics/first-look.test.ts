import { afterEach, expect, test } from "bun:test";
import { createSessionImport } from "../../../src/history/sessions/import-sessions.ts";
import * as a from "../../domain/make.ts";
import { cleanUp } from "../../store/place.ts";
import { asking, createRig, oldSession, pollOf } from "../rig.ts";

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
    await rig.poll(pollOf("solver", at, 4, [held]));
  }
  const now = a.NOON + 15 * MINUTE;
  rig.clock.time = now;
  const { usage, row, sessions } = asking(rig, "solver", { eda: MINUTE });
  const start = now - 30 * DAY;
  return {
    rig,
    usage: async () => (await usage(start, now, "user", "host")).rows,
    stats: () => row(start, now),
    sessions: () => sessions(start, now),
  };
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
      oldSession({
        feature: "solver",
        user: "bruno",
        host: "render-01",
        endReason: "unobserved",
        startedAt: a.NOON - 2 * HOUR,
        endedAt: a.NOON,
      }),
    ]),
  );
  // Hosts are told as they were printed last.
  expect(await usage()).toMatchObject([
    { keys: { host: "Render-01" }, heldSeatHours: 2.25, sessions: 2, peakHeld: 1 },
  ]);
  expect(await stats()).toMatchObject({ usedSeatHours: 0.25, heldSeatHours: 2.25 });
});
