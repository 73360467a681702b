import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { type ArchiveFile, tarGz, zip } from "../../../scripts/lib/release/archive.ts";

const EPOCH = 1_795_000_000;
const bytes = (text: string) => new TextEncoder().encode(text);
const FILES: readonly ArchiveFile[] = [
  { path: "x-1/run", content: bytes("#!/bin/sh\n"), executable: true },
  { path: "x-1/README", content: bytes("read me ".repeat(200)) },
  { path: "x-1/a/empty", content: new Uint8Array() },
  { path: "x-1/a/block", content: new Uint8Array(512).fill(65) },
];

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "licmond-archive-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function said(argv: string[]): string {
  const { stdout, stderr, exitCode } = Bun.spawnSync(argv, {
    cwd: folder,
    env: { PATH: process.env.PATH ?? "", TZ: "UTC", LC_ALL: "C" },
  });
  if (exitCode !== 0) throw new Error(`${argv.join(" ")}: ${stderr.toString()}`);
  return stdout.toString();
}

describe.each([
  ["tarGz", tarGz],
  ["zip", zip],
])("%s", (_, pack) => {
  test("the order and the moment make no difference", async () => {
    const first = pack(FILES, EPOCH);
    await Bun.sleep(5);
    expect(pack([...FILES].reverse(), EPOCH)).toEqual(first);
    expect(pack(FILES, EPOCH + 2)).not.toEqual(first);
  });
});

test("tar unpacks it: modes, owner, time, content", async () => {
  await Bun.write(join(folder, "x.tar.gz"), tarGz(FILES, EPOCH));
  const listed = said(["tar", "--numeric-owner", "--full-time", "-tvzf", "x.tar.gz"]);
  expect(
    listed
      .trimEnd()
      .split("\n")
      .map((line) => line.replace(/ +/g, " ")),
  ).toEqual([
    "-rw-r--r-- 0/0 1600 2026-11-18 11:06:40 x-1/README",
    "-rw-r--r-- 0/0 512 2026-11-18 11:06:40 x-1/a/block",
    "-rw-r--r-- 0/0 0 2026-11-18 11:06:40 x-1/a/empty",
    "-rwxr-xr-x 0/0 10 2026-11-18 11:06:40 x-1/run",
  ]);
  said(["tar", "-xzf", "x.tar.gz"]);
  for (const { path, content } of FILES)
    expect(await Bun.file(join(folder, path)).bytes()).toEqual(new Uint8Array(content));
});

test.skipIf(Bun.which("unzip") === null)("unzip unpacks it: modes, time, content", async () => {
  await Bun.write(join(folder, "x.zip"), zip(FILES, EPOCH));
  expect(said(["unzip", "-t", "x.zip"])).toContain("No errors detected");
  const listed = said(["unzip", "-ZTs", "x.zip"]);
  expect(listed).toMatch(/-rwxr-xr-x .* 20261118\.110640 x-1\/run/);
  said(["unzip", "-q", "-d", "unzipped", "x.zip"]);
  for (const { path, content } of FILES)
    expect(await Bun.file(join(folder, "unzipped", path)).bytes()).toEqual(new Uint8Array(content));
});

test("Bun reads back whatever is packed", async () => {
  const content = fc.uint8Array({ maxLength: 2000 });
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.stringMatching(/^[a-z]{1,20}$/), { minLength: 1 }),
      content,
      async (names, data) => {
        const files = names.map((path, index) => ({ path, content: data.subarray(index) }));
        const read = await new Bun.Archive(tarGz(files, EPOCH)).files();
        expect([...read.keys()].sort()).toEqual([...names].sort());
        for (const { path, content: wanted } of files)
          expect(new Uint8Array((await read.get(path)?.arrayBuffer()) ?? [1])).toEqual(
            new Uint8Array(wanted),
          );
      },
    ),
    { numRuns: 30 },
  );
});

test.each(["", "a b", "ä", "x".repeat(100)])("%j is no name for a tar file", (path) => {
  expect(() => tarGz([{ path, content: new Uint8Array() }], EPOCH)).toThrow("is no name");
});
