import { afterEach, expect, test } from "bun:test";
import { installationSecret } from "../../src/store/secrets.ts";
import { cleanUp, open, temporaryDirectory } from "./place.ts";

afterEach(cleanUp);

test("a secret is made once, and is another in another installation", () => {
  const directory = temporaryDirectory();
  const store = open(directory);
  const secret = installationSecret(store, "pseudonyms");
  expect(secret).toHaveLength(32);
  expect(installationSecret(store, "pseudonyms")).toEqual(secret);

  const beside = open(directory, { mode: "cli" });
  expect(installationSecret(beside, "pseudonyms")).toEqual(secret);
  store.close();
  expect(installationSecret(open(directory), "pseudonyms")).toEqual(secret);

  expect(installationSecret(open(temporaryDirectory()), "pseudonyms")).not.toEqual(secret);
});

test("who comes second takes what the first made", () => {
  const store = open(temporaryDirectory());
  let asked = 0;
  const secret = installationSecret(store, "pseudonyms", (n) => {
    asked++;
    return new Uint8Array(n).fill(7);
  });
  expect(secret).toEqual(Buffer.alloc(32, 7));
  installationSecret(store, "pseudonyms", () => {
    throw new Error("not asked again");
  });
  expect(asked).toBe(1);
});
