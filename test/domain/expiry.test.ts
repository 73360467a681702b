import { describe, expect, test } from "bun:test";
import { earlierExpiry, parseExpiry, printExpiry } from "../../src/domain/expiry.ts";
import { PERMANENT, UNKNOWN_EXPIRY } from "../../src/domain/reading.ts";

const day = (expiresOn: string, at = `${expiresOn}T23:59:59.999Z`) => ({
  expiresOn,
  expiresAt: Date.parse(at),
  permanent: false,
});

describe("parseExpiry", () => {
  test.each([
    ["1-jan-0", PERMANENT, ""],
    ["01-jan-00", PERMANENT, ""],
    ["01-jan-0000", PERMANENT, ""],
    ["permanent", PERMANENT, ""],
    ["permanent(no expiration date)", PERMANENT, ""],
    ["PERMANENT", PERMANENT, ""],
    ["31-dec-2025", day("2025-12-31"), ""],
    ["15-Dec-2022", day("2022-12-15"), ""],
    ["1-JAN-2099", day("2099-01-01"), ""],
    ["31-dec-99", day("1999-12-31"), ""],
    ["31-dec-69", day("2069-12-31"), ""],
    ["30-Apr-20202", day("2020-04-30"), "2"],
  ])("%s", (text, expiry, rest) => {
    expect(parseExpiry(text, "UTC")).toEqual({ expiry, rest });
  });

  test.each(["", "soon", "31-foo-2025", "31-feb-2025", "31-dec-202", "2025-12-31"])(
    "%p is unknown, never permanent",
    (text) => expect(parseExpiry(text, "UTC")).toBeNull(),
  );

  test("an expiry is the end of the day in the server's zone", () => {
    expect(parseExpiry("31-dec-2025", "Asia/Tokyo")?.expiry).toEqual(
      day("2025-12-31", "2025-12-31T14:59:59.999Z"),
    );
  });
});

test("parseExpiry reads what printExpiry prints", () => {
  for (const expiry of [PERMANENT, day("2025-12-31"), day("2026-02-01")]) {
    expect(parseExpiry(printExpiry(expiry) ?? "", "UTC")?.expiry).toEqual(expiry);
  }
  expect(printExpiry(UNKNOWN_EXPIRY)).toBeNull();
});

test("earlierExpiry: a date before permanent before unknown", () => {
  const [early, late] = [day("2025-01-01"), day("2026-01-01")];
  expect(earlierExpiry(late, early)).toBe(early);
  expect(earlierExpiry(PERMANENT, late)).toBe(late);
  expect(earlierExpiry(UNKNOWN_EXPIRY, PERMANENT)).toBe(PERMANENT);
  expect(earlierExpiry(PERMANENT, UNKNOWN_EXPIRY)).toBe(PERMANENT);
});
