import { describe, expect, test } from "bun:test";
import { $ } from "bun";
import fc from "fast-check";
import { before, curlOf, quoted, rangeOf, rangeQuery, rangeText } from "../../src/page/range.ts";

const NOW = Date.parse("2026-11-23T10:00:00Z");
const DAY = 86_400_000;

describe("a range of an address", () => {
  test.each<[string | null, number, number, string | null]>([
    [null, NOW - 30 * DAY, NOW, "30d"],
    ["24h", NOW - DAY, NOW, "24h"],
    ["1y", NOW - 365 * DAY, NOW, "1y"],
    ["yesterday", NOW - 30 * DAY, NOW, "30d"],
    ["2026-11-01T00:00:00Z/2026-11-02T12:00:00Z", Date.UTC(2026, 10, 1), Date.UTC(2026, 10, 2, 12), null],
    ["2026-11-02T00:00:00Z/2026-11-01T00:00:00Z", NOW - 30 * DAY, NOW, "30d"],
  ])("%p", (text, start, end, word) => {
    expect(rangeOf(text, NOW, "30d")).toEqual({ start, end, word } as ReturnType<typeof rangeOf>);
  });

  test("is relative in the API if it ends now", () => {
    expect(rangeQuery(rangeOf("7d", NOW, "24h"))).toEqual({ start: "-7d" });
    const [start, end] = ["2026-11-01T00:00:00.000Z", "2026-11-02T00:00:00.000Z"];
    const stretch = rangeOf(`${start}/${end}`, NOW, "24h");
    expect(rangeQuery(stretch)).toEqual({ start, end });
    expect(rangeText(stretch.start, stretch.end)).toBe(`${start}/${end}`);
    expect(before(stretch)).toEqual({ start: stretch.start - DAY, end: stretch.start, word: null });
  });
});

describe("the API call as a command", () => {
  test("has the variable of a key, and an address below any prefix", () => {
    const base = "https://host/tools/licenses/feature?name=x#y";
    expect(curlOf(base, "/api/licenses/stats", { feature: "ARC/INFO 'a'", start: "-30d" })).toBe(
      `curl -H "X-API-Key: $LICMOND_API_KEY" 'https://host/tools/licenses/api/licenses/stats?feature=ARC%2FINFO+%27a%27&start=-30d'`,
    );
  });

  test("any text is one word of a shell", async () => {
    const hostile = fc.string({ unit: fc.constantFrom("'", '"', "\\", "$", "`", "\n", " ", "!", "a", "é") });
    await fc.assert(
      fc.asyncProperty(hostile, async (text) => {
        const said = await $`sh -c ${`printf %s ${quoted(text)}`}`.text();
        expect(said).toBe(text);
      }),
      { numRuns: 50 },
    );
  });
});
