import { afterEach, expect, test } from "bun:test";
import { join } from "node:path";
import { readSecretFile } from "../../src/system/secret-file.ts";
import { cleanUp, temporaryDirectory } from "../store/place.ts";

afterEach(cleanUp);

test.each([
  ["HUSH\r\n", { text: "HUSH" }],
  [" HUSH\n\n", { text: " HUSH\n" }],
  ["\n", { problem: "is empty" }],
])("a secret is the file without the line end behind it: %j", async (content, read) => {
  const file = join(temporaryDirectory(), "secret");
  await Bun.write(file, content);
  expect(await readSecretFile(file)).toEqual(read);
});

test("one that is not there: a credential is told from a file, and neither path is said", async () => {
  expect(await readSecretFile("/no/such/HUSH")).toEqual({ problem: "cannot be read (ENOENT)" });
  expect(await readSecretFile("/run/credentials/no-such.service/HUSH")).toEqual({
    problem: "is a credential, available only while the service runs: start or restart it first",
  });
});
