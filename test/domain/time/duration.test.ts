import { expect, test } from "bun:test";
import { parseBytes, printBytes } from "../../../src/domain/bytes.ts";
import { parseDuration, span } from "../../../src/domain/time/clock.ts";

test.each<[string, number | null]>([
  ["60s", 60_000],
  ["5m", 300_000],
  ["24h", 86_400_000],
  ["400d", 400 * 86_400_000],
  ["5y", 5 * 365 * 86_400_000],
  ["0s", 0],
  ["007s", 7_000],
  ["", null],
  ["60", null],
  ["s", null],
  ["1.5h", null],
  ["-1s", null],
  ["1 s", null],
  ["1h30m", null],
  ["1ms", null],
  ["1S", null],
  ["999999999999999y", null],
])("the duration %j is %p ms", (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test.each<[string, number | null]>([
  ["256MB", 256e6],
  ["256 MB", 256e6],
  ["1kB", 1000],
  ["1KiB", 1024],
  ["2gib", 2 * 2 ** 30],
  ["512", 512],
  ["512B", 512],
  ["1iB", null],
  ["1.5GB", null],
  ["-1MB", null],
  ["MB", null],
  ["999999999999999TB", null],
])("the size %j is %p bytes", (text, bytes) => {
  expect(parseBytes(text)).toBe(bytes);
});

test.each<[number, string]>([
  [0, "0 B"],
  [999, "999 B"],
  [1_500_000, "1.5 MB"],
  [256e6, "256 MB"],
])("%p bytes print as %s", (bytes, text) => {
  expect(printBytes(bytes)).toBe(text);
});

test.each([
  [0, "0 s"],
  [59_400, "59 s"],
  [59_990, "1 min"],
  [14 * 60_000, "14 min"],
  [7_800_000, "2 h 10 min"],
  [97_200_000, "1 d 3 h"],
  [20.5 * 86_400_000, "20 d"],
  [-5, "0 s"],
])("%d ms print as %s", (ms, text) => {
  expect(span(ms)).toBe(text);
});
