import { afterEach, expect, test } from "bun:test";
import fc from "fast-check";
import { coveredMs, mergeRollups, rollupOf } from "../../src/domain/stats/rollup.ts";
import { DAY_MS, HOUR_MS } from "../../src/domain/time/clock.ts";
import * as a from "../domain/make.ts";
import { cleanUp } from "../store/place.ts";
import { createRig, outcomeOf, plainSteps, type RawPoll } from "./rig.ts";

afterEach(cleanUp);

const NAMES = ["compiler", "viewer", "solver, 64 bit"];

const counts = fc.record({
  total: fc.constantFrom<number[]>(5, 10, 10, 10, 250),
  used: fc.integer({ min: 0, max: 12 }),
  queued: fc.constantFrom<number[]>(0, 0, 0, 3),
});

const poll = fc.record({
  wait: fc.oneof(
    { weight: 12, arbitrary: fc.integer({ min: 55_000, max: 70_000 }) },
    { weight: 2, arbitrary: fc.constantFrom(150_000, 150_001, 149_999, 1) },
    { weight: 2, arbitrary: fc.integer({ min: 100_000, max: 4 * HOUR_MS }) },
    { weight: 1, arbitrary: fc.integer({ min: DAY_MS / 4, max: 2 * DAY_MS }) },
  ),
  failing: fc.integer({ min: 0, max: 9 }),
  features: fc.tuple(...NAMES.map(() => fc.option(counts, { freq: 8 }))),
  same: fc.boolean(),
  restart: fc.integer({ min: 0, max: 9 }),
  pack: fc.integer({ min: 0, max: 4 }),
});

const place = fc.double({ min: 0, max: 1, noNaN: true });

/** Feeds polls to a daemon that sometimes restarts and packs. */
async function play(list: readonly (typeof poll extends fc.Arbitrary<infer T> ? T : never)[]) {
  const rig = createRig();
  const polls: RawPoll[] = [];
  let at = a.NOON;
  let last: RawPoll["counts"] = new Map();
  for (const one of list) {
    at += one.wait;
    const fresh = new Map(
      NAMES.flatMap((name, index) => {
        const found = one.features[index];
        return found === null || found === undefined ? [] : [[name, found] as const];
      }),
    );
    const read: RawPoll["counts"] = one.same && last !== null && last.size > 0 ? last : fresh;
    if (read !== null) last = read;
    const raw: RawPoll = { at, counts: one.failing === 0 ? null : read };
    if (one.restart === 0) rig.restart();
    await rig.poll(outcomeOf(raw));
    polls.push(raw);
    if (one.pack === 0) rig.history().packAll();
  }
  return { rig, polls, from: a.NOON, until: at };
}

/**
 * Polls in which a feature is missing at the first poll of a coverage, and has its earlier counts at the
 * second one.
 */
const missingAtBegin = [55_000, DAY_MS / 4, 55_000].map((wait) => {
  const read = wait === 55_000 ? { total: 10, used: 7, queued: 0 } : null;
  return { wait, failing: 1, same: false, restart: 1, pack: 0, features: [read, null, null] };
});

test("steps and rollups agree with a plain loop over the polls, whatever was packed, failed or restarted", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(poll, { minLength: 1, maxLength: 40 }),
      fc.array(fc.tuple(place, place), { minLength: 3, maxLength: 3 }),
      async (list, ranges) => {
        const { rig, polls, from, until } = await play(list);
        const whole = until + 200_000 - from;
        const checkSteps = (now: number) => {
          for (const feature of rig.reader().features())
            for (const [one, other] of [...ranges, [0, 1] as const]) {
              const start = Math.floor(from + Math.min(one, other) * whole);
              const end = Math.floor(from + Math.max(one, other) * whole) + 1;
              const { steps } = rig.reader().series(feature, start, end);
              expect(steps).toEqual(plainSteps(polls, feature.feature, { start, end, now }));
            }
        };
        checkSteps(rig.clock.time);
        rig.clock.time = until + 2 * DAY_MS;
        rig.history().packAll();
        checkSteps(rig.clock.time);
        expect(rig.store.sqlite.query("SELECT count(*) AS n FROM samples").get()).toEqual({ n: 0 });

        const firstDay = Math.floor(a.NOON / DAY_MS) * DAY_MS;
        const end = Math.ceil(until / DAY_MS) * DAY_MS + DAY_MS;
        const [edge, behind] = [a.NOON + 1234, until - 77];
        const features = rig.reader().features();
        const ofEach = features.map((feature) => {
          const steps = plainSteps(polls, feature.feature, { start: firstDay, end, now: rig.clock.time });
          const wanted = [];
          for (let at = firstDay; at < end; at += HOUR_MS) {
            const rollup = rollupOf({ steps, end }, at, at + HOUR_MS);
            if (coveredMs(rollup) > 0) wanted.push({ at, rollup });
          }
          expect(rig.reader().hours(feature, firstDay, end)).toEqual(wanted);
          const days = rig.reader().days(feature, firstDay, end);
          expect(mergeRollups(days.map(({ rollup }) => rollup))).toEqual(
            rollupOf({ steps, end }, firstDay, end),
          );
          return rollupOf({ steps, end }, edge, behind);
        });
        expect(rig.reader().rollups(features, edge, behind)).toEqual(ofEach);

        const stored = () =>
          rig.store.sqlite.query("SELECT key, hex(data) AS data FROM packed_days ORDER BY key").all();
        const first = stored();
        for (const lost of ["FALSE", "kind IN ('hours', 'rollups')"]) {
          rig.store.sqlite.run(`DELETE FROM packed_days WHERE ${lost}`);
          rig.history().reopen(firstDay, end);
          rig.history().packAll();
          expect(stored()).toEqual(first);
        }
        cleanUp();
      },
    ),
    { numRuns: 60, examples: [[missingAtBegin, [[0, 0]]]] },
  );
});
