import { afterEach, expect, test } from "bun:test";
import { createDiskFill, diskRuns } from "../../../src/store/history/disk-fill.ts";
import { createReader } from "../../../src/store/history/reader.ts";
import { createHistoryRetention } from "../../../src/store/history/retain.ts";
import { DAY_MS } from "../../../src/store/history/spans.ts";
import { NOON } from "../../domain/make.ts";
import { cleanUp, open, temporaryDirectory } from "../place.ts";

afterEach(cleanUp);

const MINUTE = 60_000;

function createRig() {
  const store = open(temporaryDirectory());
  const rig = { commits: 0, failing: false };
  const create = () =>
    createDiskFill({
      store,
      commit: async (work) => {
        rig.commits++;
        if (rig.failing) throw new Error("no space");
        store.transaction(() => work());
      },
    });
  let fill = create();
  return Object.assign(rig, {
    store,
    look: (minute: number, percent: number | null) => fill.look(percent, NOON + minute * MINUTE),
    save: () => fill.save(),
    /** As after `kill -9`. */
    restart() {
      fill = create();
    },
    runs: () =>
      diskRuns(createReader(store.sqlite, { now: NOON }), NOON + 1000 * DAY_MS).map(
        ({ from, seen, percent }) => [(from - NOON) / MINUTE, (seen - NOON) / MINUTE, percent],
      ),
  });
}

test("looks that see the same whole percent are one row, written every ten minutes and at the end", async () => {
  const rig = createRig();
  for (let minute = 0; minute < 25; minute++) rig.look(minute, 71 + minute / 100);
  expect(rig.commits).toBe(3);
  expect(rig.runs()).toEqual([[0, 20, 71]]);
  rig.look(25, 72);
  expect(rig.runs()).toEqual([
    [0, 24, 71],
    [25, 25, 72],
  ]);
  rig.look(26, 72.9);
  await rig.save();
  expect(rig.runs().at(-1)).toEqual([25, 26, 72]);
  const { commits } = rig;
  await rig.save();
  expect(rig.commits).toBe(commits);
});

test("what is below a threshold stays below it", () => {
  const rig = createRig();
  rig.look(0, 94.99);
  rig.look(1, 95);
  expect(rig.runs().map(([, , percent]) => percent)).toEqual([94, 95]);
});

test("time in which nobody looked, or could tell, is covered by no row", async () => {
  const rig = createRig();
  rig.look(0, 50);
  rig.look(1, 50);
  rig.look(2, null);
  rig.look(60, 50);
  await rig.save();
  expect(rig.runs()).toEqual([
    [0, 1, 50],
    [60, 60, 50],
  ]);
});

test("a restart goes on with the row; after kill -9 what was not stored is a gap", async () => {
  const rig = createRig();
  rig.look(0, 50);
  rig.look(1, 50);
  await rig.save();
  rig.restart();
  rig.look(2, 50);
  expect(rig.runs()).toEqual([[0, 2, 50]]);
  for (let minute = 3; minute < 9; minute++) rig.look(minute, 50);
  rig.restart();
  rig.look(9, 50);
  expect(rig.runs()).toEqual([
    [0, 2, 50],
    [9, 9, 50],
  ]);
});

test("a clock that was set back changes nothing of what was seen, whatever it runs through again", async () => {
  const rig = createRig();
  // It was an hour ahead.
  for (let minute = 60; minute < 63; minute++) rig.look(minute, 50);
  rig.look(0, 40);
  rig.look(1, 40);
  expect(rig.runs()).toEqual([
    [0, 0, 40],
    [60, 62, 50],
  ]);
  for (let minute = 2; minute < 65; minute++) rig.look(minute, 40);
  await rig.save();
  expect(rig.runs()).toEqual([
    [0, 59, 40],
    [60, 62, 50],
    [63, 64, 40],
  ]);
});

test("what could not be stored is stored with the next look that can be", async () => {
  const rig = createRig();
  rig.look(0, 99);
  rig.failing = true;
  rig.look(1, 100);
  rig.look(2, 99);
  await rig.save();
  expect(rig.runs()).toEqual([[0, 0, 99]]);
  rig.failing = false;
  rig.look(3, 98);
  expect(rig.runs()).toEqual([
    [0, 0, 99],
    [1, 1, 100],
    [2, 2, 99],
    [3, 3, 98],
  ]);
});

test("goes by retention with the samples", async () => {
  const rig = createRig();
  const day = DAY_MS / MINUTE;
  for (let index = 0; index < 6; index++) rig.look(index * day, 50 + index);
  const retention = createHistoryRetention(rig.store);
  const keep = { samplesMs: 3 * DAY_MS, rollupsMs: 30 * DAY_MS };
  while (retention.step(NOON + 6 * DAY_MS, keep) > 0);
  expect(rig.runs().map(([, , percent]) => percent)).toEqual([53, 54, 55]);
});
