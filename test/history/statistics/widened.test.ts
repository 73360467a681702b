import { afterEach, describe, expect, test } from "bun:test";
import { DAY_MS, HOUR_MS } from "../../../src/domain/time/clock.ts";
import { resolveRange } from "../../../src/history/reader.ts";
import { createHistoryRetention } from "../../../src/history/retention.ts";
import { heatmapQuery } from "../../../src/history/statistics/heatmap.ts";
import * as a from "../../domain/make.ts";
import { cleanUp } from "../../store/place.ts";
import { asking, createRig, outcomeOf } from "../rig.ts";

afterEach(cleanUp);

const HALF = HOUR_MS / 2;
const FIRST = Math.floor(a.NOON / DAY_MS) * DAY_MS;
const FILTER = { servers: null, daemons: null, features: ["compiler"] };

/**
 * Creates eight days with 4 of 8 seats in use in the first half of each hour and 2 in the second half. Only
 * the samples of the last two days are kept.
 */
async function site() {
  const rig = createRig([a.server({ intervalMs: HALF })]);
  for (let at = FIRST; at < FIRST + 8 * DAY_MS; at += HALF) {
    const used = at % HOUR_MS === 0 ? 4 : 2;
    await rig.poll(outcomeOf({ at, counts: new Map([["compiler", { total: 8, used, queued: 0 }]]) }));
  }
  const now = FIRST + 8 * DAY_MS;
  rig.clock.time = now;
  rig.history().packAll();
  const retention = createHistoryRetention(rig.store);
  while (retention(now - 2 * DAY_MS, now - 30 * DAY_MS) > 0);
  const read = rig.reader(now);
  const samplesFrom = read.reach().samplesFrom ?? 0;
  expect(samplesFrom).toBeGreaterThan(FIRST + 4 * DAY_MS);
  return { read, samplesFrom, ...asking(rig, "compiler") };
}

describe("a range before the samples", () => {
  test("is widened to whole hours, and so is its interval", async () => {
    const { stats } = await site();
    const more = { interval: "5m", series: true } as const;
    const told = await stats(FIRST + HALF, FIRST + 2 * HOUR_MS + HALF, more);
    expect(told).toMatchObject({ start: FIRST, end: FIRST + 3 * HOUR_MS, interval: "1h", resolution: "1h" });
    expect(told.rows[0]).toMatchObject({
      averageUsed: 3,
      peakUsed: 4,
      p95Used: 4,
      coverage: 1,
      averageUtilization: 37.5,
      usedSeatHours: 9,
      points: [0, 1, 2].map((hour) => ({ at: FIRST + hour * HOUR_MS, used: 3, peakUsed: 4, total: 8 })),
    });
  });

  test.each(["1h", "1d"] as const)(
    "continues into the samples without a seam, in buckets of %s",
    async (interval) => {
      const { stats, samplesFrom } = await site();
      const [start, end] = [samplesFrom - DAY_MS, samplesFrom + DAY_MS + HALF];
      const told = await stats(start, end, { interval, series: true });
      expect(told).toMatchObject({ start, end, resolution: "1h" });
      // 48 hours with 3 seats on average, and half an hour with 4 seats.
      expect(told.rows[0]).toMatchObject({ coverage: 1, usedSeatHours: 146, peakUsed: 4 });
      const points = told.rows[0]?.points ?? [];
      expect(points.slice(0, -1).every(({ used }) => used === 3)).toBe(true);
      expect(points.at(-1)?.used).toBe(4);
    },
  );

  test("has a heat map and the seats of a single feature", async () => {
    const { read, samplesFrom, efficiency } = await site();
    const range = { start: FIRST, end: samplesFrom + 3 * HOUR_MS };
    const asked = { ...range, filter: FILTER, timezone: "Europe/Berlin" };
    const { cells, resolution } = await heatmapQuery(read, asked);
    expect(resolution).toBe("1h");
    const covered = cells.filter(({ coverage }) => coverage > 0);
    for (const cell of covered) expect(cell).toMatchObject({ averageUsed: 3, peakUsed: 4, coverage: 1 });
    expect(covered.length).toBe(Math.min(168, (range.end - range.start) / HOUR_MS));
    const row = await efficiency(range.start, range.end);
    expect(row?.seats.map(({ busyPercent }) => busyPercent)).toEqual([100, 100, 50, 50, 0, 0, 0, 0]);
  });

  test("before all history has no coverage and is not widened", async () => {
    const { stats } = await site();
    const [start, end] = [FIRST - 2 * DAY_MS + 1, FIRST - DAY_MS + 1];
    const told = await stats(start, end);
    expect(told).toMatchObject({ start, end, resolution: "exact" });
    expect(told.rows[0]).toMatchObject({ coverage: 0, averageUsed: null, total: null, usedSeatHours: null });
  });
});

test.each<[string, [number, number], [number | null, number | null], [number, number, string]]>([
  ["within the samples", [100, 200], [50, 0], [100, 200, "exact"]],
  ["nothing is stored", [100, 200], [null, null], [100, 200, "exact"]],
  ["nothing was deleted yet", [100, 200], [150, 150], [100, 200, "exact"]],
  ["before the samples", [1, HOUR_MS + 1], [9 * HOUR_MS, 0], [0, 2 * HOUR_MS, "1h"]],
  ["into the samples", [1, 9 * HOUR_MS + 1], [9 * HOUR_MS, 0], [0, 9 * HOUR_MS + 1, "1h"]],
])("ranges: %s", (_, [start, end], [samplesFrom, rollupsFrom], [from, until, resolution]) => {
  expect(resolveRange({ start, end }, { samplesFrom, rollupsFrom })).toEqual({
    start: from,
    end: until,
    resolution: resolution as "exact",
  });
});
