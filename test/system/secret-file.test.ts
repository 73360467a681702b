import { afterEach, expect, test } from "bun:test";
import { join } from "node:path";
import { readSecretFile } from "../../src/system/secret-file.ts";
import { cleanUp, temporaryDirectory } from "../store/place.ts";

afterEach(cleanUp);

test.each([
  ["HUSH\r\n", { text: "HUSH" }],
  [" HUSH\n\n", { text: " HUSH\n" }],
  ["\n", { problem: "is empty" }],
])("a secret is the file without its line end: %j", async (content, read) => {
  const file = join(temporaryDirectory(), "secret");
  await Bun.write(file, content);
  expect(await readSecretFile(file)).toEqual(read);
});

test("a missing credential is distinguished from a file, without paths", async () => {
  expect(await readSecretFile("/no/such/HUSH")).toEqual({ problem: "cannot be read (ENOENT)" });
  expect(await readSecretFile("/run/credentials/no-such.service/HUSH")).toEqual({
    problem: "is a credential, available only while the service runs: start or restart it first",
  });
});
