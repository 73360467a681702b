import { afterEach, expect, test } from "bun:test";
import * as a from "../../domain/make.ts";
import { cleanUp } from "../../store/place.ts";
import { asking, createRig, pollOf } from "../rig.ts";

afterEach(cleanUp);

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** A server polled every five minutes, a minute behind the hour; ada is seen at 14:06, her seat `lead` minutes old then. */
async function site(lead: number, packed: boolean) {
  const rig = createRig([a.server({ intervalMs: 5 * MINUTE })]);
  const begun = a.NOON + MINUTE;
  for (let at = begun; at < a.NOON + 3 * HOUR; at += 5 * MINUTE) {
    // Hours are packed as soon as they are over.
    rig.clock.time = at - 1;
    if (packed) rig.history().packAll();
    const held = at === a.NOON + 2 * HOUR + 6 * MINUTE;
    const checkouts = held ? [a.checkout({ user: "ada", handle: "1", startedAt: at - lead * MINUTE })] : [];
    await rig.poll(pollOf("solver", at, 4, checkouts));
  }
  rig.clock.time = a.NOON + 4 * HOUR;
  if (packed) rig.history().packAll();
  const { row } = asking(rig, "solver");
  return async (start: number, end: number) => {
    const told = await row(a.NOON + start, a.NOON + end);
    return [told?.sessions, told?.uniqueUsers];
  };
}

test.each([false, true])(
  "who took a seat before the edge of a range and was seen behind it counts in it as a session and as a user (packed: %p)",
  async (packed) => {
    const early = await site(7, packed);
    // Taken at 13:59, as the tool says; the reading of 14:01 proves that it was not.
    expect(await early(HOUR, 2 * HOUR)).toEqual([0, 0]);
    expect(await early(2 * HOUR, 3 * HOUR)).toEqual([1, 1]);
    const inTime = await site(5, packed);
    expect(await inTime(HOUR, 2 * HOUR)).toEqual([0, 0]);
    // Taken at 14:01, after the reading of that minute: it counts as the samples do, from 14:06.
    expect(await inTime(2 * HOUR, 2 * HOUR + 5 * MINUTE)).toEqual([0, 0]);
    expect(await inTime(2 * HOUR + 5 * MINUTE, 3 * HOUR)).toEqual([1, 1]);
    expect(await inTime(2 * HOUR + 5 * MINUTE, 2 * HOUR + 30 * MINUTE)).toEqual([1, 1]);
  },
);

test("an hour that was packed before it was known who began in it is rolled up again", async () => {
  const rig = createRig([a.server({ intervalMs: 5 * MINUTE })]);
  const poll = (at: number, started: number | null) => {
    const checkouts = started === null ? [] : [a.checkout({ user: "ada", handle: "1", startedAt: started })];
    return rig.poll(pollOf("solver", at, 4, checkouts));
  };
  // Then nobody looks for twenty minutes: nothing is known against the reported start.
  for (let at = a.NOON + 2 * MINUTE; at < a.NOON + 45 * MINUTE; at += 5 * MINUTE) await poll(at, null);
  rig.clock.time = a.NOON + HOUR + 90_000;
  rig.history().packAll();
  await poll(a.NOON + HOUR + 2 * MINUTE, a.NOON + HOUR - 2 * MINUTE);
  await poll(a.NOON + HOUR + 7 * MINUTE, null);
  const { row } = asking(rig, "solver");
  const told = async () => {
    const figures = await row(a.NOON, a.NOON + HOUR);
    return [figures?.sessions, figures?.uniqueUsers];
  };
  expect(await told()).toEqual([1, 1]);
  rig.clock.time = a.NOON + 3 * HOUR;
  rig.history().packAll();
  expect(await told()).toEqual([1, 1]);
});
