import { afterEach, expect, test } from "bun:test";
import { DAY_MS } from "../../../src/domain/time/time.ts";
import { heatmapQuery } from "../../../src/history/statistics/heatmap.ts";
import * as a from "../../domain/make.ts";
import { cleanUp } from "../../store/place.ts";
import { createRig, outcomeOf } from "../rig.ts";

afterEach(cleanUp);

test.each([
  [5_000, 1],
  [700, 7],
])("of %p features no more than %p days are in memory at once", async (count, days) => {
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
  const { cells } = await heatmapQuery(read, {
    ...{ start, end, timezone: "UTC" },
    filter: { servers: null, daemons: null, features: null },
  });
  expect(cells.length).toBe(168);
  const edges = [...slices].flat();
  expect([Math.min(...edges), Math.max(...edges)]).toEqual([start, end]);
  for (const [from, to] of slices) {
    expect(to - from).toBeLessThanOrEqual(days * DAY_MS);
    // The next one begins there, at the edge of what is stored.
    if (to !== end) expect([slices.has(to), to % DAY_MS]).toEqual([true, 0]);
  }
});
