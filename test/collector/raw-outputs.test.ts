import { expect, test } from "bun:test";
import { createRawOutputs } from "../../src/collector/outcomes.ts";
import { outcome, reading } from "./sample-poll.ts";

const EMPTY = new Uint8Array(0);
const raw = (stdout: Uint8Array) => ({
  argv: ["lmutil", "lmstat"],
  exitCode: 241,
  signal: null,
  stdout,
  stderr: EMPTY,
  truncated: true,
});

test("bytes come back as they came, before and after they were compressed", async () => {
  const outputs = createRawOutputs();
  const stdout = Uint8Array.from({ length: 300_000 }, (_, index) => (index * index) % 251);
  outputs.keep(outcome("a", { raw: raw(stdout), finishedAt: 5 }));
  const at = await outputs.get("a");
  expect(at).toMatchObject({ at: 5, exitCode: 241, truncated: true, unparsedLines: 0, unparsed: [] });
  expect(at?.stdout).toEqual(stdout);
  let later = (await outputs.get("a"))?.stdout;
  // Once they are compressed it is another array: the bytes themselves are no longer held.
  while (later === stdout) {
    await Bun.sleep(1);
    later = (await outputs.get("a"))?.stdout;
  }
  expect(new Uint8Array(later ?? [])).toEqual(stdout);
});

test("the lines that no rule knew are the reading's, and all of them where nothing was recognised", async () => {
  const outputs = createRawOutputs();
  const unparsed = [{ line: 3, text: "what?" }];
  outputs.keep(outcome("a", { reading: reading({ unparsedLines: 9, unparsed }) }));
  expect(await outputs.get("a")).toMatchObject({ unparsedLines: 9, unparsed });
  outputs.keep(outcome("a", { reading: null, raw: raw(new TextEncoder().encode("one\r\n\r\n\ttwo\n")) }));
  expect(await outputs.get("a")).toMatchObject({
    unparsedLines: 2,
    unparsed: [
      { line: 1, text: "one" },
      { line: 3, text: "\ttwo" },
    ],
  });
  outputs.forget("a");
  expect(await outputs.get("a")).toBeNull();
});
