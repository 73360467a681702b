import { afterEach, expect, test } from "bun:test";
import { DAY_MS, MINUTE_MS } from "../../../src/domain/time/clock.ts";
import { type WaitsQuery, waitsQuery } from "../../../src/history/statistics/waits.ts";
import * as a from "../../domain/make.ts";
import { cleanUp } from "../../store/place.ts";
import { ANY, createRig, outcomeOf, questionOver } from "../rig.ts";
import { makeDays } from "../sessions/rig.ts";

afterEach(cleanUp);

const QUARTER = 15 * MINUTE_MS;

/** Creates three days: `solver` is full for three quarters of each hour, `mesher` at night, `free` never. */
async function site() {
  const rig = createRig([a.server({ intervalMs: QUARTER })]);
  for (let poll = 0; poll < 3 * 96; poll++) {
    const at = a.NOON + poll * QUARTER;
    const hour = new Date(at).getUTCHours();
    const used = (used: number) => ({ total: 2, used, queued: 0 });
    const counts = {
      solver: used(poll % 4 < 3 ? 2 : 1),
      mesher: used(hour >= 20 || hour < 6 ? 2 : 0),
      free: used(1),
    };
    // One poll fails in the middle of a night.
    await rig.poll(outcomeOf({ at, counts: poll === 140 ? null : new Map(Object.entries(counts)) }));
  }
  rig.clock.time = a.NOON + 3 * DAY_MS;
  const { time } = rig.clock;
  const ask = (more: Partial<WaitsQuery> = {}) =>
    waitsQuery(rig.reader(), { ...questionOver(a.NOON, time, time, { filter: ANY, sort: null }), ...more });
  return { ...rig, ask };
}

test("lists how often and how long each feature was full, and how long waits would have been", async () => {
  const { ask } = await site();
  const { rows, total } = await ask();
  expect(total).toBe(2);
  const nulls = { p50Seconds: null, p80Seconds: null, longestSeconds: null, p80Confirmed: null };
  const waits = { p50Seconds: 1344, p80Seconds: 2412, longestSeconds: 2700, p80Confirmed: 91.44 };
  const about = { server: "eda", daemon: "snpslmd", coverage: 0.996528 };
  expect(rows).toEqual([
    // Three nights of ten hours, one of them with the failed poll. Three are too few for percentiles.
    { ...about, feature: "mesher", count: 3, fullSeconds: 30 * 3600, ...nulls },
    { ...about, feature: "solver", count: 72, fullSeconds: 72 * 2700 - 900, ...waits },
  ]);
  const sorted = await ask({ sort: { field: "p80Seconds", descending: false }, limit: 1 });
  expect(sorted).toMatchObject({ rows: [{ feature: "solver" }], total: 2 });
  const second = await ask({ sort: { field: "count", descending: true }, offset: 1 });
  expect(second.rows).toMatchObject([{ feature: "mesher" }]);
});

test("packed days, and parts of them, give the same answer", async () => {
  const { ask, store, clock, history } = await site();
  const parts = [0, 1].map((day) => ({
    start: a.NOON + day * DAY_MS - 40 * MINUTE_MS,
    end: a.NOON + (day + 1) * DAY_MS + 7 * MINUTE_MS,
  }));
  const before = await Promise.all([{}, ...parts].map(ask));
  history().packAll();
  expect(await makeDays(store, clock)).toMatchObject({ sites: 3 });
  expect(await Promise.all([{}, ...parts].map(ask))).toEqual(before);
  // Check that packed days are used: truncating them changes the answer.
  store.sqlite.run("UPDATE packed_days SET data = substr(data, 1, 3840) WHERE kind = 'site'");
  expect((await ask()).rows[0]).toMatchObject({ feature: "mesher", fullSeconds: 6 * 3600 });
});
