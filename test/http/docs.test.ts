import { describe, expect, test } from "bun:test";
import { ERROR_CODES } from "../../src/domain/errors.ts";
import { EVENT_SCHEMAS } from "../../src/domain/events.ts";
import { normalise } from "../../src/http/docs/normalise.ts";
import type { ApiDocument } from "./document.ts";
import { bench } from "./make.ts";

const at = bench();
const response = await at.get("/swagger/json", { key: null });
const source = await response.text();
const document = JSON.parse(source) as ApiDocument;

/** Words of an OpenAPI 3.0.3 schema object (https://spec.openapis.org/oas/v3.0.3#schema-object) that we use. */
const SCHEMA_WORDS = new Set([
  "type",
  "nullable",
  "enum",
  "properties",
  "required",
  "items",
  "additionalProperties",
  "description",
  "format",
  "minimum",
  "maximum",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "pattern",
  "example",
  "default",
  "$ref",
  "oneOf",
  "allOf",
]);

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

  test("has only schema words of 3.0, and references that lead somewhere", () => {
    let seen = 0;
    for (const schema of schemasIn(document)) {
      seen++;
      expect(Object.keys(schema).filter((word) => !SCHEMA_WORDS.has(word))).toEqual([]);
      if (typeof schema.$ref === "string") {
        expect(Object.keys(schema)).toEqual(["$ref"]);
        expect(document.components.schemas).toHaveProperty(schema.$ref.replace("#/components/schemas/", ""));
      }
    }
    expect(seen).toBeGreaterThan(200);
  });

  test.each(operations)("$name is described", ({ path, operation }) => {
    expect(operation.summary.length).toBeGreaterThan(3);
    expect(operation.tags).toHaveLength(1);
    expect(Array.isArray(operation.security)).toBe(true);
    for (const { description } of Object.values(operation.responses))
      expect(description.length).toBeGreaterThan(1);
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const parameters = operation.parameters ?? [];
    expect(parameters.filter((one) => one.in === "path").map(({ name }) => name)).toEqual(inPath as string[]);
    expect(new Set(parameters.map(({ name }) => name)).size).toBe(parameters.length);
  });

  test("names operations apart", () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.every((id) => /^\w+$/.test(id))).toBe(true);
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

test("normalise rewrites what 3.0 has not", () => {
  const schema = {
    $id: "x",
    type: "object",
    properties: {
      kind: { const: "a", type: "string" },
      role: { enum: ["a"], nullable: true },
      labels: { type: "object", patternProperties: { "^(.*)$": { type: "string", examples: ["a", "b"] } } },
    },
  };
  const content = { "application/json": { schema } };
  const made = normalise(
    { openapi: "3.0.3", paths: { "/a": { get: { responses: { 200: { description: "d", content } } } } } },
    {},
  );
  expect(made).toMatchObject({
    paths: {
      "/a": {
        get: {
          responses: {
            200: {
              content: {
                "application/json": {
                  schema: {
                    type: "object",
                    properties: {
                      kind: { type: "string", enum: ["a"] },
                      role: { enum: ["a", null], nullable: true },
                      labels: { type: "object", additionalProperties: { type: "string", example: "a" } },
                    },
                  },
                },
              },
            },
          },
        },
      },
    },
  });
  expect(JSON.stringify(made)).not.toMatch(/\$id|const|patternProperties|examples/);
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
