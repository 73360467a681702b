import { afterEach, describe, expect, test } from "bun:test";
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createDailyBackups } from "../../src/daemon/store.ts";
import { examineDatabase } from "../../src/store/backup/worker.ts";
import { fill } from "../store/filled.ts";
import { cleanUp, fixedClock, manualTimers, open, quickDirectory } from "../store/place.ts";
import { recordingLog } from "../store/recording-log.ts";

afterEach(cleanUp);

const DAY = 86_400_000;
const NOW = Date.parse("2026-01-31T08:15:30Z");

function rig(keep = { state: 3, history: 1 }, free = 1e12) {
  const directory = quickDirectory();
  fill(open(directory), { keys: 2, events: 5 });
  const clock = fixedClock(NOW);
  const log = recordingLog();
  const timers = manualTimers();
  const backups = createDailyBackups({
    directory,
    keep: () => keep,
    clock,
    timers,
    log,
    free: () => free,
  });
  const folder = join(directory, "backups");
  return { backups, clock, log, folder, waiting: timers.waiting, files: () => readdirSync(folder).sort() };
}

describe("daily backups", () => {
  test("are whole, private, and made once a day; the newest are kept", async () => {
    const { backups, clock, folder, files, log } = rig();
    expect(backups.newest()).toEqual({ state: null, history: null });
    await backups.look();
    expect(files()).toEqual(["history-20260131T081530Z.db", "state-20260131T081530Z.db"]);
    expect(backups.newest()).toEqual({ state: NOW, history: NOW });
    for (const name of files()) {
      expect(examineDatabase(join(folder, name))).toMatchObject({
        keys: 1,
        isState: name.startsWith("state"),
      });
      expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    }
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    clock.advance(DAY - 1_000);
    await backups.look();
    expect(files()).toHaveLength(2);
    for (let day = 0; day < 4; day++) {
      clock.advance(DAY);
      await backups.look();
    }
    expect(files()).toEqual([
      "history-20260205T081529Z.db",
      "state-20260203T081529Z.db",
      "state-20260204T081529Z.db",
      "state-20260205T081529Z.db",
    ]);
    expect(log.lines).toEqual([]);
  });

  test("of history are skipped, with a warning, where less than twice its size is free", async () => {
    const { backups, files, log } = rig(undefined, 1);
    await backups.look();
    expect(files()).toEqual(["state-20260131T081530Z.db"]);
    expect(log.lines).toMatchObject([
      { level: "warn", message: expect.stringContaining("Skipped the daily") },
    ]);
  });

  test("are not made if none are to be kept, and a backup from a wrong clock does not prevent them", async () => {
    const { backups, files, folder, clock } = rig({ state: 3, history: 0 });
    await backups.look();
    writeFileSync(join(folder, "state-20310131T081530Z.db"), "");
    clock.advance(DAY);
    await backups.look();
    expect(files().map((name) => name.slice(0, 14))).toEqual([
      "state-20260131",
      "state-20260201",
      "state-20310131",
    ]);
    expect(backups.newest()).toEqual({ state: NOW + DAY, history: null });
    const other = rig({ state: 0, history: 0 });
    await other.backups.look();
    expect(() => other.files()).toThrow("ENOENT");
  });

  test("that fail are logged and retried", async () => {
    const { backups, log, folder, waiting } = rig({ state: 1, history: 0 });
    writeFileSync(folder, "in the way");
    await backups.look();
    expect(log.lines).toMatchObject([{ level: "warn", message: "Daily backup failed" }]);
    expect(backups.newest()).toEqual({ state: null, history: null });
    backups.start();
    expect(waiting).toHaveLength(1);
    backups.stop();
    expect(waiting).toHaveLength(0);
  });
});
