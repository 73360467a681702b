import { afterEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { cleanUp, firstLine, later, open, quickDirectory, spawnScript } from "./place.ts";
import { recordingLog } from "./recording-log.ts";

afterEach(cleanUp);

const REMOVED = "Files that a killed licmond left half made were removed";
const HALF_MADE = "restoring restoring-journal rescuing rescuing-wal upgrading upgrading-shm".split(" ");
/** Begin the same, and are somebody's. */
const OTHERS = ["restoring.txt", "upgrading-notes", "schema-3-20260131T081530Z", "replaced-20260131T081530Z"];

function place() {
  const directory = quickDirectory();
  const store = open(directory);
  store.close();
  return { directory, path: store.path };
}

function litter(path: string): void {
  for (const end of [...HALF_MADE, ...OTHERS]) writeFileSync(`${path}.${end}`, end);
}

const ends = (path: string, among: readonly string[]) => among.filter((end) => existsSync(`${path}.${end}`));

test("what a killed licmond left is removed by the next daemon, and told", () => {
  const { directory, path } = place();
  const part = `${directory}/state.db.copy-4711`;
  litter(path);
  writeFileSync(part, "half");
  const log = recordingLog();
  open(directory, { log });
  expect(ends(path, HALF_MADE)).toEqual([]);
  expect(existsSync(part)).toBe(false);
  expect(ends(path, OTHERS)).toEqual(OTHERS);
  expect(log.lines.map(({ message }) => message)).toEqual([REMOVED]);
  expect(log.lines[0]?.fields.files).toContain(`${path}.rescuing-wal`);
});

test("a folder by such a name is no file of ours", () => {
  const { directory, path } = place();
  mkdirSync(`${path}.restoring`);
  open(directory);
  expect(existsSync(`${path}.restoring`)).toBe(true);
});

test("beside one that runs nothing is taken away: it may be at work on them", async () => {
  const { directory, path } = place();
  const holder = spawnScript("holder.ts", [directory]);
  later(() => holder.kill("SIGKILL"));
  expect(await firstLine(holder)).toBe("open");
  litter(path);
  open(directory, { mode: "cli" });
  expect(ends(path, HALF_MADE)).toEqual(HALF_MADE);
  holder.kill("SIGKILL");
  await holder.exited;
});
