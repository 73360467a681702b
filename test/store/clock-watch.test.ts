import { afterEach, describe, expect, test } from "bun:test";
import { type ClockWatch, createClockWatch } from "../../src/store/clock-watch.ts";
import { NOON } from "../domain/make.ts";
import { cleanUp, open, temporaryDirectory } from "./place.ts";
import { recordingLog } from "./recording-log.ts";

afterEach(cleanUp);

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * Creates a store whose last event is from NOON, or an empty store, with a wall clock and a monotonic
 * clock.
 */
function rig({ isEmpty = false } = {}) {
  const store = open(temporaryDirectory());
  if (!isEmpty)
    store.sqlite.run("INSERT INTO events VALUES (?1, ?1, 'log', 'info', 'system', NULL, '{}')", [NOON]);
  const log = recordingLog();
  let elapsed = 0;
  const create = () =>
    createClockWatch({
      store,
      clock: { now: () => at.now },
      elapsed: () => elapsed,
      isSynchronised: async () => at.synchronised,
      log,
    });
  const at = {
    now: NOON,
    synchronised: false,
    log,
    watch: null as unknown as ClockWatch,
    /** Lets the daemon run for `ms`; retention looks at the clock once per minute. Returns the last look. */
    async run(ms: number) {
      let look = at.watch.look();
      for (let ran = 0; ran < ms; ran += MINUTE) {
        elapsed += MINUTE;
        at.now += MINUTE;
        look = at.watch.look();
        at.watch.save();
      }
      // Let the answer of the kernel arrive.
      await Bun.sleep(0);
      return look;
    },
    restart() {
      at.watch = create();
    },
  };
  at.restart();
  return at;
}

describe("a clock that is 500 days ahead at the start", () => {
  test("advances retention by a day per hour, also across restarts", async () => {
    const at = rig();
    at.now += 500 * DAY;
    expect(at.watch.look()).toEqual({
      now: NOON + 500 * DAY,
      retentionNow: NOON,
      isTrusted: false,
      doubts: 1,
    });
    await at.run(HOUR);
    for (let restarts = 0; restarts < 5; restarts++) at.restart();
    const { retentionNow, isTrusted } = await at.run(HOUR);
    expect(isTrusted).toBe(false);
    // A restart loses at most ten minutes of progress.
    expect(retentionNow).toBeLessThanOrEqual(NOON + 2 * DAY);
    expect(retentionNow).toBeGreaterThan(NOON + 1.8 * DAY);
  });

  test("is logged once, until it is right again", async () => {
    const at = rig();
    at.now += 500 * DAY;
    expect(at.watch.doubtMs()).toBeNull();
    await at.run(HOUR);
    expect(at.watch.doubtMs()).toBe(500 * DAY);
    expect(at.log.lines).toMatchObject([
      { level: "warn", message: expect.stringContaining("500 days ahead"), fields: { seconds: 43_200_000 } },
    ]);
    at.now -= 500 * DAY;
    const { isTrusted, retentionNow, now } = await at.run(MINUTE);
    expect([isTrusted, retentionNow]).toEqual([true, now]);
    expect(at.watch.doubtMs()).toBeNull();
    expect(at.log.lines.map(({ level }) => level)).toEqual(["warn", "info"]);
  });

  test("is trusted after a day of running, also after a restart", async () => {
    const at = rig();
    at.now += 500 * DAY;
    expect((await at.run(DAY - MINUTE)).isTrusted).toBe(false);
    const { isTrusted, retentionNow } = await at.run(2 * MINUTE);
    expect(isTrusted).toBe(true);
    expect(retentionNow).toBeLessThan(NOON + 24.1 * DAY);
    await at.run(11 * MINUTE);
    at.restart();
    expect(at.watch.look().isTrusted).toBe(true);
  });

  test("must run another day after another jump", async () => {
    const at = rig();
    at.now += 500 * DAY;
    await at.run(DAY - HOUR);
    at.now += 500 * DAY;
    expect((await at.run(DAY - HOUR)).isTrusted).toBe(false);
    expect(at.log.lines.map(({ level }) => level)).toEqual(["warn", "warn"]);
  });

  test("is trusted at once, without a warning, if the kernel is synchronized", async () => {
    const at = rig();
    at.now += 500 * DAY;
    at.synchronised = true;
    await at.run(0);
    expect((await at.run(MINUTE)).isTrusted).toBe(true);
    expect(at.watch.doubtMs()).toBeNull();
    expect(at.log.lines).toEqual([]);
  });
});

test("a host that was off for three weeks is logged, and retention catches up by a day per hour", async () => {
  const at = rig();
  await at.run(MINUTE);
  at.now = NOON + 21 * DAY;
  at.restart();
  await at.run(10 * HOUR);
  expect(at.watch.doubtMs()).toBeGreaterThan(20 * DAY);
  expect((await at.run(0)).retentionNow).toBeLessThanOrEqual(NOON + 10 * DAY + HOUR);
  const { now, retentionNow, isTrusted } = await at.run(15 * HOUR);
  expect([isTrusted, retentionNow]).toEqual([true, now]);
});

test.each([
  ["a night without the daemon is fine", 0, 20 * HOUR, true],
  ["a clock that jumps while the daemon runs is doubted too", HOUR, 30 * DAY, false],
])("%s", async (_, ran, jump, trusted) => {
  const at = rig();
  await at.run(ran);
  at.now += jump;
  const { retentionNow, isTrusted } = await at.run(HOUR);
  expect([isTrusted, at.log.lines.length]).toEqual([trusted, trusted ? 0 : 1]);
  expect(retentionNow).toBeLessThan(NOON + 1.1 * DAY);
});

test("running does not make a clock that is behind trusted, but the warning ends", async () => {
  const at = rig();
  at.now -= 3_000 * DAY;
  await at.run(HOUR);
  expect(at.watch.doubtMs()).toBe(-3_000 * DAY);
  const { now, retentionNow, isTrusted } = await at.run(2 * DAY);
  expect([isTrusted, retentionNow]).toEqual([false, now]);
  expect(at.watch.doubtMs()).toBeNull();
  at.synchronised = true;
  await at.run(MINUTE);
  expect((await at.run(MINUTE)).isTrusted).toBe(true);
});

test("a new database trusts the clock", () => {
  const { watch } = rig({ isEmpty: true });
  expect(watch.look()).toEqual({ now: NOON, retentionNow: NOON, isTrusted: true, doubts: 0 });
});
