import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Validator } from "@seriousme/openapi-schema-validator";
import { ERROR_CODES, ERROR_STATUS, type ErrorCode } from "../../src/domain/errors.ts";
import { retryOf } from "../../src/http/docs/error-notes.ts";
import { type ApiDocument, dereferenced, type Operation } from "./document.ts";
import { bench } from "./make.ts";

const REDOCLY = join(import.meta.dir, "../../node_modules/@redocly/cli/bin/cli.js");

const source = await (await bench().get("/swagger/json", { key: null })).text();
const document = JSON.parse(source) as ApiDocument;
const operations: [string, Operation][] = Object.entries(dereferenced(document).paths).flatMap(
  ([path, item]) =>
    Object.entries(item).map(([method, operation]): [string, Operation] => [
      `${method.toUpperCase()} ${path}`,
      operation,
    ]),
);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "licmond-lint-"));
});
afterAll(() => rm(folder, { recursive: true }));

test("the document holds against the specification's own schema", async () => {
  const { valid, errors } = await new Validator().validate(JSON.parse(source) as Record<string, unknown>);
  expect({ valid, errors }).toEqual({ valid: true, errors: undefined });
});

test("redocly's recommended rules find nothing", async () => {
  const file = join(folder, "openapi.json");
  await Bun.write(file, source);
  const lint = async (path: string) => {
    const child = Bun.spawn(
      [
        ...[process.execPath, REDOCLY, "lint", path, "--format=json"],
        `--config=${join(import.meta.dir, "redocly.yaml")}`,
      ],
      {
        cwd: folder,
        env: { PATH: "", HOME: folder, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" },
        stdin: "ignore",
        stderr: "pipe",
      },
    );
    const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    const end = stdout.lastIndexOf("}");
    if (end === -1) throw new Error(`redocly said nothing:\n${stderr}`);
    const report = JSON.parse(stdout.slice(stdout.indexOf("{"), end + 1)) as {
      problems: { ruleId: string; message: string; location: { pointer?: string }[] }[];
    };
    return report.problems.map(({ ruleId, message, location }) => ({
      ruleId,
      message,
      where: location[0]?.pointer,
    }));
  };
  expect(await lint(file)).toEqual([]);

  // It would say so: the same document without a summary.
  const broken = join(folder, "broken.json");
  await Bun.write(broken, source.replace('"summary":"Is the daemon there",', ""));
  expect(await lint(broken)).toMatchObject([{ ruleId: "operation-summary" }]);
});

test.each(operations)("%s: every answer and parameter is described", (name, operation) => {
  const { responses, parameters = [], requestBody, tags } = operation;
  expect(tags).toHaveLength(1);
  const success = Object.keys(responses).filter((status) => Number(status) < 300);
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

test("what may be sent again, and when, is what the specification says", () => {
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
