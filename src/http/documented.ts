import type { Static, TObject, TProperties, TSchema, TUnknown } from "@sinclair/typebox";
import type { DocumentDecoration } from "elysia";
import { ERROR_STATUS, type ErrorCode } from "../domain/errors.ts";
import { ErrorBody } from "../domain/records.ts";
import { ERROR_NOTES } from "./docs/error-notes.ts";
import { queryOf } from "./query.ts";
import type { Access } from "./route-table.ts";

/** What a route says of itself, once: Elysia validates with its schemas, the gate reads the access, the document all. */
export interface RouteDoc<
  Q extends Definition = Definition,
  P extends TObject = TObject,
  B extends TObject = TObject,
  A extends Answers = Answers,
> {
  readonly access: Access;
  readonly tag: Tag;
  readonly summary: string;
  readonly description?: string;
  /** Takes `?api_key=` too. */
  readonly keyInQuery?: boolean;
  readonly params?: P;
  /** Request headers beyond those that every route takes. */
  readonly requestHeaders?: Readonly<Record<string, TextParameter>>;
  readonly query?: Q;
  readonly body?: B;
  /** A body that is taken. */
  readonly example?: Static<B>;
  readonly answers: A;
  /** Beyond those that follow from access, query and body. */
  readonly errors?: readonly ErrorCode[];
}

type Definition = { readonly schema: TObject };
type Answers = Readonly<Record<number, RouteAnswer>>;

/** A header: a text. */
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
 * The schemas of answers, for types alone: at run time nothing validates an answer. Elysia adds a 422 of its own to
 * the types of every route that validates; no answer has it.
 */
type AnswerSchemas<A extends Answers> = {
  readonly [S in keyof A]: A[S] extends { readonly schema: infer T extends TSchema } ? T : TUnknown;
} & {
  readonly [S in
    | 400
    | 401
    | 403
    | 404
    | 409
    | 410
    | 413
    | 422
    | 429
    | 500
    | 502
    | 503
    | 504]: typeof ErrorBody;
};

/**
 * The options of a route. They carry the types of its answers, too, which a typed client (Eden) reads. A route that
 * needs a key and names no parameter takes none.
 */
export function documented<
  const A extends Answers,
  Q extends Definition = { readonly schema: TObject<Record<never, never>> },
  P extends TObject = TObject<Record<never, never>>,
  B extends TObject = TObject<Record<never, never>>,
>(doc: RouteDoc<Q, P, B, A>) {
  const secured = doc.access !== "open";
  const query = doc.query?.schema ?? (secured ? NOTHING : undefined);
  const detail = {
    summary: doc.summary,
    ...(doc.description !== undefined && { description: doc.description }),
    tags: [doc.tag],
    security: secured ? securityOf(doc.keyInQuery === true) : [],
    parameters: [
      ...parametersOf("path", doc.params?.properties),
      ...headers({ ...(304 in doc.answers && CONDITION), ...doc.requestHeaders }),
      ...parametersOf("query", query?.properties),
    ],
    ...(doc.body !== undefined && {
      "x-request-body": {
        required: (doc.body.required ?? []).length > 0,
        content: { "application/json": { schema: doc.body, example: doc.example } },
      },
    }),
    responses: { ...answersOf(doc.answers, secured), ...errorsOf(errorCodes(doc), secured) },
    "x-permission": doc.access,
    ...(doc.keyInQuery === true && { "x-key-in-query": true }),
  };
  const options = { query, params: doc.params, body: doc.body, detail };
  // TypeBox's schemas are JSON Schema; Elysia types the detail as the OpenAPI document that it becomes.
  return options as unknown as {
    query: Q["schema"];
    params: P;
    body: B;
    detail: DocumentDecoration;
    response: AnswerSchemas<A>;
  };
}

const NOTHING = queryOf({}).schema;

function securityOf(keyInQuery: boolean) {
  return [{ apiKey: [] }, { bearer: [] }, ...(keyInQuery ? [{ apiKeyQuery: [] }] : [])];
}

const TAG = { ETag: "Tag of the snapshot and the query" };
const CONDITION = {
  "If-None-Match": { description: "ETag of an earlier answer: 304 while it is right", example: '"a1b2c3"' },
};

function headers(parameters: Readonly<Record<string, TextParameter>>) {
  return Object.entries(parameters).map(([name, { description, example }]) => ({
    name,
    in: "header",
    required: false,
    description,
    example,
    schema: { type: "string" },
  }));
}

function parametersOf(where: "path" | "query", properties: TProperties = {}) {
  return Object.entries(properties).map(([name, { description, example, ...schema }]) => ({
    name,
    in: where,
    required: where === "path",
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

function errorCodes({
  access,
  query,
  body,
  errors = [],
}: Pick<RouteDoc, "access" | "query" | "body" | "errors">): Set<ErrorCode> {
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
    ...(access === "open" && query === undefined ? [] : (["INVALID_QUERY"] as const)),
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
