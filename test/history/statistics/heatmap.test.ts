import { afterEach, expect, test } from "bun:test";
import type { HeatCellRecord } from "../../../src/domain/history-records.ts";
import { DAY_MS } from "../../../src/domain/time/clock.ts";
import { type HeatmapQuery, heatmapQuery } from "../../../src/history/statistics/heatmap.ts";
import * as a from "../../domain/make.ts";
import { cleanUp } from "../../store/place.ts";
import { ANY, createRig, outcomeOf, questionOver } from "../rig.ts";
import { makeDays } from "../sessions/rig.ts";

afterEach(cleanUp);

const MINUTE = 60_000;

/** Creates four days of polls of two features, about every quarter of an hour, with a gap. */
async function site() {
  const rig = createRig([a.server({ intervalMs: 15 * MINUTE })]);
  for (let poll = 0; poll < 4 * 96; poll++) {
    const at = a.NOON + poll * 15 * MINUTE + (poll % 7) * 13_000;
    const count = (used: number) => ({ total: 9, used, queued: 0 });
    const counts = poll % 50 === 49 ? null : new Map([["solver", count(poll % 5)]]);
    if (poll > 100) counts?.set("mesher", count((poll * 7) % 9));
    await rig.poll(outcomeOf({ at, counts }));
  }
  rig.clock.time = a.NOON + 4 * DAY_MS + 10 * MINUTE;
  rig.history().packAll();
  return rig;
}

const rounded = (cells: readonly HeatCellRecord[]) =>
  cells.map((cell) => ({ ...cell, averageUsed: cell.averageUsed?.toFixed(3) }));

test("the heat map of all features is the same with and without packed days", async () => {
  const rig = await site();
  const { time } = rig.clock;
  const ask = (timezone: string, filter: HeatmapQuery["filter"] = ANY) =>
    heatmapQuery(rig.reader(), questionOver(a.NOON + 17 * MINUTE, time, time, { timezone, filter }));
  // Berlin's offset needs whole hours, Kathmandu's quarters of an hour.
  const zones = ["Europe/Berlin", "Asia/Kathmandu"];
  const before = await Promise.all(zones.map((timezone) => ask(timezone)));
  expect(await makeDays(rig.store, rig.clock)).toEqual({ sessions: 4, sites: 4 });
  for (const [at, timezone] of zones.entries()) {
    const told = await ask(timezone);
    expect(told.features).toBe(2);
    expect(rounded(told.cells)).toEqual(rounded(before[at]?.cells ?? []));
  }
  // Check that packed days are used: clearing them changes the answer.
  rig.store.sqlite.run("UPDATE packed_days SET data = zeroblob(length(data)) WHERE kind = 'site'");
  expect(rounded((await ask("Europe/Berlin")).cells)).not.toEqual(rounded(before[0]?.cells ?? []));
  const filter = { ...ANY, features: ["solver"] };
  expect(Math.max(...(await ask("Europe/Berlin", filter)).cells.map(({ peakUsed }) => peakUsed ?? 0))).toBe(
    4,
  );
});

test("a day is packed again after its hours", async () => {
  const rig = await site();
  await makeDays(rig.store, rig.clock);
  const day = () => [...rig.reader().siteDays(0, 1e6).keys()];
  const all = day();
  rig.history().reopen(a.NOON + DAY_MS, a.NOON + DAY_MS + 1);
  const opened = Math.floor((a.NOON + DAY_MS) / DAY_MS);
  expect(day()).toEqual(all.filter((one) => one !== opened));
  expect((await makeDays(rig.store, rig.clock)).sites).toBe(all.length - 1);
  rig.history().packAll();
  expect((await makeDays(rig.store, rig.clock)).sites).toBe(all.length);
  expect(day()).toEqual(all);
});

test.each([
  [5_000, 1],
  [700, 7],
])("for %p features at most %p days are in memory at once", async (count, days) => {
  const rig = createRig();
  await rig.poll(outcomeOf({ at: a.NOON, counts: new Map([["solver", { total: 3, used: 1, queued: 0 }]]) }));
  const reader = rig.reader();
  const feature = rig.feature("solver");
  const slices = new Map<number, number>();
  const read = {
    ...reader,
    features: () => Array.from({ length: count }, () => feature),
    series(one: typeof feature, from: number, to: number) {
      slices.set(from, to);
      return reader.series(one, from, to);
    },
  };
  const [start, end] = [a.NOON - 10 * DAY_MS, a.NOON + DAY_MS];
  const { cells } = await heatmapQuery(read, questionOver(start, end, end, {}));
  expect(cells.length).toBe(168);
  const edges = [...slices].flat();
  expect([Math.min(...edges), Math.max(...edges)]).toEqual([start, end]);
  for (const [from, to] of slices) {
    expect(to - from).toBeLessThanOrEqual(days * DAY_MS);
    // The next slice begins at this end, which is the edge of a packed day.
    if (to !== end) expect([slices.has(to), to % DAY_MS]).toEqual([true, 0]);
  }
});
