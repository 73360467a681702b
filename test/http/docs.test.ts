import { describe, expect, test } from "bun:test";
import { ERROR_CODES } from "../../src/domain/errors.ts";
import { EVENT_SCHEMAS } from "../../src/domain/events.ts";
import type { ApiDocument } from "./document.ts";
import { bench } from "./make.ts";

const at = bench();
const response = await at.get("/swagger/json", { key: null });
const source = await response.text();
const document = JSON.parse(source) as ApiDocument;

const upper = (_: string, first: string) => first.toUpperCase();

function* schemasIn(value: unknown, key = ""): Generator<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    for (const one of value) yield* schemasIn(one);
    return;
  }
  for (const [name, one] of Object.entries(value)) {
    const isMap = key === "properties" || key === "schemas";
    if (
      (isMap || name === "schema" || name === "items" || name === "additionalProperties") &&
      typeof one === "object"
    ) {
      yield one as Record<string, unknown>;
    }
    yield* schemasIn(one, isMap ? "" : name);
  }
}

const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    path,
    operation,
  })),
);

describe("the document", () => {
  test("is OpenAPI 3.0.3 of this version", () => {
    expect(response.headers.get("content-type")).toStartWith("application/json");
    expect(document).toMatchObject({ openapi: "3.0.3", info: { title: "licmond", version: "1.2.3" } });
  });

  test("describes every route but its own page and the home page", () => {
    const routes = at.app.routes
      .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`)
      .filter((name) => !/ \/(swagger.*)?$/.test(name));
    expect(operations.map(({ name }) => name).toSorted()).toEqual(routes.toSorted());
  });

  test("has every record once, by its name", () => {
    const { schemas } = document.components;
    expect(Object.keys(schemas)).toEqual(
      expect.arrayContaining([
        ...["Alert", "Daemon", "Denial", "Error", "Expiration", "Feature", "Key", "Member", "Pool", "Server"],
        ...["Session", "StatsRow", "Status", "Summary", "UsageRow", "User", "EfficiencyRow", "HeatCell"],
        ...Object.keys(EVENT_SCHEMAS).map((type) => `${type.replaceAll(/(?:^|_)(.)/g, upper)}Event`),
      ]),
    );
    // Everything that is referred to is there, nothing is there for nothing, and no list of records repeats one.
    for (const name of Object.keys(schemas)) expect(source).toContain(`"#/components/schemas/${name}"`);
    for (const { operation } of operations)
      for (const { content } of Object.values(operation.responses))
        for (const { schema } of Object.values(content ?? {}))
          for (const { items = {} } of Object.values(schema.properties ?? {}))
            expect(items.properties).toBeUndefined();
    expect(schemas.Error).toMatchObject({ properties: { code: { $ref: "#/components/schemas/ErrorCode" } } });
    expect(schemas.ErrorCode).toMatchObject({ enum: [...ERROR_CODES] });
  });

  test("has each list of words once", () => {
    const lists = [...schemasIn(document)].flatMap((schema) =>
      Array.isArray(schema.enum) && schema.enum.length > 1 ? [JSON.stringify(schema.enum)] : [],
    );
    expect(lists.filter((list, at) => lists.indexOf(list) !== at)).toEqual([]);
  });

  test("says of every body that it takes no other fields", () => {
    for (const { operation } of operations)
      for (const { schema } of Object.values(operation.requestBody?.content ?? {}))
        for (const inside of [...schemasIn({ schema })].filter(({ properties }) => properties !== undefined))
          expect(inside.additionalProperties).toBe(false);
  });

  test("names no other host", () => {
    expect(source).not.toMatch(/https?:\/\//);
  });
});

describe("the page", () => {
  test("loads its parts from here, with no inline script", async () => {
    const page = await at.get("/swagger", { key: null });
    const html = await page.text();
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(page.headers.get("content-security-policy")).toContain("script-src 'self';");
    const sources = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = ""]) => path);
    expect(sources.length).toBe(3);
    for (const path of sources) {
      const asset = await at.get(path, { key: null });
      expect(asset.status).toBe(200);
      expect(asset.headers.get("content-type")).toMatch(/^text\/(css|javascript); charset=utf-8$/);
      expect((await asset.text()).length).toBeGreaterThan(100);
    }
    expect(html).not.toMatch(/<script>|onload=|https?:\/\//);
  });

  test("the plugin's own page is nowhere", async () => {
    for (const path of ["/page", "/document", "/swagger/page", "/docs"])
      expect((await at.get(path)).status).toBe(404);
  });
});
