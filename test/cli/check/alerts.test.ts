import { expect, test } from "bun:test";
import { createHistory } from "../../../src/history/history.ts";
import { createLive } from "../../../src/live/live.ts";
import { openStore } from "../../../src/store/open/open.ts";
import { feature, outcome, reading, server } from "../../domain/make.ts";
import { recordingLog } from "../../store/recording-log.ts";
import { createPlace, type Place, run } from "../rig.ts";

const MINUTE = 60_000;

/** Polls of the last hours, one a minute, as a daemon leaves them behind. */
async function leave(place: Place, used: readonly number[]): Promise<void> {
  const log = recordingLog();
  const store = openStore({ directory: place.storage, log });
  let now = Date.now() - used.length * MINUTE;
  const clock = { now: () => now };
  const timers = { after: () => () => {} };
  const { recorder } = createHistory({ store, clock, timers, log });
  const live = createLive({
    ...{ store, clock, log, recorder, servers: [server()] },
    commit: async (work) => store.transaction(() => work()),
    timers: { after: () => () => {} },
  });
  for (const seats of used) {
    const made = reading({ features: [feature({ used: seats, checkouts: [], total: 10 })] });
    await live.record(outcome({ reading: made, startedAt: now - 100, finishedAt: now }), null);
    now += MINUTE;
  }
  await live.stop();
  store.close();
}

test("a config without servers: nothing could have been told, and no table of nevers says otherwise", async () => {
  await using place = await createPlace();
  expect(await run(["check", "--alerts", "--config", place.config])).toMatchObject({
    ...{ exitCode: 1, out: "" },
    err: expect.stringContaining("the config names no server"),
  });
});

test("says how often each rule would have fired, and whom it would have told", async () => {
  await using place = await createPlace();
  await leave(place, [1, 9, 9, 1, 1, 1, 10, 10, 1, 1, 1]);
  await place.write(`
[[servers]]
id = "eda"
manager = "flexnet"
address = "27000@lic1"
[[notifications]]
type = "command"
argv = ["/bin/true"]
severity = "critical"
`);
  const { exitCode, out, err } = await run(["check", "--alerts", "--days", "1", "--config", place.config]);
  expect([exitCode, err]).toEqual([0, ""]);
  expect(out).toMatch(/^usage +eda\/snpslmd\/compiler +2 times +0\.1 h +\S+Z +1 of 1 target$/m);
  expect(out).toMatch(/^seats_exhausted +eda\/snpslmd\/compiler +1 time +0\.1 h +\S+Z +0 of 1 target$/m);
  expect(out).toMatch(/^denials +never$/m);
  expect(out).toMatch(/^stale +never$/m);
  expect(out).not.toMatch(/^(unparsed|disk|clock) /m);
  expect(out).toContain("\nNot told: unparsed, disk, clock. History keeps nothing of what they look at.\n");
});

test("without a database, and with days that are none", async () => {
  await using place = await createPlace();
  await place.write('[[servers]]\nid = "eda"\nmanager = "flexnet"\naddress = "27000@lic1"\n');
  const none = await run(["check", "--alerts", "--config", place.config]);
  expect([none.exitCode, none.err]).toEqual([1, expect.stringContaining("There is no database")]);
  expect((await run(["check", "--alerts", "--days", "x", "--config", place.config])).exitCode).toBe(2);
});
