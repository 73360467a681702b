import type { Static, TObject, TProperties, TSchema, TUnknown } from "@sinclair/typebox";
import type { DocumentDecoration } from "elysia";
import { ERROR_STATUS, type ErrorCode } from "../domain/errors.ts";
import { ErrorBody } from "../domain/records.ts";
import { retryOf } from "./docs/error-notes.ts";
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

/** Statuses of errors; 422 is none, but Elysia adds one of its own to the types of every route that validates. */
type ErrorStatus = (typeof ERROR_STATUS)[ErrorCode] | 422;

/** The schemas of answers, for types alone: at run time nothing validates an answer. */
type AnswerSchemas<A extends Answers> = {
  readonly [S in keyof A]: A[S] extends { readonly schema: infer T extends TSchema } ? T : TUnknown;
} & { readonly [S in ErrorStatus]: typeof ErrorBody };

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
    security: secured
      ? [{ apiKey: [] }, { bearer: [] }, ...(doc.keyInQuery ? [{ apiKeyQuery: [] }] : [])]
      : [],
    parameters: [
      ...parametersOf("path", doc.params?.properties),
      ...parametersOf("header", { ...(304 in doc.answers && CONDITION), ...doc.requestHeaders }),
      ...parametersOf("query", query?.properties),
    ],
    ...(doc.body !== undefined && {
      "x-request-body": {
        required: (doc.body.required ?? []).length > 0,
        content: { "application/json": { schema: doc.body, example: doc.example } },
      },
    }),
    responses: {
      ...answersOf(doc.answers, secured),
      ...errorsOf(errorCodes(secured, doc.body !== undefined, doc.errors ?? []), secured),
    },
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

const TAG = { ETag: "Tag of the snapshot and the query" };
const CONDITION = {
  "If-None-Match": { description: "ETag of an earlier answer: 304 while it is right", example: '"a1b2c3"' },
};

function parametersOf(
  where: "path" | "query" | "header",
  parameters: TProperties | RouteDoc["requestHeaders"] = {},
) {
  return Object.entries(parameters).map(([name, { description, example, ...schema }]) => ({
    name,
    in: where,
    required: where === "path",
    description,
    example,
    schema: { type: "string", ...schema },
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

function answersOf(answers: Answers, secured: boolean) {
  const made = Object.entries(answers).map(([status, { description, schema, content, headers }]) => {
    const bodies = { ...(schema && { "application/json": { schema } }), ...content };
    const told = Object.entries({ ...(status === "200" && 304 in answers && TAG), ...headers });
    const own = told.map(([name, text]) => [name, { description: text, schema: { type: "string" } }]);
    return [
      status,
      {
        description,
        headers: { ...COMMON, ...(secured && RATES), ...Object.fromEntries(own) },
        ...(Object.keys(bodies).length > 0 && { content: bodies }),
      },
    ];
  });
  return Object.fromEntries(made);
}

/** Every route that needs a key can answer these. */
const OF_KEYS: readonly ErrorCode[] = [
  "AUTH_MISSING",
  "AUTH_INVALID",
  "AUTH_EXPIRED",
  "AUTH_REVOKED",
  "AUTH_INSUFFICIENT",
  "RATE_LIMIT_EXCEEDED",
  "QUOTA_EXCEEDED",
  "DATABASE_ERROR",
  "INVALID_QUERY",
];
const OF_BODIES: readonly ErrorCode[] = ["INVALID_JSON", "MISSING_FIELD", "INVALID_FIELD"];

function errorCodes(secured: boolean, takesBody: boolean, errors: readonly ErrorCode[]): Set<ErrorCode> {
  // Whatever the method: a body that no route asked for is refused too.
  const always: readonly ErrorCode[] = ["BODY_TOO_LARGE", "INTERNAL_ERROR"];
  return new Set([...(secured ? OF_KEYS : []), ...(takesBody ? OF_BODIES : []), ...errors, ...always]);
}

function errorsOf(codes: ReadonlySet<ErrorCode>, secured: boolean) {
  const made = Object.entries(Object.groupBy(codes, (code) => ERROR_STATUS[code])).map(([status, list]) => [
    status,
    {
      description: `Error: ${list.join(", ")}`,
      headers: { ...COMMON, ...(secured && RATES), ...OF_STATUS[Number(status)] },
      content: {
        "application/json": {
          schema: ErrorBody,
          examples: Object.fromEntries(list.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
        },
      },
      "x-retry": Object.fromEntries(list.map((code) => [code, retryOf(code)])),
    },
  ]);
  return Object.fromEntries(made);
}
