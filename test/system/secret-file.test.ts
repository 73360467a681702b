import { expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readSecretFile } from "../../src/system/secret-file.ts";

test("a secret is the file without the line end behind it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "licmond-secret-"));
  try {
    const read = async (content: string) => {
      await Bun.write(join(folder, "secret"), content);
      return readSecretFile(join(folder, "secret"));
    };
    expect(await read("HUSH\r\n")).toEqual({ text: "HUSH" });
    expect(await read(" HUSH\n\n")).toEqual({ text: " HUSH\n" });
    expect(await read("\n")).toEqual({ problem: "is empty" });
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("one that is not there: a credential is told from a file, and neither path is said", async () => {
  expect(await readSecretFile("/no/such/HUSH")).toEqual({ problem: "cannot be read (ENOENT)" });
  expect(await readSecretFile("/run/credentials/no-such.service/HUSH")).toEqual({
    problem: "is a credential, which the unit hands over while the service runs: start or restart it first",
  });
});
