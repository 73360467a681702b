import { describe, expect, test } from "bun:test";
import { metricsFormat, scrapeFormat } from "../../src/http/answers/answer.ts";
import { parseText, sampleOf } from "../export/parse-text.ts";
import { bench } from "./make.ts";

const TEXT = "text/plain; version=0.0.4; charset=utf-8";
const OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/** Accept headers of Prometheus 2.42 and 3. */
const PROMETHEUS_2 =
  "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
const PROMETHEUS_3 =
  "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
const BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8";

describe("Accept of /api/metrics and /metrics", () => {
  test.each([
    [null, "json", "text"],
    ["", "json", "text"],
    ["*/*", "json", "text"],
    ["application/json", "json", "text"],
    [BROWSER, "json", "text"],
    ["text/plain", "text", "text"],
    ["TEXT/Plain ; version=0.0.4", "text", "text"],
    ["text/*", "text", "text"],
    ["application/openmetrics-text", "openmetrics", "openmetrics"],
    ["application/*", "json", "text"],
    [PROMETHEUS_2, "openmetrics", "openmetrics"],
    [PROMETHEUS_3, "openmetrics", "openmetrics"],
    // Libraries that expect JSON may list text as well.
    ["application/json, text/plain, */*", "json", "text"],
    ["text/plain;q=0.5, application/json;q=0.4", "text", "text"],
    ["text/plain;q=0.4, application/json;q=0.5", "json", "text"],
    ["text/plain, application/json;q=0.9, application/openmetrics-text;q=0.95", "text", "text"],
    ["text/plain;q=0.2, application/openmetrics-text;q=0.3", "openmetrics", "openmetrics"],
    ["text/plain;q=0", "json", "text"],
    ["application/openmetrics-text;q=0, text/plain", "text", "text"],
    ["application/openmetrics-text;version=0.0.1", "json", "text"],
    ['application/openmetrics-text; version="1.0.0"', "openmetrics", "openmetrics"],
    ["text/plain;version=1.0.0", "json", "text"],
    ["application/json;q=0, text/plain;q=0.1, */*", "text", "text"],
    ["text/plain;q=nonsense", "json", "text"],
    [",,;;=,", "json", "text"],
  ] as const)("%p: %s, %s", (accept, negotiated, scraped) => {
    expect(metricsFormat(accept)).toBe(negotiated);
    expect(scrapeFormat(accept)).toBe(scraped);
  });
});

describe("/metrics", () => {
  test("has servers and the daemon, in the requested format", async () => {
    const at = bench();
    await at.get("/api/licenses/servers/nowhere");
    const plain = await at.get("/metrics");
    expect(plain.headers.get("content-type")).toBe(TEXT);
    const told = parseText(await plain.text());
    expect(sampleOf(told, "license_feature_seats_used", { server: "eda", feature: "solver" })).toBe(1);
    const answered = { method: "GET", route: "/api/licenses/servers/:id", code: "404" };
    expect(sampleOf(told, "licmond_http_requests_total", answered)).toBe(1);
    const open = await at.get("/metrics", { headers: { accept: PROMETHEUS_2 } });
    expect(open.headers.get("content-type")).toBe(OPENMETRICS);
    expect(await open.text()).toEndWith("# EOF\n");
    expect(await at.status("/metrics/")).toBe(200);
  });

  test("needs a key that may read, not in the query", async () => {
    const at = bench();
    expect(await at.status("/metrics", { key: null })).toBe(401);
    expect(await at.status("/metrics", { key: at.keys.calendar })).toBe(403);
    expect(await at.status(`/metrics?api_key=${at.keys.viewer}`, { key: null })).toBe(401);
  });

  test("is equal for an anonymized key, without labels of servers", async () => {
    const at = bench();
    const seats = async (key: string) =>
      (await (await at.get("/metrics", { key })).text())
        .split("\n")
        .filter((line) => line.startsWith("license_"));
    const open = await seats(at.keys.viewer);
    expect(open[0]).toContain(',label_site="muc"');
    expect(await seats(at.keys.anonymous)).toEqual(open.map((line) => line.replace(',label_site="muc"', "")));
  });

  test("a failing part is an error in JSON, and the next scrape starts again", async () => {
    let fails = true;
    const at = bench({
      meters: () => {
        if (fails) throw new Error("no");
      },
    });
    expect(await at.answer("/metrics")).toMatchObject({ status: 500, body: { code: "INTERNAL_ERROR" } });
    fails = false;
    expect(await at.status("/metrics")).toBe(200);
  });
});

describe("/api/metrics", () => {
  test("is JSON, or equals /metrics if Accept asks for text", async () => {
    const at = bench();
    const json = await at.get("/api/metrics");
    expect(json.headers.get("content-type")).toStartWith("application/json");
    expect(await json.json()).toMatchObject({ type: "metrics", licenses: { total: 8 } });
    for (const [accept, type] of [
      ["text/plain", TEXT],
      ["application/openmetrics-text", OPENMETRICS],
    ] as const) {
      const text = await at.get("/api/metrics", { headers: { accept } });
      expect(text.headers.get("content-type")).toBe(type);
      expect(text.headers.get("vary")).toContain("Accept");
      expect(parseText(await text.text()).size).toBeGreaterThan(20);
    }
  });
});
