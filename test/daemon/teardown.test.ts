import { expect, test } from "bun:test";
import { createTeardown } from "../../src/daemon/teardown.ts";

test("a teardown goes backwards, tells what fails and goes on", async () => {
  const seen: string[] = [];
  const teardown = createTeardown(
    { error: (_, fields) => void seen.push(`${fields?.part}: ${fields?.error}`) },
    20,
  );
  teardown.add("first", () => void seen.push("first"));
  teardown.add("second", () => Promise.reject(new Error("stuck")));
  teardown.add("hangs", () => new Promise(() => {}));
  teardown.add("third", async () => void seen.push("third"));
  await teardown.run();
  await teardown.run();
  expect(seen).toEqual(["third", "hangs: not done after 20 ms", "second: stuck", "first"]);
});
