import { describe, expect, test } from "bun:test";
import { FeatureRecord, ServerRecord } from "../../src/domain/records.ts";
import { formatOf } from "../../src/http/answers/answer.ts";
import { columnsOf, csvRows } from "../../src/http/answers/list.ts";
import { matches } from "../../src/http/snapshot.ts";
import { bench, checkout, feature, picture } from "./make.ts";

const TAGGED = ["", "/features", "/users", "/servers", "/servers/eda", "/summary"];

describe("ETag", () => {
  test.each(TAGGED)("/api/licenses%s answers 304 until the snapshot changes", async (list) => {
    const at = bench();
    const path = `/api/licenses${list}`;
    const first = await at.get(path);
    const etag = first.headers.get("etag") ?? "";
    expect(etag).toMatch(/^"[\w-]+"$/);
    const again = await at.get(path, { headers: { "if-none-match": etag } });
    expect([again.status, await again.text(), again.headers.get("etag")]).toEqual([304, "", etag]);
    expect(again.headers.get("x-request-id")).toBeTruthy();
    expect(again.headers.get("vary")).toContain("X-API-Key");
    // Time alone does not change an answer: equal snapshots give equal bytes.
    at.now += 86_400_000;
    expect(await (await at.get(path)).text()).toBe(await first.text());
    at.show(picture("eda", { pollDurationMs: 5, features: [feature("other", { used: 2 })] }));
    const changed = await at.get(path, { headers: { "if-none-match": etag } });
    expect(changed.status).toBe(200);
    expect(changed.headers.get("etag")).not.toBe(etag);
  });

  test("covers the query and the format", async () => {
    const at = bench();
    const tagOf = async (query: string, accept = "*/*", of = at) =>
      (await of.get(`/api/licenses/features${query}`, { headers: { accept } })).headers.get("etag");
    const tags = await Promise.all([
      ...["", "?limit=1", "?limit=2", "?format=csv", "?server=eda"].map((query) => tagOf(query)),
      tagOf("", "text/csv"),
      tagOf("", "*/*", bench()),
    ]);
    expect(new Set(tags).size).toBe(7);
  });

  test("a 304 still needs a key", async () => {
    const at = bench();
    const etag = (await at.get("/api/licenses")).headers.get("etag") ?? "";
    const without = { key: null, headers: { "if-none-match": etag } };
    expect(await at.status("/api/licenses", without)).toBe(401);
  });

  test.each([
    ['"a"', true],
    ['W/"a"', true],
    ['"b", "a"', true],
    ["*", true],
    ['"b"', false],
    ["a", false],
  ])("If-None-Match: %s", (sent, expected) => expect(matches(sent, '"a"')).toBe(expected));
});

describe("the reused buffer", () => {
  test.each(["/api/licenses", "/api/licenses/features"])(
    "%s: answers in progress and parts keep their bytes",
    async (path) => {
      const at = bench();
      const [one, two] = [picture("one"), picture("two", { features: [feature("x".repeat(5000))] })];
      at.show(one, two);
      const first = await at.get(path);
      const part = await at.get(`${path}?server=one`);
      const again = await at.get(`${path}?_=1`);
      at.show(two, one);
      const later = await at.get(path);
      at.show(picture("tiny", { features: [] }));
      const last = await at.get(path);
      const texts = await Promise.all([first, part, again, later, last].map((response) => response.text()));
      for (const text of texts) expect(() => JSON.parse(text)).not.toThrow();
      const [firstText = "", partText = "", againText, laterText = "", lastText = ""] = texts;
      expect(againText).toBe(firstText);
      expect(firstText.indexOf('"one"')).toBeLessThan(firstText.indexOf('"two"'));
      expect(laterText.indexOf('"two"')).toBeLessThan(laterText.indexOf('"one"'));
      expect(partText).not.toContain('"two"');
      expect(lastText).not.toContain('"one"');
    },
  );

  test("a kept answer stays the same after another one of the same snapshot with other alerts", async () => {
    let counts = { info: 0, warning: 1, critical: 2 };
    const { alerts } = bench().deps;
    // Queries for a server do not count alerts without a server, such as a full disk.
    const at = bench({
      alerts: { ...alerts, counts: (servers) => (servers === null ? counts : { ...counts, info: 7 }) },
    });
    const alertsOf = async (query = "") =>
      (await at.json<{ summary: { alerts: unknown } }>(`/api/licenses${query}`)).summary.alerts;
    const before = counts;
    expect(await alertsOf()).toEqual(before);
    expect(await alertsOf("?server=eda")).toEqual({ ...before, info: 7 });
    expect(await alertsOf()).toEqual(before);
    counts = { info: 12345, warning: 0, critical: 0 };
    expect(await alertsOf()).toEqual(counts);
    counts = before;
    expect(await alertsOf()).toEqual(before);
  });
});

describe("format", () => {
  const asked = (query: Parameters<typeof formatOf>[0], accept: string | null) =>
    formatOf(query, { headers: new Headers(accept === null ? {} : { accept }) });

  test.each<["json" | "csv" | undefined, string | null, "json" | "csv"]>([
    [undefined, null, "json"],
    [undefined, "*/*", "json"],
    [undefined, "text/html,application/xhtml+xml,*/*;q=0.8", "json"],
    [undefined, "text/csv", "csv"],
    [undefined, "text/csv;q=0.5, application/json", "json"],
    [undefined, "text/csv, */*;q=0.1", "csv"],
    [undefined, "text/csv;q=0", "json"],
    [undefined, "text/csv;q=0.5, */*;q=0.9", "json"],
    [undefined, "text/csv;q=0.9, */*;q=0.5", "csv"],
    [undefined, "text/csv;q=0.5, application/*;q=0.9, application/json;q=0.1", "csv"],
    [undefined, "application/json, text/csv", "csv"],
    [undefined, "text/csv;q=0.5, application/json;q=2", "csv"],
    [undefined, "TEXT/CSV ; header=present; Q=0.3", "csv"],
    [undefined, "text/*", "json"],
    [undefined, "image/png", "json"],
    ["json", "text/csv", "json"],
    ["csv", "application/json", "csv"],
  ])("format=%s Accept: %s → %s", (format, accept, expected) =>
    expect(asked(format === undefined ? {} : { format }, accept)).toBe(expected),
  );

  test("only CSV has a byte-order mark, however CSV was requested", () => {
    expect(asked({ format: "csv", bom: true }, null)).toBe("csv-bom");
    expect(asked({ bom: true }, "text/csv")).toBe("csv-bom");
    expect(asked({ bom: true }, null)).toBe("json");
    expect(asked({ format: "csv", bom: false }, null)).toBe("csv");
  });
});

describe("CSV", () => {
  test("columns: nested lists are left out, nested objects are flattened", () => {
    const headings = (schema: Parameters<typeof columnsOf>[0]) =>
      columnsOf(schema).map((path) => path.join("."));
    expect(headings(FeatureRecord)).not.toContain("pools");
    expect(headings(ServerRecord)).toContain("counts.used");
    expect(headings(ServerRecord)).toContain("error.code");
  });

  test.each([
    ["plain", "plain"],
    ["a,b", '"a,b"'],
    ['say "x"', '"say ""x"""'],
    ["two\r\nlines", '"two\r\nlines"'],
    ["=1+1", "'=1+1"],
    ["+1", "'+1"],
    ["-1", "'-1"],
    ["@x", "'@x"],
    ["\tx", "'\tx"],
    ["\rx", `"'\rx"`],
    ['=a,"b"', `"'=a,""b"""`],
    [-1, "-1"],
    [null, ""],
    [true, "true"],
    [{ site: "muc" }, '"{""site"":""muc""}"'],
  ])("%j → %s", (value, cell) => {
    expect(csvRows([{ a: value, b: 2 }], columnsOf({ properties: { a: {}, b: {} } }))).toBe(`${cell},2\r\n`);
  });

  test.each(["licenses/features", "licenses/users", "licenses/servers", "keys"])("/api/%s", async (path) => {
    const at = bench();
    const checkouts = [checkout("ada"), checkout("bob")];
    at.show(picture("eda", { features: [feature("=cmd", { checkouts })] }));
    const key = at.keys.admin;
    const response = await at.get(`/api/${path}?format=csv&limit=1`, { key });
    expect(response.headers.get("content-type")).toBe("text/csv; charset=utf-8");
    expect(response.headers.get("content-disposition")).toMatch(/^attachment; filename="licmond-\w+\.csv"$/);
    const { total } = await at.json<{ total: number }>(`/api/${path}`, { key });
    expect(response.headers.get("x-total-count")).toBe(String(total));
    const lines = (await response.text()).split("\r\n");
    expect([lines.length, lines.at(-1)]).toEqual([3, ""]);
    if (path.endsWith("features")) expect(lines[1]).toStartWith("eda,acmed,'=cmd,4,1,3,");
  });

  test.each([
    ...["licenses/features", "licenses/users", "licenses/servers", "licenses/alerts"],
    ...["licenses/expirations", "keys", "logs/search"],
  ])("/api/%s?bom=true begins with a byte-order mark", async (path) => {
    const at = bench();
    at.show(picture("eda", { features: [feature("solver", { checkouts: [checkout("ada")] })] }));
    const key = at.keys.admin;
    const get = async (query: string) => {
      const response = await at.get(`/api/${path}?${query}`, { key });
      return { etag: response.headers.get("etag"), body: new Uint8Array(await response.arrayBuffer()) };
    };
    const plain = await get("format=csv");
    const marked = await get("format=csv&bom=true");
    expect([...marked.body.subarray(0, 3)]).toEqual([0xef, 0xbb, 0xbf]);
    expect(marked.body.subarray(3)).toEqual(plain.body);
    if (plain.etag !== null) expect(marked.etag).not.toBe(plain.etag);
    expect((await get("bom=true")).body[0]).toBe("{".charCodeAt(0));
  });
});
