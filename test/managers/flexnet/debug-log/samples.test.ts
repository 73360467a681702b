import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { readLog } from "./read.ts";

const FOLDER = join(import.meta.dir, "../../../../../shared/samples/flexlm-debuglog");
const present = existsSync(FOLDER);
if (!present) console.warn("No ../shared/samples: the tests over published debug logs are skipped.");

describe.skipIf(!present)("published debug logs", () => {
  test.each([
    ["sergioedo-autodesk-2016.txt", { OUT: 1918, IN: 1918, DENIED: 0 }, 252],
    ["upm-maple-scrubbed.txt", { OUT: 262, IN: 262, DENIED: 0 }, 221],
    ["telelogic-doors-bracket-denied.txt", { OUT: 1, IN: 0, DENIED: 2 }, 0],
  ])("%s", async (name, events, timestamps) => {
    const bytes = await Bun.file(join(FOLDER, name)).bytes();
    const { reader, events: told } = readLog(bytes, { zone: "Europe/Madrid" });
    const none = { malformed: 0, brokenTimes: 0, dateJumps: 0, withoutHead: 0 };
    expect(reader.counts).toMatchObject({ events, timestamps, ...none });
    for (const [index, { at }] of told.entries()) expect(at).toBeGreaterThanOrEqual(told[index - 1]?.at ?? 0);
  });
});
