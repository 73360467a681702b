import { describe, expect, test } from "bun:test";
import { ApiError } from "../../src/domain/errors.ts";
import { sortOf } from "../../src/http/answers/list.ts";
import {
  decimal,
  flag,
  integer,
  LIVE_LIST,
  NAMED,
  names,
  queryOf,
  STORED_LIST,
  shown,
  sortBy,
  text,
  wordList,
} from "../../src/http/query.ts";
import { endTime, openRange, parseTime, startTime } from "../../src/http/query-time.ts";
import { NOW } from "./make.ts";

const QUERY = queryOf({
  search: text(".", "a"),
  server: names(".", "a"),
  feature: NAMED.feature,
  state: wordList(["ok", "stale"], "."),
  refresh: flag("."),
  lines: integer(".", { minimum: -5, maximum: 100 }, 10),
  share: decimal(".", { minimum: 0, maximum: 100 }),
  sort: sortBy(["name", "used"]),
  start: startTime("."),
  end: endTime("."),
  ...LIVE_LIST,
});

/** Returns the message of the refusal. */
function refused(query: string): string {
  try {
    QUERY.parse(query);
  } catch (error) {
    if (error instanceof ApiError && error.code === "INVALID_QUERY") return error.message;
    throw error;
  }
  throw new Error(`${query} was taken`);
}

describe("accepted queries", () => {
  test("nothing", () => {
    const { lines, offset, ...rest } = QUERY.parse("");
    expect([lines, offset, new Set(Object.values(rest))]).toEqual([10, 0, new Set([null])]);
    expect(queryOf(STORED_LIST).parse("")).toMatchObject({ limit: 100, offset: 0 });
  });

  test.each<[string, object]>([
    ["server=a,b&server=c", { server: ["a", "b", "c"] }],
    ["feature=a,b&feature=c", { feature: ["a,b", "c"] }],
    ["state=ok,stale", { state: ["ok", "stale"] }],
    ["refresh=true", { refresh: true }],
    ["refresh=false", { refresh: false }],
    ["lines=-3", { lines: -3 }],
    ["lines=007", { lines: 7 }],
    ["share=12.5", { share: 12.5 }],
    ["sort=-used", { sort: "-used" }],
    ["search=", { search: "" }],
    ["search=%F0%9F%94%A5", { search: "🔥" }],
    ["limit=10000&offset=5", { limit: 10_000, offset: 5 }],
    ["_=1769847330123", {}],
  ])("%s", (query, values) => expect(QUERY.parse(query)).toMatchObject(values));

  test("a sort field and its direction", () => {
    expect(sortOf<"name">("name")).toEqual({ field: "name", descending: false });
    expect(sortOf<"used">("-used")).toEqual({ field: "used", descending: true });
    expect(sortOf(undefined)).toBeNull();
  });

  test("a bare date as end includes its day", () => {
    const [start, end] = [Date.UTC(2026, 0, 31), Date.UTC(2026, 1, 1)];
    expect(openRange("2026-01-31", "2026-01-31", NOW)).toEqual({ start, end });
    expect(openRange(undefined, "2026-01-31T00:00", NOW)).toEqual({ start: null, end: start });
  });

  test.each<[string, number]>([
    ["2026-01-31T08:15:30.123Z", Date.UTC(2026, 0, 31, 8, 15, 30, 123)],
    ["2026-01-31T08:15:30.1Z", Date.UTC(2026, 0, 31, 8, 15, 30, 100)],
    ["2026-01-31 08:15", Date.UTC(2026, 0, 31, 8, 15)],
    ["2026-01-31T08:15:30+02:00", Date.UTC(2026, 0, 31, 6, 15, 30)],
    ["2026-01-31T08:15:30 02:00", Date.UTC(2026, 0, 31, 6, 15, 30)],
    ["2026-01-31T08:15:30-0530", Date.UTC(2026, 0, 31, 13, 45, 30)],
    ["1769847330123", 1769847330123],
    ["999999999999", 999999999999],
    ["99999999999999", 99999999999999],
    ["now", NOW],
    ["-7d", NOW - 7 * 86_400_000],
    ["-90m", NOW - 90 * 60_000],
    ["-1y", NOW - 365 * 86_400_000],
    ["-0s", NOW],
  ])("time %s", (value, at) => expect(parseTime(value, NOW)?.at).toBe(at));

  test("a plus in a time zone need not be escaped", () => {
    const { start } = QUERY.parse("start=2026-01-31T08:15:30+02:00");
    expect(openRange(start ?? "", undefined, NOW).start).toBe(Date.UTC(2026, 0, 31, 6, 15, 30));
  });
});

describe("refused queries", () => {
  test.each([
    ["state=fine", '"state" got "fine"; it must be one or more of ok, stale'],
    ["state=ok,", '"state" got "ok,"; it must be one or more of ok, stale'],
    ["format=xml", '"format" got "xml"; it must be one of json, csv'],
    ["refresh=1", '"refresh" got "1"; it must be true or false'],
    ["refresh=", '"refresh" got ""'],
    ["lines=101", '"lines" got "101"; it must be an integer from -5 to 100'],
    ["lines=0x3", "an integer"],
    ["lines=1e1", "an integer"],
    ["lines=%201", "an integer"],
    ["lines=1.0", "an integer"],
    ["lines=", "an integer"],
    ["lines=٣", "an integer"],
    ["share=1e1", "plain decimals"],
    ["share=.5", "plain decimals"],
    ["share=NaN", "plain decimals"],
    ["sort=nothing", "one of name, used"],
    ["sort=--name", "one of name, used"],
    ["sort=toString", "one of name, used"],
    ["limit=0", "from 1 to 10000"],
    ["limit=10001", "from 1 to 10000"],
    ["offset=-1", "from 0"],
    ["limit=1&limit=2", '"limit" may be given only once, got 2'],
    ["search=a&search=b", '"search" may be given only once, got 2'],
    ["limi=1", 'Unknown query parameter "limi". The closest one is "limit".'],
    ["LIMIT=1", 'Unknown query parameter "LIMIT". The closest one is "limit".'],
    ["__proto__=x", 'Unknown query parameter "__proto__"'],
    ["constructor=x&limit=1", 'Unknown query parameter "constructor"'],
    ["api-key=lmk_abcdefghijkl_x", 'Unknown query parameter "api-key"'],
    ["start=yesterday", "ISO 8601"],
    ["start=2026-02-30", "ISO 8601"],
    ["start=2026-01-31T24:00", "ISO 8601"],
    ["start=17698473301", "ISO 8601"],
    ["start=2026-01-31T08:15:30+99:00", "ISO 8601"],
  ])("%s", (query, says) => expect(refused(query)).toContain(says));

  test("start must be before end", () => {
    const range = (start: string | undefined, end: string) => () => openRange(start, end, 0);
    expect(range("1772366400005", "1772366400005")).toThrow("must lie before");
    expect(range("2026-03-02", "2026-03-01")).toThrow(/000Z\. A date as "end" includes its whole day\.$/);
    expect(range("1772366400004", "1772366400005")).not.toThrow();
    expect(range(undefined, "1772366400005")).not.toThrow();
  });

  test("values are truncated, control characters escaped, keys masked", () => {
    const long = refused(`limit=${"9".repeat(42)},${"8 ".repeat(500)}`);
    expect(long.length).toBeLessThan(220);
    expect(shown("a\nb\u0000\u202e")).toBe('"a\\u000ab\\u0000\\u202e"');
    const secret = "A".repeat(43);
    const key = `lmk_abcdefghijkl_${secret}`;
    for (const value of [key, secret, `x=${key}`, `${"y".repeat(90)} ${key}`])
      expect(refused(`limit=${encodeURIComponent(value)}`)).not.toContain("AAAA");
  });
});
