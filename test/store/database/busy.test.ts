import { describe, expect, test } from "bun:test";
import { createBusyWait, isBusy, whenFree } from "../../../src/store/database/busy.ts";
import { StoreError } from "../../../src/store/database/store-error.ts";
import { recordingLog } from "../recording-log.ts";

const locked = new StoreError("BUSY", "locked", "");
const full = new StoreError("FULL", "full", "");

/** Records the timeouts of the connection, with a manual clock. */
function rig(waitMs: number | null) {
  const timeouts: number[] = [];
  const clock = { now: 0 };
  const log = recordingLog();
  const run = (sql: string) => {
    timeouts.push(Number(sql.split(" = ")[1]));
    return { changes: 0, lastInsertRowid: 0 };
  };
  const busy = createBusyWait({ run }, waitMs, log, () => clock.now);
  const write = (end: unknown = null, at = clock.now) => {
    clock.now = at;
    busy.before();
    busy.after(end);
  };
  return { busy, timeouts, clock, write, log };
}

describe("while another program has the database locked", () => {
  test("a write waits once a second, the others fail at once, until one succeeds", () => {
    const { timeouts, write } = rig(100);
    write();
    for (const at of [0, 0, 900, 1_001, 1_001]) write(locked, at);
    write(null, 1_500);
    write(locked);
    expect(timeouts).toEqual([100, 0, 100, 0, 100]);
  });

  test("it is reported after some seconds, and callers may wait until the process ends", () => {
    const { busy, clock, write, log } = rig(100);
    for (const at of [0, 4_999]) write(locked, at);
    expect([busy.isTrouble(), log.lines]).toEqual([false, []]);
    // Other failures do not count.
    write(full, 5_000);
    write(locked);
    expect(busy.isTrouble()).toBe(true);
    write();
    expect(busy.isTrouble()).toBe(false);
    expect(log.lines.map(({ level }) => level)).toEqual(["warn", "info"]);
    expect(busy.patienceMs()).toBeGreaterThan(20_000);
    const isWorthWaiting = () => [full, locked].map(busy.isWorthWaiting);
    write(locked);
    expect(isWorthWaiting()).toEqual([false, true]);
    // The live picture stops waiting.
    write(locked, clock.now + 5_000);
    expect(busy.isTrouble()).toBe(true);
    expect(isWorthWaiting()).toEqual([false, false]);
    write();
    expect(isWorthWaiting()).toEqual([false, true]);
    busy.ending();
    expect([busy.patienceMs(), ...isWorthWaiting()]).toEqual([0, false, false]);
  });

  test.each<[string, number | null, number[], boolean]>([
    ["the last writes wait long, together once", 100, [5_000, 0], true],
    ["a command keeps its connection's timeout, and retries nothing", null, [], true],
  ])("%s", (_, waitMs, expected, isTrouble) => {
    const { busy, timeouts, write } = rig(waitMs);
    busy.ending();
    for (const at of [0, 60_000]) write(locked, at);
    expect([timeouts, busy.isTrouble(), busy.patienceMs()]).toEqual([expected, isTrouble, 0]);
  });
});

test.each<[string, (Error | null)[], number, unknown]>([
  ["is repeated until the lock is released", [locked, locked, null], 60_000, "done"],
  ["fails with another failure", [full], 60_000, full],
  ["fails when its patience ends", [locked], 0, locked],
])("a write that can wait %s", async (_, errors, patience, expected) => {
  const work = () => {
    const error = errors.shift() ?? null;
    if (error !== null) throw error;
    return "done";
  };
  const end = await whenFree(work, { patienceMs: () => patience }).catch((thrown: unknown) => thrown);
  expect(end).toBe(expected);
  expect(isBusy(end)).toBe(expected === locked);
});
