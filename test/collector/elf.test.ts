import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { parseElf, type ReadAt, readElf } from "../../src/collector/elf.ts";
import { elfFile } from "./elf-file.ts";

const readerOf =
  (bytes: Uint8Array): ReadAt =>
  (position, length) =>
    bytes.subarray(position, position + length);

describe("parseElf", () => {
  for (const bits of [32, 64] as const) {
    for (const little of [true, false]) {
      for (const interpreter of ["/lib64/ld-lsb-x86-64.so.3", "/lib/ld-linux.so.2", null]) {
        test(`${bits} bit, ${little ? "little" : "big"} endian, interpreter ${interpreter}`, () => {
          const bytes = elfFile({ bits, little, machine: 62, interpreter });
          expect(parseElf(readerOf(bytes))).toEqual({ bits, machine: 62, interpreter });
        });
      }
    }
  }

  test("reads the running program itself", () => {
    expect(readElf("/proc/self/exe")).toMatchObject({
      bits: 64,
      interpreter: expect.stringMatching(/^\/lib/),
    });
  });

  test("what is no ELF file, or a cut one, is null", () => {
    const whole = elfFile({ bits: 64, little: true, machine: 62, interpreter: "/lib/x" });
    expect(parseElf(readerOf(new TextEncoder().encode("#!/bin/sh\n")))).toBeNull();
    for (const length of [0, 3, 4, 51, 63, 64, 100, 119]) {
      expect(parseElf(readerOf(whole.subarray(0, length)))).toBeNull();
    }
  });

  test("never throws, whatever the header holds", () => {
    const whole = elfFile({ bits: 64, little: true, machine: 62, interpreter: "/lib/x" });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { maxLength: 20 }),
        fc.nat(whole.length),
        (changes, length) => {
          const bytes = whole.slice(0, length);
          for (const [at, value] of changes) if (at >= 4 && at < length) bytes[at] = value;
          const elf = parseElf(readerOf(bytes));
          expect(elf === null || elf.bits === 32 || elf.bits === 64).toBe(true);
        },
      ),
      { numRuns: 300 },
    );
  });
});
