import { afterEach, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { createHistoryRetention } from "../../../src/store/history/retain.ts";
import { DAY_MS } from "../../../src/store/history/spans.ts";
import { type UnparsedStep, unparsedSteps } from "../../../src/store/history/unparsed.ts";
import * as a from "../../domain/make.ts";
import { cleanUp } from "../place.ts";
import { createRig } from "./rig.ts";

afterEach(cleanUp);

const MINUTE = 60_000;
type History = ReturnType<typeof createRig>;

/** A poll `minute` minutes after noon; null = it failed. */
async function poll(rig: History, minute: number, lines: number | null): Promise<void> {
  const at = { startedAt: a.NOON + minute * MINUTE - 200, finishedAt: a.NOON + minute * MINUTE };
  await rig.poll(
    lines === null
      ? a.failedPoll(at)
      : a.outcome({ ...at, reading: a.reading({ features: [], unparsedLines: lines }) }),
  );
}

const rows = (rig: History) =>
  rig.store.sqlite
    .query<{ minute: number; lines: number }, [number]>(
      "SELECT (at - ?) / 60000 AS minute, lines FROM unparsed_counts ORDER BY at",
    )
    .all(a.NOON)
    .map(({ minute, lines }) => [minute, lines]);

const shown = (steps: readonly UnparsedStep[]) =>
  steps.map(({ at, lines }) => [(at - a.NOON) / MINUTE, lines]);
const stepsOf = (rig: History, minute: number) =>
  shown(unparsedSteps(rig.reader(a.NOON + minute * MINUTE), "eda", a.NOON + minute * MINUTE));

describe("lines that no rule knew", () => {
  test("are stored when they change, and where a coverage begins", async () => {
    const rig = createRig();
    for (const [minute, lines] of [0, 0, 0, 7, 7, 2, 2].entries()) await poll(rig, minute, lines);
    expect(rows(rig)).toEqual([
      [0, 0],
      [3, 7],
      [5, 2],
    ]);
    await poll(rig, 7, null);
    await poll(rig, 8, 2);
    await poll(rig, 9, 2);
    rig.restart();
    await poll(rig, 10, 2);
    expect(rows(rig).slice(3)).toEqual([
      [8, 2],
      [10, 2],
    ]);
    expect(stepsOf(rig, 11)).toEqual([
      [0, 0],
      [3, 7],
      [5, 2],
      [7, null],
      [8, 2],
    ]);
  });

  test("a poll that finds what is stored writes no row of them", async () => {
    const rig = createRig();
    await poll(rig, 0, 4);
    const before = rig.store.sqlite.query<{ n: number }, []>("SELECT total_changes() AS n");
    const changes = async (minute: number, lines: number) => {
      const from = before.get()?.n ?? 0;
      await poll(rig, minute, lines);
      return (before.get()?.n ?? 0) - from;
    };
    const same = await changes(1, 4);
    expect(await changes(2, 4)).toBe(same);
    expect(await changes(3, 5)).toBe(same + 1);
  });

  test("are unknown before the first of them: a database of before they were kept", async () => {
    const rig = createRig();
    for (const minute of [0, 1, 2]) await poll(rig, minute, 3);
    rig.store.sqlite.run("DELETE FROM unparsed_counts");
    expect(stepsOf(rig, 3)).toEqual([]);
    rig.restart();
    await poll(rig, 3, 3);
    expect(stepsOf(rig, 4)).toEqual([[3, 3]]);
  });

  test("time that is covered stays as it was while a clock that was set back runs through it again", async () => {
    const rig = createRig();
    for (const [minute, lines] of [0, 5, 5, 1].entries()) await poll(rig, minute, lines);
    const before = stepsOf(rig, 4);
    await poll(rig, 1, 9);
    rig.restart();
    await poll(rig, 2, 9);
    expect(stepsOf(rig, 4)).toEqual(before);
    await poll(rig, 4, 9);
    expect(stepsOf(rig, 5)).toEqual([...before, [4, 9]]);
  });

  test("are what a plain loop over the polls says", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            lines: fc.option(fc.constantFrom(0, 1, 8), { freq: 6 }),
            restart: fc.integer({ min: 0, max: 5 }).map((n) => n === 0),
          }),
          { maxLength: 30 },
        ),
        async (polls) => {
          const rig = createRig();
          const plain: [number, number | null][] = [];
          for (const [minute, { lines, restart }] of polls.entries()) {
            if (restart) rig.restart();
            await poll(rig, minute, lines);
            if (plain.length === 0 ? lines !== null : plain.at(-1)?.[1] !== lines)
              plain.push([minute, lines]);
          }
          expect(stepsOf(rig, polls.length)).toEqual(plain);
          rig.store.close();
        },
      ),
      { numRuns: 40 },
    );
  }, 60_000);

  test("go by retention, but for those that still hold", async () => {
    const rig = createRig([a.server({ intervalMs: DAY_MS })]);
    for (const [day, lines] of [1, 2, 2, 2, 3, 4].entries()) await poll(rig, (day * DAY_MS) / MINUTE, lines);
    const retention = createHistoryRetention(rig.store);
    const now = a.NOON + 6 * DAY_MS;
    const keep = { samplesMs: 3 * DAY_MS, rollupsMs: 30 * DAY_MS };
    while (retention.step(now, keep) > 0);
    expect(rows(rig).map(([minute = 0, lines]) => [(minute * MINUTE) / DAY_MS, lines])).toEqual([
      [1, 2],
      [4, 3],
      [5, 4],
    ]);
  });
});
