import type { TSchema } from "@sinclair/typebox";
import type { DocumentDecoration } from "elysia";
import { ERROR_STATUS, type ErrorCode } from "../domain/errors.ts";
import { ErrorBody } from "../domain/records.ts";
import type { BodyDefinition } from "./body.ts";
import { ERROR_NOTES } from "./docs/error-notes.ts";
import type { QueryDefinition } from "./query.ts";
import type { Access } from "./route-table.ts";

/** What a route says of itself, once: the gate reads the access, the OpenAPI document the rest. */
export interface RouteDoc {
  readonly access: Access;
  readonly tag: Tag;
  readonly summary: string;
  readonly description?: string;
  /** Takes `?api_key=` too. */
  readonly keyInQuery?: boolean;
  readonly parameters?: Readonly<Record<string, TextParameter>>;
  /** Request headers beyond those that every route takes. */
  readonly requestHeaders?: Readonly<Record<string, TextParameter>>;
  readonly query?: QueryDefinition<unknown>;
  readonly body?: BodyDefinition<unknown>;
  readonly answers: Readonly<Record<number, RouteAnswer>>;
  /** Beyond those that follow from access, query and body. */
  readonly errors?: readonly ErrorCode[];
}

/** A part of the path or a header: a text. */
export interface TextParameter {
  readonly description: string;
  readonly example: string;
}

export interface RouteAnswer {
  readonly description: string;
  readonly schema?: TSchema;
  /** Other content types with the schema of their body. */
  readonly content?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Header names and what they tell. */
  readonly headers?: Readonly<Record<string, string>>;
}

export const TAGS = {
  Service: "The daemon itself",
  Host: "The machine it runs on",
  Licenses: "What the license servers say",
  Streams: "Events as they happen, over server-sent events and WebSockets",
  Logs: "The service's own log",
  Keys: "Who may ask",
} as const;
export type Tag = keyof typeof TAGS;

/**
 * The options of a route. Elysia's own validation stays out of it: its messages name neither the parameter nor
 * what it takes, and its parser reads bodies before the handler can refuse them (hence `parse: "none"`).
 */
export function documented(doc: RouteDoc) {
  const secured = doc.access !== "open";
  const detail = {
    summary: doc.summary,
    ...(doc.description !== undefined && { description: doc.description }),
    tags: [doc.tag],
    security: secured ? securityOf(doc.keyInQuery === true) : [],
    parameters: [
      ...textParameters("path", doc.parameters ?? {}),
      ...textParameters("header", { ...(304 in doc.answers && CONDITION), ...doc.requestHeaders }),
      ...queryParameters(doc.query),
    ],
    ...(doc.body !== undefined && {
      requestBody: {
        required: !doc.body.optional,
        content: { "application/json": { schema: doc.body.schema, example: doc.body.example } },
      },
    }),
    responses: { ...answersOf(doc.answers, secured), ...errorsOf(errorCodes(doc), secured) },
    "x-permission": doc.access,
    ...(doc.keyInQuery === true && { "x-key-in-query": true }),
  };
  // TypeBox's schemas are JSON Schema; Elysia types this field as the OpenAPI document it becomes.
  return { parse: "none" as const, detail: detail as unknown as DocumentDecoration };
}

function securityOf(keyInQuery: boolean) {
  return [{ apiKey: [] }, { bearer: [] }, ...(keyInQuery ? [{ apiKeyQuery: [] }] : [])];
}

const TAG = { ETag: "Tag of the snapshot and the query" };
const CONDITION = {
  "If-None-Match": { description: "ETag of an earlier answer: 304 while it is right", example: '"a1b2c3"' },
};

function textParameters(where: "path" | "header", parameters: Readonly<Record<string, TextParameter>>) {
  return Object.entries(parameters).map(([name, { description, example }]) => ({
    name,
    in: where,
    required: where === "path",
    description,
    example,
    schema: { type: "string" as const },
  }));
}

function queryParameters(query: QueryDefinition<unknown> | undefined) {
  return Object.entries(query?.parameters ?? {}).map(([name, { description, schema, example }]) => ({
    name,
    in: "query" as const,
    required: false,
    description,
    example,
    schema: { ...schema },
  }));
}

/** Headers that are described once, under `components`. */
const header = (name: string) => [name, { $ref: `#/components/headers/${name}` }] as const;
const COMMON = Object.fromEntries([header("X-Request-ID")]);
const RATES = Object.fromEntries(
  ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"].map((name) => header(name)),
);
/** Headers that an error's status brings. */
const OF_STATUS: Readonly<Record<number, Readonly<Record<string, object>>>> = {
  401: Object.fromEntries([header("WWW-Authenticate")]),
  429: Object.fromEntries([header("Retry-After")]),
  503: Object.fromEntries([header("Retry-After")]),
};

function answersOf(answers: RouteDoc["answers"], secured: boolean) {
  const responses: Record<string, object> = {};
  for (const [status, { description, schema, content, headers }] of Object.entries(answers)) {
    const bodies = { ...(schema && { "application/json": { schema } }), ...content };
    responses[status] = {
      description,
      headers: {
        ...COMMON,
        ...(secured && RATES),
        ...Object.fromEntries(
          Object.entries({ ...(status === "200" && 304 in answers && TAG), ...headers }).map(
            ([name, told]) => [name, { description: told, schema: { type: "string" } }],
          ),
        ),
      },
      ...(Object.keys(bodies).length > 0 && { content: bodies }),
    };
  }
  return responses;
}

function errorCodes({ access, query, body, errors = [] }: RouteDoc): Set<ErrorCode> {
  return new Set<ErrorCode>([
    ...(access === "open"
      ? []
      : ([
          "AUTH_MISSING",
          "AUTH_INVALID",
          "AUTH_EXPIRED",
          "AUTH_REVOKED",
          "AUTH_INSUFFICIENT",
          "RATE_LIMIT_EXCEEDED",
          "QUOTA_EXCEEDED",
          "DATABASE_ERROR",
        ] as const)),
    ...(query === undefined ? [] : (["INVALID_QUERY"] as const)),
    ...(body === undefined ? [] : (["INVALID_JSON", "MISSING_FIELD", "INVALID_FIELD"] as const)),
    ...errors,
    // Whatever the method: a body that nobody asked for is refused too.
    "BODY_TOO_LARGE",
    "INTERNAL_ERROR",
  ]);
}

function errorsOf(codes: ReadonlySet<ErrorCode>, secured: boolean) {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes)
    byStatus.set(ERROR_STATUS[code], [...(byStatus.get(ERROR_STATUS[code]) ?? []), code]);
  const responses: Record<string, object> = {};
  for (const [status, list] of byStatus) {
    responses[status] = {
      description: `Error: ${list.join(", ")}`,
      headers: { ...COMMON, ...(secured && RATES), ...OF_STATUS[status] },
      content: {
        "application/json": {
          schema: ErrorBody,
          examples: Object.fromEntries(list.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
        },
      },
      "x-retry": Object.fromEntries(list.map((code) => [code, ERROR_NOTES[code].retry])),
    };
  }
  return responses;
}
