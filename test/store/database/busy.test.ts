import { describe, expect, test } from "bun:test";
import { createBusyWait, isBusy, whenFree } from "../../../src/store/database/busy.ts";
import { StoreError } from "../../../src/store/database/store-error.ts";
import { recordingLog } from "../recording-log.ts";

const locked = new StoreError("BUSY", "locked", "");
const full = new StoreError("FULL", "full", "");

/** What the connection is told, and a clock that stands. */
function rig(waitMs: number | null) {
  const told: string[] = [];
  const clock = { now: 0 };
  const log = recordingLog();
  const busy = createBusyWait(
    {
      run(sql: string) {
        told.push(sql.replace("PRAGMA busy_timeout = ", ""));
        return { changes: 0, lastInsertRowid: 0 };
      },
    },
    waitMs,
    log,
    () => clock.now,
  );
  const write = (end: unknown = null) => {
    busy.before();
    busy.after(end);
  };
  return { busy, told, clock, write, log };
}

describe("while another program has the database locked", () => {
  test("a write waits once a second, the others fail at once; after one that went well they wait again", () => {
    const { told, clock, write } = rig(100);
    write();
    write(locked);
    write(locked);
    clock.now = 900;
    write(locked);
    clock.now = 1_001;
    write(locked);
    write(locked);
    clock.now = 1_500;
    write(null);
    write(locked);
    expect(told).toEqual(["100", "0", "100", "0", "100"]);
  });

  test("it is trouble after some seconds in a row, and whoever can wait is patient until the end", () => {
    const { busy, clock, write, log } = rig(100);
    write(locked);
    clock.now = 4_999;
    write(locked);
    expect({ trouble: busy.isTrouble(), told: log.lines }).toEqual({ trouble: false, told: [] });
    clock.now = 5_000;
    // Another failure says nothing of the lock.
    write(full);
    write(locked);
    expect(busy.isTrouble()).toBe(true);
    write();
    expect(busy.isTrouble()).toBe(false);
    expect(log.lines.map(({ level }) => level)).toEqual(["warn", "info"]);
    expect(busy.patienceMs()).toBeGreaterThan(20_000);
    expect(busy.isWorthWaiting(full)).toBe(false);
    write(locked);
    expect(busy.isWorthWaiting(locked)).toBe(true);
    clock.now += busy.patienceMs();
    write(locked);
    expect(busy.isWorthWaiting(locked)).toBe(false);
    write();
    expect(busy.isWorthWaiting(locked)).toBe(true);
    busy.ending();
    expect({ patience: busy.patienceMs(), worth: busy.isWorthWaiting(locked) }).toEqual({
      patience: 0,
      worth: false,
    });
  });

  test("the last writes wait long, all of them together once", () => {
    const { busy, told, clock, write } = rig(100);
    busy.ending();
    write(locked);
    clock.now = 60_000;
    write(locked);
    expect(told).toEqual(["5000", "0"]);
  });

  test("a command leaves its connection as it is, and nothing is tried again", () => {
    const { busy, told, write } = rig(null);
    write(locked);
    busy.ending();
    write(locked);
    expect({ told, trouble: busy.isTrouble(), patience: busy.patienceMs() }).toEqual({
      told: [],
      trouble: true,
      patience: 0,
    });
  });
});

describe("what can wait", () => {
  const ends = (errors: (Error | null)[]) => () => {
    const error = errors.shift() ?? null;
    if (error !== null) throw error;
    return "done";
  };

  test("is done again until the lock is gone", async () => {
    expect(await whenFree(ends([locked, locked, null]), { patienceMs: () => 60_000 })).toBe("done");
  });

  test.each([
    ["another failure", ends([full]), 60_000, full],
    ["the end of its patience", ends([locked]), 0, locked],
  ])("fails with %s", async (_, work, patience, error) => {
    expect(await whenFree(work, { patienceMs: () => patience }).catch((thrown: unknown) => thrown)).toBe(
      error,
    );
    expect(isBusy(error)).toBe(error === locked);
  });
});
