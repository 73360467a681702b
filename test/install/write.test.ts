import { expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const WRITE = new URL("../../src/install/files.ts", import.meta.url).pathname;

test("a file that cannot be written to its end is an error, and the one before it stays", () => {
  const folder = mkdtempSync(join(tmpdir(), "licmond-write-"));
  try {
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
  } finally {
    rmSync(folder, { recursive: true });
  }
});
