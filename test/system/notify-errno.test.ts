import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { openSync } from "node:fs";
import { StoreError } from "../../src/store/store-error.ts";
import { errnoOf } from "../../src/system/notify-errno.ts";

const thrownBy = (work: () => unknown): unknown => {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
};
const coded = (code: string, cause?: unknown) =>
  Object.assign(new Error("x", cause === undefined ? {} : { cause }), { code });

test("a port in use, below our own words", () => {
  const taken = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const error = thrownBy(() =>
    Bun.serve({ hostname: "127.0.0.1", port: taken.port, fetch: () => new Response() }),
  );
  taken.stop(true);
  expect(errnoOf(new Error("Another program listens", { cause: error }))).toBe(98);
});

test("a file that is not there, and a database that cannot be opened", () => {
  expect(errnoOf(thrownBy(() => openSync("/nowhere/x", "r")))).toBe(2);
  // SQLite's own number of it is 14.
  expect(errnoOf(thrownBy(() => new Database("/nowhere/x.db")))).toBe(13);
});

test.each<[string, unknown, number | null]>([
  ["a system's error", coded("EACCES"), 13],
  ["the cause of a StoreError", new StoreError("NOT_WRITABLE", "a", "b", coded("EROFS")), 30],
  ["not writable, without a cause", new StoreError("NOT_WRITABLE", "a", "b"), 13],
  ["full, by SQLite", new StoreError("FULL", "a", "b", coded("SQLITE_FULL")), 28],
  ["full, by the quota", new StoreError("FULL", "a", "b", coded("EDQUOT")), 122],
  ["held by another licmond", new StoreError("HELD", "a", "b", coded("SQLITE_BUSY")), 16],
  ["a disk that fails", new StoreError("IO", "a", "b", coded("SQLITE_IOERR_WRITE")), 5],
  ["of a newer licmond", new StoreError("NEWER", "a", "b"), null],
  ["damaged", new StoreError("CORRUPT", "a", "b", coded("SQLITE_CORRUPT")), null],
  ["an error without a code", new Error("no code"), null],
  ["a code that is none", coded("toString"), null],
  ["no error", "no error", null],
])("%s", (_what, error, number) => {
  expect(errnoOf(error)).toBe(number);
});
