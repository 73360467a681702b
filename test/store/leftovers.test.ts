import { afterEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createKeys } from "../../src/store/keys.ts";
import { cleanUp, later, linesOf, open, quickDirectory, spawnScript } from "./place.ts";
import { plainKey } from "./plain-key.ts";
import { recordingLog } from "./recording-log.ts";

afterEach(cleanUp);

const clock = { now: () => Date.now() };
const REMOVED = "Files that a killed licmond left half made were removed";
const HALF_MADE = [
  "restoring",
  "restoring-journal",
  "rescuing",
  "rescuing-wal",
  "upgrading",
  "upgrading-shm",
];
/** Begin the same, and are somebody's. */
const OTHERS = ["restoring.txt", "upgrading-notes", "schema-3-20260131T081530Z", "replaced-20260131T081530Z"];

function place() {
  const directory = quickDirectory();
  const store = open(directory);
  const made = createKeys({ store, clock }).create(plainKey());
  store.close();
  return { directory, path: store.path, key: made.outcome === "created" ? made.presented : "" };
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
  for await (const line of linesOf(holder.stdout)) {
    expect(line).toBe("open");
    break;
  }
  litter(path);
  open(directory, { mode: "cli" });
  expect(ends(path, HALF_MADE)).toEqual(HALF_MADE);
  holder.kill("SIGKILL");
  await holder.exited;
});
