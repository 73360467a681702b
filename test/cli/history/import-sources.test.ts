import { afterEach, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { dated, keepStdin, type LogSource } from "../../../src/cli/history/import-sources.ts";
import { debugLog } from "../../../src/managers/flexnet/debug-log/reader.ts";
import { cleanUp, temporaryDirectory } from "../../store/place.ts";

afterEach(cleanUp);

const PIECES = 60;
const junk = new TextEncoder().encode("junk that no license daemon writes\n".repeat(1000));
const holes = new Uint8Array(junk.length);
const LINES = "8:00:00 (acmed) TIMESTAMP 1/30/2026\n";

/** Log that counts the pieces read. */
function counted(piece: Uint8Array, end: string): LogSource & { read: number } {
  const source = {
    name: "debug.log",
    size: 1,
    lastWrite: Date.UTC(2026, 0, 31),
    read: 0,
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
  test("is read to its end before it is rejected", async () => {
    const source = counted(piece, "");
    await expect(dated(source, "UTC", debugLog)).rejects.toThrow("not a FlexNet debug log");
    expect(source.read).toBe(2 * PIECES);
  });

  test("is accepted if a later line has a time", async () => {
    const source = counted(piece, LINES);
    expect(await dated(source, "UTC", debugLog)).toMatchObject({ firstAt: Date.UTC(2026, 0, 30, 8) });
    expect(source.read).toBe(2 * PIECES);
  });
});

async function textOf(source: { pieces(): AsyncIterable<Uint8Array> }): Promise<string> {
  const parts: Buffer[] = [];
  // A piece is valid until the next one is read.
  for await (const piece of source.pieces()) parts.push(Buffer.from(piece));
  return Buffer.concat(parts).toString();
}

test("stdin can be read repeatedly, compressed or not, and leaves no file in the directory", async () => {
  const directory = temporaryDirectory();
  const text = "8:00:00 (acmed) OUT: solver\n".repeat(40_000);
  for (const bytes of [Buffer.from(text), gzipSync(text)]) {
    const told: string[] = [];
    const cut = async function* () {
      for (let at = 0; at < bytes.length; at += 65_537) {
        yield bytes.subarray(at, at + 65_537);
        expect(readdirSync(directory)).toEqual([]);
      }
    };
    const { source, close } = await keepStdin(cut(), directory, 1234, (line) => told.push(line), 100_000_000);
    expect(source).toMatchObject({ name: "stdin", size: bytes.length, lastWrite: 1234 });
    expect(await textOf(source)).toBe(text);
    expect(await textOf(source)).toBe(text);
    expect(told).toEqual([]);
    close();
  }
});

test("keeps no piece in memory: reads the next one after writing the previous one", async () => {
  const directory = temporaryDirectory();
  const told: string[] = [];
  // All pieces are one buffer, overwritten each time.
  const one = new Uint8Array(1000);
  const pieces = async function* () {
    for (let at = 0; at < 50; at++) yield one.fill(48 + (at % 10));
  };
  const { source, close } = await keepStdin(pieces(), directory, 0, (line) => told.push(line), 10_000);
  const text = await textOf(source);
  expect(text).toBe(Array.from({ length: 50 }, (_, at) => String(at % 10).repeat(1000)).join(""));
  expect(told.length).toBe(1);
  expect(told[0]).toContain(directory);
  close();
});

test("an interrupted stdin is an error, and leaves no file", async () => {
  const directory = temporaryDirectory();
  const full = async function* () {
    yield new Uint8Array(2_000_000);
    throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
  };
  expect(keepStdin(full(), directory, 0, () => {})).rejects.toThrow(
    `stdin does not fit into ${directory}, which is full after 2 MB`,
  );
  expect(readdirSync(directory)).toEqual([]);
});
