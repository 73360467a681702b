import { afterEach, expect, test } from "bun:test";
import { join } from "node:path";
import { cleanUp, temporaryDirectory } from "./place.ts";

afterEach(cleanUp);

/** Without a check, opening a pipe would wait for a writer forever. */
test.each([
  ["store/open/open.ts", "openStore", "({ directory, log, damaged: 'move-aside' })", "is not a file"],
  ["store/database/read-only.ts", "withDatabase", "(directory, async () => {})", "is not a file"],
  ["store/database/read-only.ts", "bytesInUse", "(pipe)", "is not a file"],
  ["collector/tool.ts", "readElf", "(pipe) ?? console.error('no ELF')", "no ELF"],
])("%s: %s does not wait at a named pipe", (path, name, call, says) => {
  const directory = temporaryDirectory();
  const pipe = join(directory, "licmond.db");
  expect(Bun.spawnSync(["mkfifo", pipe]).success).toBe(true);
  const script = `
    const [directory, pipe] = ${JSON.stringify([directory, pipe])};
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const { ${name} } = await import(${JSON.stringify(join(import.meta.dir, "../../src", path))});
    await (${name}${call});`;
  const { stderr, signalCode } = Bun.spawnSync([process.execPath, "-e", script], {
    stderr: "pipe",
    timeout: 60_000,
    killSignal: "SIGKILL",
  });
  expect([signalCode ?? "ended", stderr.toString()]).toEqual(["ended", expect.stringContaining(says)]);
});
