import { afterEach, expect, test } from "bun:test";
import type { DenialOutcome } from "../../src/domain/denials.ts";
import { createSessionImport, type OldSession } from "../../src/history/sessions/import-sessions.ts";
import { createDenialSources, createDenials } from "../../src/store/denials.ts";

import * as a from "../domain/make.ts";
import { cleanUp } from "../store/place.ts";
import { asking, createRig, oldSession, outcomeOf } from "./rig.ts";

afterEach(cleanUp);

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const session = (user: string, startedAt: number, endedAt: number) =>
  oldSession({ user, startedAt, endedAt });

/** Three hours of polls that name nobody, rolled up; the fourth hour has begun. */
async function polled() {
  const rig = createRig();
  for (let at = a.NOON; at <= a.NOON + 3 * HOUR; at += MINUTE) {
    await rig.poll(outcomeOf({ at, counts: new Map([["compiler", { total: 5, used: 1, queued: 0 }]]) }));
  }
  rig.clock.advance(5 * MINUTE);
  rig.history().packAll();
  const { row } = asking(rig, "compiler");
  const users = async (start: number, end: number) => {
    const figures = await row(start, end);
    return [figures?.uniqueUsers, figures?.sessions];
  };
  const take = (...sessions: OldSession[]) =>
    rig.store.transaction(() => createSessionImport(rig.store).add("eda", sessions));
  const unsettled = () =>
    rig.store.sqlite
      .query<{ at: number }, []>("SELECT at FROM history_open WHERE span = 3600000 ORDER BY at")
      .all()
      .map(({ at }) => (at - a.NOON) / HOUR);
  return { rig, row, users, take, unsettled };
}

test("imported sessions have the hours that were polled rolled up again, and no others", async () => {
  const { rig, users, take, unsettled } = await polled();
  expect(await users(a.NOON, a.NOON + 3 * HOUR)).toEqual([0, 0]);
  const before = unsettled();
  expect(before.every((hour) => hour >= 3)).toBe(true);

  expect(take(session("ada", a.NOON - 5 * HOUR, a.NOON - HOUR))).toBe(1);
  expect(unsettled()).toEqual(before);
  take(
    session("bob", a.NOON - HOUR, a.NOON + HOUR + MINUTE),
    session("cyd", a.NOON + HOUR, a.NOON + 2 * HOUR),
  );
  expect(unsettled()).toEqual([0, 1, ...before]);
  // At once, and when it is rolled up.
  expect(await users(a.NOON, a.NOON + 3 * HOUR)).toEqual([2, 2]);
  rig.history().packAll();
  expect(unsettled()).toEqual(before);
  expect(await users(a.NOON, a.NOON + 3 * HOUR)).toEqual([2, 2]);
  expect(await users(a.NOON, a.NOON + HOUR)).toEqual([1, 1]);
  expect(await users(a.NOON + 2 * HOUR, a.NOON + 3 * HOUR)).toEqual([0, 0]);
});

test("the end that a longer log tells has its hours rolled up again", async () => {
  const { rig, users, take } = await polled();
  take({ ...session("ada", a.NOON + MINUTE, a.NOON + HOUR), endReason: "unobserved" });
  rig.history().packAll();
  expect(await users(a.NOON + HOUR, a.NOON + 2 * HOUR)).toEqual([0, 0]);
  expect(take(session("ada", a.NOON + MINUTE, a.NOON + 2 * HOUR))).toBe(0);
  rig.history().packAll();
  expect(await users(a.NOON + HOUR, a.NOON + 2 * HOUR)).toEqual([1, 1]);
});

test("denials count where they were seen: also before the first poll, and not in what is still to come", async () => {
  const { rig, row } = await polled();
  const of = { server: "eda", daemon: "snpslmd", feature: "compiler", host: null, reason: null, code: null };
  const denial = (at: number, outcome: DenialOutcome = "denied") => ({
    ...of,
    user: `user${at}`,
    at,
    until: at,
    count: 1,
    attempts: 1,
    outcome,
  });
  rig.store.transaction(() => {
    const sources = createDenialSources(rig.store);
    sources.cover("eda", a.NOON - 3 * HOUR, a.NOON - 2 * HOUR);
    sources.begin("eda", a.NOON + MINUTE);
    createDenials(rig.store).write(
      [
        ...[a.NOON - 3 * HOUR, a.NOON - 2 * HOUR - 1, a.NOON + HOUR].map((at) => denial(at)),
        denial(a.NOON - 2 * HOUR - 2, "queued"),
        denial(a.NOON + HOUR + 1, "queued"),
      ].map((one) => ({ denial: one, told: true })),
    );
  });
  const denials = async (start: number, end: number) => (await row(start, end))?.denials;
  expect(await denials(a.NOON - 5 * HOUR, a.NOON + 2 * HOUR)).toBe(3);
  expect(await denials(a.NOON - 30 * HOUR, a.NOON + 30 * HOUR)).toBe(3);
  expect(await denials(a.NOON - 3 * HOUR + 1, a.NOON + HOUR)).toBe(1);
  expect(await denials(a.NOON - 5 * HOUR, a.NOON - 2 * HOUR)).toBe(2);
  // Nobody saw any log then.
  expect(await denials(a.NOON - 5 * HOUR, a.NOON - 4 * HOUR)).toBeNull();
  expect(await denials(a.NOON - HOUR, a.NOON - MINUTE)).toBeNull();
  rig.history().packAll();
  expect(await denials(a.NOON - 5 * HOUR, a.NOON + 2 * HOUR)).toBe(3);
  const { time } = rig.clock;
  expect(await denials(time - MINUTE, time + HOUR)).toBe(0);
  expect(await denials(time, time + HOUR)).toBeNull();
  expect(await denials(time + 10 * HOUR + 1, time + 13 * HOUR)).toBeNull();
});
