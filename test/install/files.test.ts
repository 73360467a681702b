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
  ["under any mark it is the same", withMark("[Unit]\n", "1.0.0"), { kind: "same" }],
  ["with none it is the same", "[Unit]\n", { kind: "same" }],
  ["an earlier text of ours is known without knowing that version", OURS, { kind: "ours", version: "0.9.0" }],
  ["no mark: foreign", "", { kind: "foreign" }],
  ["other text: foreign", "[Unit]\nDescription=something else\n", { kind: "foreign" }],
  [
    "half a mark: foreign",
    "# Installed by licmond 1.0.0; sha256 of the lines below: 12.\n[Unit]\n",
    { kind: "foreign" },
  ],
  ["another's mark: foreign", "# Installed by somebody\n[Unit]\n", { kind: "foreign" }],
])("a text that is there: %s", (_, content, origin) => {
  expect(originOf(content, "[Unit]\n") as object).toEqual(origin);
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

const PASS = join(import.meta.dir, "../../src/install/pass.ts");
const lockFile = () => join(temporaryDirectory(), "run/licmond.lock");

test("one process at a time, but what the holder started; nothing is left behind", () => {
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

test("a process that was killed holds nothing any more", () => {
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
