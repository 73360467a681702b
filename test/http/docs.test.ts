import { describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ERROR_CODES, ERROR_STATUS, type ErrorCode } from "../../src/domain/errors.ts";
import { EVENT_SCHEMAS } from "../../src/domain/events.ts";
import { retryOf } from "../../src/http/docs/error-notes.ts";
import { type ApiDocument, dereferenced, type Operation } from "./document.ts";
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

const REDOCLY = join(import.meta.dir, "../../node_modules/@redocly/cli/bin/cli.js");

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

  test("describes every route except its own page and the web page's files", () => {
    const routes = at.app.routes
      .filter(({ hooks }) => hooks.detail?.hide !== true)
      .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`);
    expect(operations.map(({ name }) => name).toSorted()).toEqual(routes.toSorted());
  });

  test("has each record once, by name", () => {
    const { schemas } = document.components;
    expect(Object.keys(schemas)).toEqual(
      expect.arrayContaining([
        ...["Alert", "Daemon", "Denial", "Error", "Expiration", "Feature", "Key", "Member", "Pool", "Server"],
        ...["Session", "StatsRow", "Status", "Summary", "UsageRow", "User", "EfficiencyRow", "HeatCell"],
        ...Object.keys(EVENT_SCHEMAS).map((type) => `${type.replaceAll(/(?:^|_)(.)/g, upper)}Event`),
      ]),
    );
    // Every reference resolves, every component is used, and no list of records is repeated.
    for (const name of Object.keys(schemas)) expect(source).toContain(`"#/components/schemas/${name}"`);
    for (const { operation } of operations)
      for (const { content } of Object.values(operation.responses))
        for (const { schema } of Object.values(content ?? {}))
          for (const { items = {} } of Object.values(schema.properties ?? {}))
            expect(items.properties).toBeUndefined();
    expect(schemas.Error).toMatchObject({ properties: { code: { $ref: "#/components/schemas/ErrorCode" } } });
    expect(schemas.ErrorCode).toMatchObject({ enum: [...ERROR_CODES] });
  });

  test("has each enum once", () => {
    const lists = [...schemasIn(document)].flatMap((schema) =>
      Array.isArray(schema.enum) && schema.enum.length > 1 ? [JSON.stringify(schema.enum)] : [],
    );
    expect(lists.filter((list, at) => lists.indexOf(list) !== at)).toEqual([]);
  });

  test("forbids unknown fields in every body", () => {
    for (const { operation } of operations)
      for (const { schema } of Object.values(operation.requestBody?.content ?? {}))
        for (const inside of [...schemasIn({ schema })].filter(({ properties }) => properties !== undefined))
          expect(inside.additionalProperties).toBe(false);
  });

  test("marks required parameters, and has patterns for ids and times", () => {
    const parametersOf = (path: string, method: string) => document.paths[path]?.[method]?.parameters ?? [];
    const parameter = (path: string, name: string, method = "get") =>
      parametersOf(path, method).find((each) => each.name === name);
    expect(parameter("/badge.svg", "feature")).toMatchObject({ required: true });
    expect(parameter("/badge.svg", "server")).toMatchObject({ required: false });
    expect(parameter("/api/keys/{id}", "id", "delete")?.schema).toHaveProperty("pattern");
    const time = parameter("/api/licenses/alerts", "start")?.schema;
    expect(time).toHaveProperty("pattern");
    const form = new RegExp(String((time as { pattern?: string } | undefined)?.pattern));
    for (const text of ["now", "-7d", "1769847330123", "2026-01-31", "2026-01-31T08:15:00Z"])
      expect(text).toMatch(form);
    expect("yesterday").not.toMatch(form);
  });

  test("names no other host", () => {
    expect(source).not.toMatch(/https?:\/\//);
  });
});

test("the plugin's own page is not served", async () => {
  for (const path of ["/page", "/document", "/swagger/page", "/docs"])
    expect(await at.status(path)).toBe(404);
});

test("passes redocly's recommended rules", async () => {
  const folder = await mkdtemp(join(tmpdir(), "licmond-lint-"));
  const file = join(folder, "openapi.json");
  await Bun.write(file, source);
  const config = `--config=${join(import.meta.dir, "redocly.yaml")}`;
  const child = Bun.spawn([process.execPath, REDOCLY, "lint", file, "--format=json", config], {
    cwd: folder,
    env: { PATH: "", HOME: folder, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" },
    stdin: "ignore",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  await rm(folder, { recursive: true });
  const [report] = /\{.*\}/s.exec(stdout) ?? [];
  expect(report === undefined ? stderr : JSON.parse(report)).toMatchObject({ problems: [] });
});

const whole: [string, Operation][] = Object.entries(dereferenced(document).paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, one]): [string, Operation] => [`${method.toUpperCase()} ${path}`, one]),
);

test.each(whole)("%s: every answer and parameter is described", (name, operation) => {
  const { responses, parameters = [], requestBody, tags } = operation;
  expect(tags).toHaveLength(1);
  // The page asks for the caller's identity, and gets an empty answer without an error.
  const isOther = (status: string) => ["GET /api/me", "GET /api/picture"].includes(name) && status === "204";
  const success = Object.keys(responses).filter((status) => Number(status) < 300 && !isOther(status));
  expect(success).toEqual([name.startsWith("GET /ws/") ? "101" : expect.stringMatching(/^20[014]$/)]);
  for (const [status, response] of Object.entries(responses)) {
    expect(Object.keys(response.headers ?? {})).toContain("X-Request-ID");
    if (Number(status) < 400) continue;
    const codes = Object.keys(response["x-retry"] ?? {}) as ErrorCode[];
    expect(codes.length).toBeGreaterThan(0);
    for (const code of codes) {
      expect(ERROR_STATUS[code]).toBe(Number(status) as never);
      expect(response["x-retry"]?.[code]).toBe(retryOf(code));
      expect(response.description).toContain(code);
    }
    expect(Object.keys(response.content?.["application/json"]?.examples ?? {})).toEqual(codes);
    if (status === "429" || status === "503") expect(response.headers).toHaveProperty("Retry-After");
  }
  for (const parameter of parameters) {
    expect(parameter.description.length).toBeGreaterThan(3);
    expect(parameter.example).toBeDefined();
    const { type, minimum, maximum, maxItems } = parameter.schema;
    if (type === "integer" || type === "number")
      expect([typeof minimum, typeof maximum]).toEqual(["number", "number"]);
    if (type === "array") expect(maxItems).toBeNumber();
  }
  if (requestBody) expect(requestBody.content["application/json"]?.example).toBeDefined();
});

test("matches the specification about safe retries", () => {
  const retry = Object.fromEntries(ERROR_CODES.map((code) => [code, retryOf(code)]));
  expect(retry).toMatchObject({
    RATE_LIMIT_EXCEEDED: "retry-after",
    SERVICE_UNAVAILABLE: "backoff",
    TIMEOUT: "same-timeout",
    UPSTREAM_ERROR: "delay",
    DATABASE_ERROR: "short-delay",
    AUTH_MISSING: "action",
    AUTH_INVALID: "action",
    INVALID_JSON: "action",
    MISSING_FIELD: "action",
    NOT_FOUND: "action",
  });
});
