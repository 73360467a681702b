import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { type ArchiveFile, tarGz, zip } from "../../../scripts/lib/release/archive.ts";
import { cleanUp, temporaryDirectory } from "../../store/place.ts";

const EPOCH = 1_795_000_000;
const bytes = (text: string) => new TextEncoder().encode(text);
const FILES: readonly ArchiveFile[] = [
  { path: "x-1/run", content: bytes("#!/bin/sh\n"), executable: true },
  { path: "x-1/README", content: bytes("read me ".repeat(200)) },
  { path: "x-1/a/empty", content: new Uint8Array() },
  { path: "x-1/a/block", content: new Uint8Array(512).fill(65) },
];

const folder = temporaryDirectory();
afterAll(cleanUp);

function outputOf(...argv: string[]): string {
  const env = { PATH: process.env.PATH ?? "", TZ: "UTC", LC_ALL: "C" };
  const { stdout, stderr, exitCode } = Bun.spawnSync(argv, { cwd: folder, env });
  if (exitCode !== 0) throw new Error(`${argv.join(" ")}: ${stderr.toString()}`);
  return stdout.toString();
}

async function expectUnpacked(where: string): Promise<void> {
  for (const { path, content } of FILES)
    expect(await Bun.file(join(folder, where, path)).bytes()).toEqual(new Uint8Array(content));
}

test.each([
  ["tarGz", tarGz],
  ["zip", zip],
])("%s: order and time of the input do not matter", async (_, pack) => {
  const first = pack(FILES, EPOCH);
  await Bun.sleep(5);
  expect(pack([...FILES].reverse(), EPOCH)).toEqual(first);
  expect(pack(FILES, EPOCH + 2)).not.toEqual(first);
});

test("tar unpacks it: modes, owner, time, content", async () => {
  await Bun.write(join(folder, "x.tar.gz"), tarGz(FILES, EPOCH));
  const listed = outputOf("tar", "--numeric-owner", "--full-time", "-tvzf", "x.tar.gz").replaceAll(
    / +/g,
    " ",
  );
  expect(listed.trimEnd().split("\n")).toEqual([
    "-rw-r--r-- 0/0 1600 2026-11-18 11:06:40 x-1/README",
    "-rw-r--r-- 0/0 512 2026-11-18 11:06:40 x-1/a/block",
    "-rw-r--r-- 0/0 0 2026-11-18 11:06:40 x-1/a/empty",
    "-rwxr-xr-x 0/0 10 2026-11-18 11:06:40 x-1/run",
  ]);
  outputOf("tar", "-xzf", "x.tar.gz");
  await expectUnpacked(".");
});

test.skipIf(Bun.which("unzip") === null)("unzip unpacks it: modes, time, content", async () => {
  await Bun.write(join(folder, "x.zip"), zip(FILES, EPOCH));
  expect(outputOf("unzip", "-t", "x.zip")).toContain("No errors detected");
  expect(outputOf("unzip", "-ZTs", "x.zip")).toMatch(/-rwxr-xr-x .* 20261118\.110640 x-1\/run/);
  outputOf("unzip", "-q", "-d", "unzipped", "x.zip");
  await expectUnpacked("unzipped");
});

test.each(["", "a b", "ä", "x".repeat(100)])("%j is not a valid name in a tar file", (path) => {
  expect(() => tarGz([{ path, content: new Uint8Array() }], EPOCH)).toThrow("is not a valid name");
});
