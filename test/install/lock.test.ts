import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Locked, lockInstallation } from "../../src/install/pass.ts";

let folder = "";
let path = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "licmond-lock-"));
  path = join(folder, "run/licmond.lock");
});
afterEach(() => rmSync(folder, { recursive: true }));

const isHeld = (locked: Locked) => "release" in locked;

test("one process at a time, and nothing is left behind", () => {
  const first = lockInstallation(path);
  expect(isHeld(first)).toBe(true);
  expect(lockInstallation(path, process.ppid, 1)).toEqual({ holder: process.pid });
  if ("release" in first) first.release();
  expect(readdirSync(join(folder, "run"))).toEqual([]);
  expect(isHeld(lockInstallation(path))).toBe(true);
});

test("what the holder started works under its lock, and does not let go of it", () => {
  lockInstallation(path);
  const child = lockInstallation(path, 999_999, process.pid);
  expect(isHeld(child)).toBe(true);
  if ("release" in child) child.release();
  expect(existsSync(path)).toBe(true);
});

test("a process that was killed holds nothing any more, nor does a file without a number", () => {
  const { pid } = Bun.spawnSync(["true"]);
  lockInstallation(path);
  for (const left of [`${pid}\n`, "", "x"]) {
    writeFileSync(path, left);
    expect(isHeld(lockInstallation(path))).toBe(true);
  }
});
