import { afterEach, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { originOf, withMark } from "../../src/install/layout.ts";
import { lockInstallation } from "../../src/install/pass.ts";
import { cleanUp, temporaryDirectory } from "../store/place.ts";

afterEach(cleanUp);

const OURS = withMark("[Old]\n", "0.9.0");
test.each([
  ["equal below any mark", withMark("[Unit]\n", "1.0.0"), { kind: "same" }],
  ["equal without a mark", "[Unit]\n", { kind: "same" }],
  ["an unchanged text of an earlier version", OURS, { kind: "ours", version: "0.9.0" }],
  ["no mark: foreign", "", { kind: "foreign" }],
  ["other text: foreign", "[Unit]\nDescription=something else\n", { kind: "foreign" }],
  [
    "half a mark: foreign",
    "# Installed by licmond 1.0.0; sha256 of the lines below: 12.\n",
    { kind: "foreign" },
  ],
  ["another's mark: foreign", "# Installed by somebody\n[Unit]\n", { kind: "foreign" }],
])("an existing text: %s", (_, content, origin) => {
  expect(originOf(content, "[Unit]\n") as object).toEqual(origin);
});

test("detects any change of an installed text, and a newer text", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.string({ minLength: 1 }), (text, other, added) => {
      fc.pre(text + added !== other && other !== text);
      const edited = withMark(text, "1.0.0") + added;
      expect(originOf(edited, other)).toEqual({ kind: "changed", version: "1.0.0", outdated: true });
      expect(originOf(edited, text)).toEqual({ kind: "changed", version: "1.0.0", outdated: false });
    }),
  );
});

const PASS = join(import.meta.dir, "../../src/install/pass.ts");
const lockFile = () => join(temporaryDirectory(), "run/licmond.lock");

test("locks out other processes except children of the holder, and leaves no file", () => {
  const path = lockFile();
  const first = lockInstallation(path);
  if (!("release" in first)) throw new Error("not held");
  expect(lockInstallation(path, 1)).toEqual({ holder: process.pid });
  const child = lockInstallation(path, process.pid);
  if (!("release" in child)) throw new Error("not held");
  child.release();
  expect(existsSync(path)).toBe(true);
  first.release();
  expect(readdirSync(join(path, ".."))).toEqual([]);
});

test("a killed process releases the lock", () => {
  const path = lockFile();
  const script = `
      import { lockInstallation } from ${JSON.stringify(PASS)};
      console.log("release" in lockInstallation(${JSON.stringify(path)}));
      process.kill(process.pid, "SIGKILL");`;
  const { stdout, signalCode } = Bun.spawnSync([process.execPath, "-e", script]);
  expect([stdout.toString(), signalCode]).toEqual(["true\n", "SIGKILL"]);
  expect(lockInstallation(path)).toHaveProperty("release");
});

const WRITE = join(import.meta.dir, "../../src/install/files.ts");

test("a partial write is an error, and the old file stays", () => {
  const folder = temporaryDirectory();
  const file = join(folder, "licmond.toml");
  writeFileSync(file, "before");
  const script = `
      import { writeWhole } from ${JSON.stringify(WRITE)};
      writeWhole(${JSON.stringify(file)}, "x".repeat(12_000), { mode: 0o644, owner: null });`;
  // Files are limited to 8 blocks of 512 bytes, so the first write is partial, as on a full disk.
  const { exitCode, stderr } = Bun.spawnSync(
    ["sh", "-c", `trap '' XFSZ; ulimit -f 8; exec "$@"`, "sh", process.execPath, "-e", script],
    { stderr: "pipe" },
  );
  expect(stderr.toString()).toContain("EFBIG");
  expect(exitCode).not.toBe(0);
  expect(readFileSync(file, "utf8")).toBe("before");
  expect(readdirSync(folder)).toEqual(["licmond.toml"]);
});
