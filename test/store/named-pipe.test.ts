import { afterEach, expect, test } from "bun:test";
import { join } from "node:path";
import { cleanUp, temporaryDirectory } from "./place.ts";

afterEach(cleanUp);

const source = (path: string) => JSON.stringify(join(import.meta.dir, "../../src", path));
const directory = (pipe: string) => JSON.stringify(join(pipe, ".."));
const log = "{ debug() {}, info() {}, warn() {}, error() {} }";

/** What opens a file, and a wait for a writer that never comes is one that no timeout in its own process ends. */
test.each([
  [
    "openStore",
    "is not a file",
    (pipe: string) =>
      `const { openStore } = await import(${source("store/open/open.ts")}); openStore({ directory: ${directory(pipe)}, log: ${log}, damaged: "move-aside" });`,
  ],
  [
    "withDatabase",
    "is not a file",
    (pipe: string) =>
      `const { withDatabase } = await import(${source("store/database/read-only.ts")}); await withDatabase(${directory(pipe)}, async () => {});`,
  ],
  [
    "bytesInUse",
    "is not a file",
    (pipe: string) =>
      `const { bytesInUse } = await import(${source("store/database/copy.ts")}); bytesInUse(${JSON.stringify(pipe)});`,
  ],
  [
    "readElf",
    "no ELF",
    (pipe: string) =>
      `const { readElf } = await import(${source("collector/tool.ts")}); console.error(readElf(${JSON.stringify(pipe)}) ?? "no ELF");`,
  ],
])("%s does not wait at a named pipe", (_, says, script) => {
  const pipe = join(temporaryDirectory(), "licmond.db");
  expect(Bun.spawnSync(["mkfifo", pipe]).success).toBe(true);
  const { stderr, signalCode } = Bun.spawnSync([process.execPath, "-e", script(pipe)], {
    stderr: "pipe",
    timeout: 4_000,
    killSignal: "SIGKILL",
  });
  expect([signalCode ?? "ended", stderr.toString()]).toEqual(["ended", expect.stringContaining(says)]);
});
