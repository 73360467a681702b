import { afterEach, expect, test } from "bun:test";
import type { HeatCellRecord } from "../../../src/domain/history-records.ts";
import { DAY_MS } from "../../../src/domain/time/time.ts";
import { type HeatmapQuery, heatmapQuery } from "../../../src/history/statistics/heatmap.ts";
import * as a from "../../domain/make.ts";
import { cleanUp } from "../../store/place.ts";
import { createRig, outcomeOf } from "../rig.ts";
import { makeDays } from "./rig.ts";

afterEach(cleanUp);

const MINUTE = 60_000;
const EVERYTHING = { servers: null, daemons: null, features: null };

/** Four days of two features, polled every quarter or so, with a gap. */
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

test("the heat map of all features is the same with days made ready as without", async () => {
  const rig = await site();
  const ask = async (more: Partial<HeatmapQuery> = {}) =>
    await heatmapQuery(rig.reader(), {
      ...{ start: a.NOON + 17 * MINUTE, end: rig.clock.time, timezone: "Europe/Berlin", filter: EVERYTHING },
      ...more,
    });
  // Berlin by hours, Kathmandu by quarters.
  const zones = ["Europe/Berlin", "Asia/Kathmandu"];
  const before = await Promise.all(zones.map((timezone) => ask({ timezone })));
  expect(await makeDays(rig.store, rig.clock, rig.log)).toEqual({ sessions: 0, sites: 4 });
  const made = rig.reader().all<{ day: number }>("SELECT day FROM site_days WHERE data IS NOT NULL");
  expect(made.length).toBe(4);
  for (const [at, timezone] of zones.entries()) {
    const told = await ask({ timezone });
    expect(told.features).toBe(2);
    expect(rounded(told.cells)).toEqual(rounded(before[at]?.cells ?? []));
  }
  // They are read: figures that are put into one of them are told.
  rig.store.sqlite.run("UPDATE site_days SET data = zeroblob(length(data))");
  expect(rounded((await ask()).cells)).not.toEqual(rounded(before[0]?.cells ?? []));
  const one = { servers: null, daemons: null, features: ["solver"] };
  expect(Math.max(...(await ask({ filter: one })).cells.map(({ peakUsed }) => peakUsed ?? 0))).toBe(4);
});

test("a day whose hours are packed again is made again, when they are", async () => {
  const rig = await site();
  await makeDays(rig.store, rig.clock, rig.log);
  const day = () =>
    rig
      .reader()
      .all<{ day: number }>("SELECT day FROM site_days ORDER BY day")
      .map((row) => row.day);
  const all = day();
  rig.history().reopen(a.NOON + DAY_MS, a.NOON + DAY_MS + 1);
  const opened = Math.floor((a.NOON + DAY_MS) / DAY_MS);
  expect(day()).toEqual(all.filter((one) => one !== opened));
  expect((await makeDays(rig.store, rig.clock, rig.log)).sites).toBe(all.length - 1);
  rig.history().packAll();
  expect((await makeDays(rig.store, rig.clock, rig.log)).sites).toBe(all.length);
  expect(day()).toEqual(all);
});
