import { Ajv, type ValidateFunction } from "ajv";

/** Keywords of an OpenAPI 3.0 schema that tests read. */
export interface Schema {
  readonly [word: string]: unknown;
  readonly type?: string;
  readonly nullable?: boolean;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly pattern?: string;
  readonly format?: string;
}

/** The served OpenAPI document, parsed without the code that made it. */
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
  /** Retry advice of each error code. */
  readonly "x-retry"?: Readonly<Record<string, string>>;
}

export interface Media {
  readonly schema: Schema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, unknown>>;
}

/** An answer as received by a client. */
export interface Seen {
  readonly status: number;
  readonly headers: Headers;
  /** Body of the answer; null for a stream, which is not read. */
  readonly text: string | null;
}

/** Error codes that occur before an operation is found. */
const BEFORE = ["NOT_FOUND", "METHOD_NOT_ALLOWED", "RATE_LIMIT_EXCEEDED", "INTERNAL_ERROR"];

export type Conformance = ReturnType<typeof createConformance>;

/** Checks answers against the document. */
export function createConformance(source: ApiDocument) {
  const document = dereferenced(source);
  const problemOf = createSchemaCheck();
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
    const problem = problemOf(error, body);
    if (problem !== null) return [`the error body: ${problem}`];
    const { code, requestId } = body as { code: string; requestId: string };
    return [
      ...(codes.includes(code) ? [] : [`the code ${code} of a ${status} is not documented`]),
      ...(requestId === headers.get("x-request-id") ? [] : ["requestId and X-Request-ID differ"]),
      ...(status === 429 || status === 503 ? integerHeader(headers, "retry-after", 1) : []),
    ];
  };

  return {
    /** `METHOD /path/{id} status` of all checked answers. */
    seen: seen as ReadonlySet<string>,
    /** Returns the problems of an answer to `method path` (without the query); empty if it has no problem. */
    check(method: string, path: string, answer: Seen): string[] {
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
      return [...problems, ...contentProblems(problemOf, response, answer)];
    },
  };
}

function contentProblems(problemOf: SchemaCheck, { content }: DocumentedResponse, answer: Seen): string[] {
  const type = answer.headers.get("content-type")?.split(";", 1)[0] ?? "";
  if (answer.status === 101) return [];
  if (content === undefined) {
    return answer.text === null || answer.text === "" ? [] : [`a body that is not documented (${type})`];
  }
  const media = content[type];
  if (media === undefined) return [`the content type "${type}" is not documented`];
  if (type !== "application/json" || answer.text === null) return [];
  const problem = problemOf(media.schema, parse(answer.text));
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

/** Returns the document with all references replaced. */
export function dereferenced(document: ApiDocument): ApiDocument {
  const follow = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(follow);
    if (typeof value !== "object" || value === null) return value;
    const { $ref, allOf, ...rest } = value as Record<string, unknown>;
    if (typeof $ref === "string") {
      const found = $ref.split("/").slice(1).reduce<unknown>(memberOf, document);
      if (found === undefined) throw new Error(`${$ref} leads nowhere`);
      return follow(found);
    }
    const entries = Object.entries(rest).map(([name, one]) => [name, follow(one)]);
    return Object.assign(Object.fromEntries(entries), ...(Array.isArray(allOf) ? allOf.map(follow) : []));
  };
  return follow(document) as ApiDocument;
}

function memberOf(value: unknown, name: string): unknown {
  return (value as Record<string, unknown> | undefined)?.[name];
}

/** Returns the problem of a value under a schema without references, or null. */
type SchemaCheck = (schema: Schema, value: unknown) => string | null;

function createSchemaCheck(): SchemaCheck {
  const date = /^\d{4}-\d\d-\d\d$/;
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
  const ajv = new Ajv({ strict: false, formats: { date, "date-time": time } });
  const compiled = new Map<Schema, ValidateFunction>();
  return (schema, value) => {
    const validate = compiled.get(schema) ?? ajv.compile(closed(schema) as Schema);
    compiled.set(schema, validate);
    return validate(value) ? null : ajv.errorsText(validate.errors, { dataVar: "" });
  };
}

/** Rejects undocumented fields in objects. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== "object" || schema === null) return schema;
  const entries = Object.entries(schema).map(([word, one]) => [word, word === "enum" ? one : closed(one)]);
  const isOpen = "properties" in schema && !("additionalProperties" in schema);
  return { ...Object.fromEntries(entries), ...(isOpen && { additionalProperties: false }) };
}
