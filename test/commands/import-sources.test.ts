import { describe, expect, test } from "bun:test";
import { inOrder, type LogSource, problemOf } from "../../src/commands/import-sources.ts";
import { debugLog } from "../../src/managers/flexnet/debug-log/reader.ts";

const PIECES = 60;
const junk = new TextEncoder().encode("junk that no license daemon writes\n".repeat(1000));
const holes = new Uint8Array(junk.length);
const LINES = "8:00:00 (acmed) TIMESTAMP 1/30/2026\n";

/** A log that counts the pieces that are read of it. */
function counted(piece: Uint8Array, end: string): LogSource & { read: number } {
  const source = {
    ...{ name: "debug.log", size: 1, lastWrite: Date.UTC(2026, 0, 31), read: 0 },
    async *pieces() {
      for (let index = 0; index < PIECES; index++) {
        source.read++;
        yield piece;
      }
      yield new TextEncoder().encode(end);
    },
  };
  return source;
}

describe.each([
  ["junk", junk],
  ["NULs", holes],
])("a log that begins with %s", (_, piece) => {
  test("is read once to see that nothing else comes", async () => {
    const source = counted(piece, "");
    expect(await problemOf(source, debugLog)).toContain("no FlexNet debug log");
    expect(source.read).toBe(PIECES);
  });

  test("is a log when a time comes at last, and has its time from there", async () => {
    const source = counted(piece, LINES);
    expect(await problemOf(source, debugLog)).toBeNull();
    expect(source.read).toBe(PIECES);
    expect(await inOrder([source], "UTC", debugLog)).toMatchObject([{ firstAt: Date.UTC(2026, 0, 30, 8) }]);
    expect(source.read).toBe(3 * PIECES);
  });
});
