import { afterEach, describe, expect, test } from "bun:test";
import { createDamageReport } from "../../src/daemon/damage-report.ts";
import { corrupt, StoreError } from "../../src/store/store-error.ts";
import { cleanUp, fixedClock } from "../store/place.ts";
import { recordingLog } from "../store/recording-log.ts";

afterEach(cleanUp);

const alarm = corrupt("The database x is damaged");

/** A report whose readings of the whole database end with these in turn, null = it is whole. */
function rig(ends: (Error | null)[]) {
  const clock = fixedClock(1_000_000);
  const log = recordingLog();
  const met: StoreError[] = [];
  let examined = 0;
  const report = createDamageReport({
    ...{ clock, log, store: { path: "x", metDamage: (error) => void met.push(error) } },
    examine: async () => {
      const end = ends[examined++] ?? null;
      if (end !== null) throw end;
    },
  });
  const alarmed = async (times = 1) => {
    for (let time = 0; time < times; time++) report(alarm);
    // What was begun comes to its end in microtasks.
    await new Promise((resume) => setImmediate(resume));
  };
  return { clock, log, met, alarmed, examined: () => examined };
}

describe("damage that a worker met", () => {
  test("and that reading all finds is damage that the store met; it is read once, however many tell of it", async () => {
    const { met, alarmed, examined } = rig([corrupt("The database x is damaged (page 7)")]);
    await alarmed(5);
    expect(examined()).toBe(1);
    expect(met.map(({ code, message }) => [code, message])).toEqual([
      ["CORRUPT", "The database x is damaged (page 7)"],
    ]);
  });

  test("and that reading all does not find is a false alarm: told, and not looked for again at once", async () => {
    const { met, alarmed, examined, clock, log } = rig([null, alarm]);
    await alarmed();
    await alarmed();
    expect({ met, examined: examined(), told: log.lines.map(({ level }) => level) }).toEqual({
      ...{ met: [], examined: 1, told: ["warn"] },
    });
    clock.advance(11 * 60_000);
    await alarmed();
    expect(met).toHaveLength(1);
  });

  test("is looked for again after a reading that failed", async () => {
    const { met, alarmed, log } = rig([new StoreError("BUSY", "locked", ""), alarm]);
    await alarmed();
    expect({ met, told: log.lines[0]?.fields.error }).toEqual({ met: [], told: "locked" });
    await alarmed();
    expect(met).toHaveLength(1);
  });
});
