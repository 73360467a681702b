import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { createLive } from "../../src/live/live.ts";
import { createHistory } from "../../src/store/history/history.ts";
import { openStore } from "../../src/store/open.ts";
import { feature, outcome, reading, server } from "../domain/make.ts";
import { recordingLog } from "../store/recording-log.ts";
import { createPlace, type Place, run } from "./rig.ts";

const MINUTE = 60_000;

/** Polls of the last hours, one a minute, as a daemon leaves them behind. */
async function leave(place: Place, used: readonly number[], unparsed: readonly number[] = []): Promise<void> {
  const log = recordingLog();
  const store = openStore({ directory: place.storage, log });
  let now = Date.now() - used.length * MINUTE;
  const clock = { now: () => now };
  const timers = { set: () => null, clear() {} };
  const { recorder } = createHistory({ store, clock, timers, log });
  const live = createLive({
    ...{ store, clock, log, recorder, servers: [server()] },
    commit: async (work) => store.transaction(() => work()),
    timers: { after: () => () => {} },
  });
  for (const [index, seats] of used.entries()) {
    const made = reading({
      features: [feature({ used: seats, checkouts: [], total: 10 })],
      unparsedLines: unparsed[index] ?? 0,
    });
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
  expect(out).toMatch(/^unparsed +never$/m);
  expect(out).toMatch(/^stale +never$/m);
  expect(out).not.toMatch(/^disk /m);
  expect(out).toContain(
    "\nNot told: disk. Nothing of it is kept yet: it is from the daemon's next looks on.\n",
  );
});

const ONE_SERVER = `
[[servers]]
id = "eda"
manager = "flexnet"
address = "27000@lic1"
[alerts]
recoveries = 1
`;

test("unknown lines and the disk, by what history keeps of them", async () => {
  await using place = await createPlace();
  await leave(place, [1, 1, 1, 1, 1, 1, 1], [2, 2, 8, 8, 8, 8, 2]);
  const store = openStore({ directory: place.storage, log: recordingLog() });
  const now = Date.now();
  const runs = [
    [now - 50 * 3_600_000, now - 40 * 3_600_000, 91],
    [now - 2 * 3_600_000, now - 3_600_000, 97],
    [now - 3_600_000 + MINUTE, now - MINUTE, 50],
  ];
  for (const run of runs)
    store.sqlite.query("INSERT INTO disk_fill (from_at, seen_at, percent) VALUES (?, ?, ?)").run(...run);
  store.close();
  await place.write(ONE_SERVER);
  const check = (days: number) => run(["check", "--alerts", "--days", `${days}`, "--config", place.config]);
  const { exitCode, out, err } = await check(1);
  expect([exitCode, err]).toEqual([0, ""]);
  expect(out).toMatch(/^unparsed +eda +1 time +0\.0 h /m);
  // It fired before the range already: nothing of a time in which nobody looked says that it ended.
  expect(out).toMatch(/^disk +1 time +23\.0 h /m);
  expect(out).not.toContain("Not told");
  expect(out).not.toContain("Told in part");
  const more = await check(10);
  expect(more.out).toMatch(
    /^Told in part: disk: from \S+Z on\. Before that history kept nothing to go by\.$/m,
  );
});

test("a history of before they were kept says from when on they can be told", async () => {
  await using place = await createPlace();
  await leave(place, [1, 1, 1, 1, 1, 1, 1, 1], [2, 2, 2, 2, 8, 8, 8, 8]);
  const sqlite = new Database(`${place.storage}/licmond.db`);
  sqlite.run("DELETE FROM unparsed_counts");
  const first = Date.now() - 2 * MINUTE;
  sqlite.run("INSERT INTO unparsed_counts VALUES ('eda', ?, 8)", [first]);
  sqlite.close();
  await place.write(ONE_SERVER);
  const { out } = await run(["check", "--alerts", "--days", "1", "--config", place.config]);
  expect(out).toMatch(/^unparsed +never$/m);
  expect(out).toContain(`Told in part: unparsed: from ${new Date(first).toISOString()} on.`);
});

test("without a database, and with days that are none", async () => {
  await using place = await createPlace();
  await place.write('[[servers]]\nid = "eda"\nmanager = "flexnet"\naddress = "27000@lic1"\n');
  const none = await run(["check", "--alerts", "--config", place.config]);
  expect([none.exitCode, none.err]).toEqual([1, expect.stringContaining("There is no database")]);
  expect((await run(["check", "--alerts", "--days", "x", "--config", place.config])).exitCode).toBe(2);
});
