import { expect, test } from "bun:test";
import type { FeaturePicture } from "../../src/domain/picture.ts";
import { bench, feature, picture } from "./make.ts";

const HOSTILE = '<img src=x onerror="alert(1)">&\u202e\u0007';
const named = (...features: FeaturePicture[]) => {
  const at = bench();
  at.show(
    picture("eda", { features }),
    picture("cad", { features: [feature("twice"), feature("twice", { daemon: "d" })] }),
  );
  return at;
};

test.each<[string, Partial<FeaturePicture>, string, string]>([
  ["free", { total: 36, available: 2, used: 34 }, "2 of 36 free", "#0b6b75"],
  ["full", { total: 12, available: 0, used: 12, queued: 3 }, "0 of 12 free, 3 waited for", "#a34a00"],
  ["stale", { state: "stale", total: 4, available: 4 }, "stale: 4 of 4 free", "#5f6872"],
  ["partial", { state: "partial", total: 4, available: 1 }, "1 of 4 free (partial)", "#0b6b75"],
  ["no limit", { unlimited: true, total: null, available: null, used: 3 }, "no limit, 3 in use", "#0b6b75"],
  ["not counted", { unlimited: true, total: null, available: null, used: null }, "no limit", "#0b6b75"],
  ["failed", { state: "failed", total: null, available: null, collectedAt: null }, "unknown", "#5f6872"],
])("a feature that is %s", async (_, more, words, fill) => {
  const answer = await named(feature("solver", more)).get(
    "/badge.svg?feature=solver&server=eda&daemon=acmed",
  );
  expect([answer.status, answer.headers.get("cache-control")]).toEqual([200, "private, max-age=30"]);
  const svg = await answer.text();
  expect(svg).toContain(`aria-label="solver: ${words}"`);
  expect(svg).toContain(`<path d="M${/M(\d+)/.exec(svg)?.[1]} 0`);
  expect(svg).toContain(`fill="${fill}"`);
});

test("any name is escaped, and no longer than a line", async () => {
  const at = named(feature(HOSTILE), feature("x".repeat(4096)));
  const svg = await (await at.get(`/badge.svg?feature=${encodeURIComponent(HOSTILE)}`)).text();
  expect([...svg.matchAll(/<\/?(\w+)/g)].map(([, tag]) => tag)).not.toContain("img");
  expect(svg).toContain("&lt;img src=x onerror=&quot;alert(1)&quot;&gt;&amp;\\u202e\\u0007");
  const wide = await (await at.get(`/badge.svg?feature=${"x".repeat(4096)}`)).text();
  expect(Number(/width="(\d+)"/.exec(wide)?.[1])).toBeLessThan(600);
});

test.each([
  ["", 400],
  ["?feature=twice&server=cad", 400],
  ["?feature=twice&server=cad&daemon=d", 200],
  ["?feature=solver&server=nowhere", 404],
])("%s is answered with %p", async (query, status) =>
  expect((await named(feature("solver")).get(`/badge.svg${query}`)).status).toBe(status),
);
