import { Ajv, type ValidateFunction } from "ajv";
import addFormats from "ajv-formats";
import type { Schema } from "../../src/domain/text-types.ts";

/** The served OpenAPI document, read without trust in the code that made it. */
export interface ApiDocument {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

export interface Operation {
  readonly summary: string;
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly security: readonly unknown[];
  readonly parameters?: readonly DocumentedParameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, DocumentedResponse>>;
  readonly "x-permission": string;
}

export interface DocumentedParameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly description: string;
  readonly example?: unknown;
  readonly schema: Schema;
}

export interface DocumentedResponse {
  readonly description: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Readonly<Record<string, Media>>;
  /** Error code → when to try again. */
  readonly "x-retry"?: Readonly<Record<string, string>>;
}

export interface Media {
  readonly schema: Schema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, unknown>>;
}

/** An answer as a client saw it. */
export interface Seen {
  readonly status: number;
  readonly headers: Headers;
  /** Null where it was not read: a stream. */
  readonly text: string | null;
}

/** Says what is wrong with answers, going by the document alone. */
export interface Conformance {
  /** Problems of an answer to `method path` (a path as sent, without its query); empty when there are none. */
  check(method: string, path: string, seen: Seen): string[];
  /** `METHOD /path/{id} status` of every answer checked so far. */
  readonly seen: ReadonlySet<string>;
}

/** Codes that come before an operation is found. */
const BEFORE: readonly string[] = [
  "NOT_FOUND",
  "METHOD_NOT_ALLOWED",
  "RATE_LIMIT_EXCEEDED",
  "INTERNAL_ERROR",
];

export function createConformance(document: ApiDocument): Conformance {
  const seen = new Set<string>();
  const templates = Object.keys(document.paths)
    .toSorted((a, b) => Number(a.includes("{")) - Number(b.includes("{")))
    .map((template) => {
      const parts = template.split("/").map((part) => (part.startsWith("{") ? "[^/]+" : RegExp.escape(part)));
      return { template, pattern: new RegExp(`^${parts.join("/")}/?$`) };
    });
  const error = document.components.schemas.Error;
  if (error === undefined) throw new Error("The document has no Error");

  const checkError = ({ text, headers, status }: Seen, codes: readonly string[]): string[] => {
    const body = parse(text ?? "");
    const problem = problemOf(document, error, body);
    if (problem !== null) return [`the error body: ${problem}`];
    const { code, requestId } = body as { code: string; requestId: string };
    return [
      ...(codes.includes(code) ? [] : [`the code ${code} of a ${status} is not documented`]),
      ...(requestId === headers.get("x-request-id") ? [] : ["requestId and X-Request-ID differ"]),
      ...(status === 429 || status === 503 ? integerHeader(headers, "retry-after", 1) : []),
    ];
  };

  return {
    seen,
    check(method, path, answer) {
      const problems = answer.headers.has("x-request-id") ? [] : ["no X-Request-ID"];
      const template = templates.find(({ pattern }) => pattern.test(path))?.template;
      const item = template === undefined ? undefined : document.paths[template];
      if (template === undefined || item === undefined) {
        if (answer.status < 400 || method === "HEAD") return problems;
        return [...problems, ...checkError(answer, BEFORE)];
      }
      if (method === "OPTIONS" && answer.status === 204) {
        return answer.headers.has("allow") ? problems : [...problems, "no Allow"];
      }
      const operation = item[(method === "HEAD" ? "get" : method).toLowerCase()];
      if (operation === undefined) {
        if (answer.status === 405 && !answer.headers.has("allow")) problems.push("no Allow");
        return method === "HEAD" ? problems : [...problems, ...checkError(answer, BEFORE)];
      }
      const response = operation.responses[answer.status];
      if (response === undefined) return [...problems, `the status ${answer.status} is not documented`];
      seen.add(`${method} ${template} ${answer.status}`);
      if (method === "HEAD") return problems;
      if (answer.status >= 400) {
        return [...problems, ...checkError(answer, Object.keys(response["x-retry"] ?? {}))];
      }
      return [...problems, ...contentProblems(document, response, answer)];
    },
  };
}

function contentProblems(document: ApiDocument, { content }: DocumentedResponse, answer: Seen): string[] {
  const type = answer.headers.get("content-type")?.split(";", 1)[0] ?? "";
  if (answer.status === 101) return [];
  if (content === undefined) {
    return answer.text === null || answer.text === "" ? [] : [`a body that is not documented (${type})`];
  }
  const media = content[type];
  if (media === undefined) return [`the content type "${type}" is not documented`];
  if (type !== "application/json" || answer.text === null) return [];
  const problem = problemOf(document, media.schema, parse(answer.text));
  return problem === null ? [] : [`the body: ${problem}`];
}

function integerHeader(headers: Headers, name: string, least: number): string[] {
  const value = headers.get(name) ?? "";
  return /^\d+$/.test(value) && Number(value) >= least ? [] : [`${name} is "${value}"`];
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const ajv = new Ajv({ strict: false });
addFormats.default(ajv);
const compiled = new WeakMap<Schema, ValidateFunction>();

function problemOf(document: ApiDocument, schema: Schema, body: unknown): string | null {
  let validate = compiled.get(schema);
  if (validate === undefined) {
    validate = ajv.compile(resolve(document, schema));
    compiled.set(schema, validate);
  }
  return validate(body) ? null : ajv.errorsText(validate.errors);
}

/** References followed; a field that is not documented is a problem. */
export function resolve(document: ApiDocument, schema: Schema): Schema {
  const reference = schema.$ref;
  if (typeof reference === "string") {
    const found = document.components.schemas[reference.replace("#/components/schemas/", "")];
    if (found === undefined) throw new Error(`${reference} leads nowhere`);
    return resolve(document, found);
  }
  const { properties, items, additionalProperties } = schema;
  return {
    ...schema,
    ...(properties && {
      additionalProperties: false,
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, one]) => [name, resolve(document, one)]),
      ),
    }),
    ...(items && { items: resolve(document, items) }),
    ...(typeof additionalProperties === "object" &&
      additionalProperties !== null && {
        additionalProperties: resolve(document, additionalProperties as Schema),
      }),
  };
}
