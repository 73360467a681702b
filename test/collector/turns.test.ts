import { expect, test } from "bun:test";
import fc from "fast-check";
import { createTurns } from "../../src/collector/pace.ts";

const wanted = () => true;

/** A clock that advances only with work and rests. */
function virtual() {
  let at = 0;
  const rests: number[] = [];
  return {
    rests,
    work: (ms: number) => {
      at += ms;
    },
    deps: {
      now: () => at,
      afterLoop: () => new Promise<void>((resume) => setImmediate(resume)),
      rest: async (ms: number) => {
        rests.push(ms);
        at += ms;
      },
    },
  };
}

test("turns are given in order, one per turn of the event loop", async () => {
  const { deps } = virtual();
  const turn = createTurns(wanted, deps);
  const told: string[] = [];
  const asked = ["a", "b", "c"].map(async (name) => {
    await turn();
    told.push(name);
    setImmediate(() => told.push(`after ${name}`));
  });
  await Promise.all(asked);
  expect(told).toEqual(["a", "after a", "b", "after b", "c"]);
});

test("a caller does not wait after a pause, and never for long", async () => {
  const { deps, rests, work } = virtual();
  const turn = createTurns(wanted, deps);
  await turn();
  work(5);
  await deps.afterLoop();
  await deps.afterLoop();
  work(100);
  const first = turn().then(() => work(3_600_000));
  expect(rests).toEqual([]);
  // The process was suspended for an hour.
  await Promise.all([first, turn()]);
  expect(rests).toEqual([50]);
});

test("without waiting requests there is no rest", async () => {
  const { deps, rests, work } = virtual();
  const turn = createTurns(() => false, deps);
  await Promise.all([5, 5, 5].map((ms) => turn().then(() => work(ms))));
  expect(rests).toEqual([]);
  expect(deps.now()).toBe(15);
});

test("as soon as requests wait, the next turn rests", async () => {
  const { deps, rests, work } = virtual();
  const turn = createTurns(() => deps.now() >= 10 && deps.now() < 40, deps);
  await Promise.all([5, 5, 5, 20, 5].map((ms) => turn().then(() => work(ms))));
  // Requests wait from 10 to 40. So the third turn rests until 25 and works until 30; the fourth rests
  // until 45 and works until 65.
  expect(rests).toEqual([15, 15]);
  expect(deps.now()).toBe(70);
});

test("while requests wait, turns take at most a quarter of the time", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 0, max: 16 }), { minLength: 2, maxLength: 20 }),
      async (all) => {
        const { deps, work } = virtual();
        const turn = createTurns(wanted, deps);
        await Promise.all(
          all.map(async (ms) => {
            await turn();
            work(ms);
          }),
        );
        const worked = all.reduce((sum, ms) => sum + ms, 0);
        const last = all.at(-1) ?? 0;
        // The rest after the last turn delays no caller.
        expect(deps.now()).toBe(4 * worked - 3 * last);
      },
    ),
    { numRuns: 50 },
  );
});
