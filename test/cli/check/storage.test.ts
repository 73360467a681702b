import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { chownSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { checkStorage, type StatFs } from "../../../src/cli/check/files.ts";
import { createPlace, run } from "../rig.ts";

/** What a check of the directory reports: a mark and the words each. */
function told(directory: string, statFs?: StatFs): string[] {
  const lines: string[] = [];
  const say = (mark: string) => (_what: string, message: string, fix?: string | null) =>
    void lines.push(`${mark}: ${message}${fix ? ` | ${fix}` : ""}`);
  checkStorage(directory, { fine: say("ok"), warning: say("warning"), problem: say("PROBLEM") }, statFs);
  return lines;
}

const disk =
  (blocks: number, free: number, bsize = 4096): StatFs =>
  () => ({ blocks, bfree: free, bavail: free, bsize });
const GB = 262_144;

describe("room on the disk", () => {
  const rooms: [string, StatFs, string | null][] = [
    ["plenty", disk(100 * GB, 50 * GB), null],
    ["more than nine tenths full", disk(100 * GB, 8 * GB), "warning: the file system of "],
    ["nearly full", disk(100 * GB, 4 * GB), "PROBLEM: the file system of "],
    ["a small one, with little left", disk(GB, GB / 4), "warning: the file system of "],
    ["hardly anything", disk(GB / 8, GB / 32), "PROBLEM: the file system of "],
    ["one that tells nothing", disk(0, 0), null],
  ];
  test.each(rooms)("%s", async (_name, statFs, words) => {
    await using place = await createPlace();
    const [fine, ...others] = told(place.folder, statFs);
    expect(fine).toBe(`ok: ${place.folder} can be written`);
    expect(others).toEqual(words === null ? [] : [expect.stringContaining(words)]);
  });
});

test("a database of an older licmond: what the daemon will do with it", async () => {
  await using place = await createPlace();
  await run(["keys", "create", "--name", "a", "--role", "viewer", "--config", place.config]);
  const sqlite = new Database(join(place.storage, "licmond.db"));
  sqlite.run("PRAGMA user_version = 3");
  sqlite.run("PRAGMA wal_checkpoint(TRUNCATE)");
  sqlite.close();
  await Bun.write(join(place.storage, "licmond.db-wal"), "a daemon's");
  // What its header says is outdated then.
  expect(told(place.storage, disk(100 * GB, 50 * GB))).toEqual([expect.any(String)]);
  await rm(join(place.storage, "licmond.db-wal"), { force: true });
  const older = expect.stringMatching(
    /^warning: the database is an older licmond's \(schema 3, .*backs it up/,
  );
  expect(told(place.storage, disk(100 * GB, 50 * GB))).toEqual([expect.any(String), older]);
});

test.skipIf(process.getuid?.() !== 0)("a file in it that belongs to another user", async () => {
  await using place = await createPlace();
  await run(["keys", "create", "--name", "a", "--role", "viewer", "--config", place.config]);
  chownSync(place.storage, 4711, 4711);
  const [line] = told(place.storage);
  expect(line).toMatch(/^PROBLEM: .*licmond\.db.* belongs? to another user .*\| chown -R --reference=/);
});

test("a place that takes no new directory", () => {
  expect(told("/proc/licmond")).toEqual([
    "PROBLEM: /proc/licmond does not exist and cannot be made: /proc takes no new directory | set storage.directory to another",
  ]);
});
