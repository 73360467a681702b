import { afterEach, expect, test } from "bun:test";
import { coveredMs, type Rollup } from "../../src/domain/stats/rollup.ts";
import { DAY_MS, HOUR_MS } from "../../src/domain/time/time.ts";
import { createHistoryRetention } from "../../src/history/retention.ts";
import { MOST_ROWS } from "../../src/store/database/transaction.ts";
import * as a from "../domain/make.ts";
import { cleanUp } from "../store/place.ts";
import { createRig, outcomeOf } from "./rig.ts";

afterEach(cleanUp);

const DAYS = 12;

async function withDays() {
  const rig = createRig([a.server({ intervalMs: HOUR_MS })]);
  const first = Math.floor(a.NOON / DAY_MS) * DAY_MS;
  for (let hour = 0; hour < DAYS * 24; hour++) {
    const counts = new Map([
      ["compiler", { total: 10, used: hour % 7, queued: 0 }],
      ["quiet", { total: 3, used: 1, queued: 0 }],
    ]);
    await rig.poll(outcomeOf({ at: first + hour * HOUR_MS, counts }));
    // Somebody fails in the middle, so that there is more than one coverage.
    if (hour === 100) await rig.poll(outcomeOf({ at: first + hour * HOUR_MS + 1, counts: null }));
  }
  rig.clock.time = first + (DAYS + 1) * DAY_MS;
  rig.history().packAll();
  return { rig, first, now: rig.clock.time };
}

test("samples, coverage and rollups go by whole days, each after its own time", async () => {
  const { rig, first, now } = await withDays();
  const retention = createHistoryRetention(rig.store);
  const coveredOf = (rollups: readonly Rollup[]) => rollups.reduce((sum, one) => sum + coveredMs(one), 0);
  const over = (start: number, end: number) => rig.reader().rollups([rig.feature("compiler")], start, end);
  const before = over(first, now);
  while (retention(now - 5 * DAY_MS - 1, now - 9 * DAY_MS) > 0);

  // The day in which the time ends stays whole.
  const samplesFrom = first + (DAYS + 1 - 6) * DAY_MS;
  const rollupsFrom = first + (DAYS + 1 - 9) * DAY_MS;
  expect(rig.reader().reach()).toEqual({ samplesFrom, rollupsFrom });
  for (const name of ["compiler", "quiet"]) {
    const feature = rig.feature(name);
    const { steps } = rig.reader().series(feature, samplesFrom, now);
    expect(steps[0]).toMatchObject({ at: samplesFrom, used: name === "quiet" ? 1 : expect.any(Number) });
    const hours = rig.reader().hours(feature, first, now);
    expect(hours[0]?.at).toBe(rollupsFrom);
    expect(hours).toHaveLength((9 - 1) * 24);
    expect(rig.reader().days(feature, first, now)).toHaveLength(9 - 1);
  }

  // Behind the samples the rollups still tell, in whole hours.
  const asked = over(rollupsFrom + 1, samplesFrom - 1);
  // All but the hour behind the failure.
  expect(coveredOf(asked)).toBe(samplesFrom - rollupsFrom - (HOUR_MS - 1));
  expect(coveredOf(before)).toBeGreaterThan(coveredOf(asked));

  // Rolling up again what has no samples any more takes nothing away.
  rig.history().reopen(first, now);
  rig.history().packAll();
  expect(over(rollupsFrom + 1, samplesFrom - 1)).toEqual(asked);
});

test("one step does little, and nothing is left to do in the end", async () => {
  const { rig, now } = await withDays();
  const insert = rig.store.sqlite.query<null, [number, Uint8Array]>(
    "INSERT INTO sample_days (key, data) VALUES (?, ?)",
  );
  rig.store.transaction(() => {
    for (let key = 1; key <= 20_000; key++) insert.run(key, new Uint8Array(600));
  });
  const retention = createHistoryRetention(rig.store);
  let steps = 0;
  for (;;) {
    const deleted = retention(now - DAY_MS, now - DAY_MS);
    if (deleted === 0) break;
    steps++;
    expect(deleted).toBeLessThanOrEqual(MOST_ROWS);
  }
  // What such a step costs on a year's database the bench measures.
  expect(steps).toBeGreaterThanOrEqual(20_000 / MOST_ROWS);
  const left = rig.store.sqlite.query("SELECT count(*) AS n FROM coverage").get();
  expect(left).toEqual({ n: 0 });
});
