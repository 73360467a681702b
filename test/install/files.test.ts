import { afterEach, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { originOf, withMark } from "../../src/install/layout.ts";
import { type Locked, lockInstallation } from "../../src/install/pass.ts";
import { cleanUp, temporaryDirectory } from "../store/place.ts";

afterEach(cleanUp);

test("a text under its mark is the same, whoever wrote the mark", () => {
  expect(originOf(withMark("[Unit]\n", "1.0.0"), "[Unit]\n")).toEqual({ kind: "same" });
  expect(originOf("[Unit]\n", "[Unit]\n")).toEqual({ kind: "same" });
});

test("an earlier text of ours is known without knowing that version", () => {
  expect(originOf(withMark("[Old]\n", "0.9.0"), "[Unit]\n")).toEqual({ kind: "ours", version: "0.9.0" });
});

test("any change of any text of ours is seen, and whether there is something newer", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.string({ minLength: 1 }), (text, other, added) => {
      fc.pre(text + added !== other && other !== text);
      const edited = withMark(text, "1.0.0") + added;
      expect(originOf(edited, other)).toEqual({ kind: "changed", version: "1.0.0", outdated: true });
      expect(originOf(edited, text)).toEqual({ kind: "changed", version: "1.0.0", outdated: false });
    }),
  );
});

test.each([
  "",
  "[Unit]\nDescription=something else\n",
  "# Installed by licmond 1.0.0; sha256 of the lines below: 12.\n[Unit]\n",
  "# Installed by somebody\n[Unit]\n",
])("what bears no mark of ours is foreign: %j", (content) => {
  expect(originOf(content, "[Service]\n")).toEqual({ kind: "foreign" });
});

const isHeld = (locked: Locked) => "release" in locked;
const lockFile = () => join(temporaryDirectory(), "run/licmond.lock");

test("one process at a time, and nothing is left behind", () => {
  const path = lockFile();
  const first = lockInstallation(path);
  expect(isHeld(first)).toBe(true);
  expect(lockInstallation(path, process.ppid, 1)).toEqual({ holder: process.pid });
  if ("release" in first) first.release();
  expect(readdirSync(join(path, ".."))).toEqual([]);
  expect(isHeld(lockInstallation(path))).toBe(true);
});

test("what the holder started works under its lock, and does not let go of it", () => {
  const path = lockFile();
  lockInstallation(path);
  const child = lockInstallation(path, 999_999, process.pid);
  expect(isHeld(child)).toBe(true);
  if ("release" in child) child.release();
  expect(existsSync(path)).toBe(true);
});

test("a process that was killed holds nothing any more, nor does a file without a number", () => {
  const path = lockFile();
  const { pid } = Bun.spawnSync(["true"]);
  lockInstallation(path);
  for (const left of [`${pid}\n`, "", "x"]) {
    writeFileSync(path, left);
    expect(isHeld(lockInstallation(path))).toBe(true);
  }
});

const WRITE = join(import.meta.dir, "../../src/install/files.ts");

test("a file that cannot be written to its end is an error, and the one before it stays", () => {
  const folder = temporaryDirectory();
  const file = join(folder, "licmond.toml");
  writeFileSync(file, "before");
  const script = `
      import { writeWhole } from ${JSON.stringify(WRITE)};
      writeWhole(${JSON.stringify(file)}, "x".repeat(12_000), { mode: 0o644, owner: null });`;
  // A file may grow to 8 blocks of 512 bytes: the first write is taken in part, as on a disk that fills up.
  const { exitCode, stderr } = Bun.spawnSync(
    ["sh", "-c", `trap '' XFSZ; ulimit -f 8; exec "$@"`, "sh", process.execPath, "-e", script],
    { stderr: "pipe" },
  );
  expect(stderr.toString()).toContain("EFBIG");
  expect(exitCode).not.toBe(0);
  expect(readFileSync(file, "utf8")).toBe("before");
  expect(readdirSync(folder)).toEqual(["licmond.toml"]);
});
