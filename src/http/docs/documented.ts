import type { Static, TObject, TSchema } from "@sinclair/typebox";
import type { DocumentDecoration } from "elysia";
import { ERROR_STATUS, type ErrorCode } from "../../domain/errors.ts";
import { type Permission, permits } from "../../domain/keys.ts";
import { ErrorBody } from "../../domain/records.ts";
import { ROLES, type Role } from "../../domain/words.ts";
import { queryOf, REQUIRED } from "../query.ts";
import type { Access } from "../route-table.ts";
import { retryOf } from "./error-notes.ts";

/** Declares a route: Elysia validates with its schemas, the gate reads the access, the document shows everything. */
interface RouteDoc<Q extends Definition, P extends TObject, B extends TObject> {
  readonly description?: string;
  readonly keyInQuery?: boolean;
  /** Maximum size of the body, for a route that reads the body itself. */
  readonly maxBodyBytes?: number;
  readonly params?: P;
  readonly requestHeaders?: Readonly<Record<string, Described>>;
  readonly query?: Q;
  readonly body?: B;
  readonly example?: Static<B>;
  readonly answers: Answers;
  /** Error codes in addition to those implied by access, path, query and body. */
  readonly errors?: readonly ErrorCode[];
}

type Definition = { readonly schema: TObject };
type Described = { readonly description: string; readonly example: string };
type Answers = Readonly<Record<number, RouteAnswer>>;
type Nothing = TObject<Record<never, never>>;

interface RouteAnswer {
  readonly description: string;
  readonly schema?: TSchema;
  /** Schemas of other content types. */
  readonly content?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Descriptions by header name. */
  readonly headers?: Readonly<Record<string, string>>;
}

export const TAGS = {
  Service: "The daemon itself",
  Host: "The machine it runs on",
  Licenses: "Data of the license servers",
  Streams: "Events as they happen, over server-sent events and WebSockets",
  Logs: "The service's own log",
  Keys: "API keys and sign-ins",
  Fleet: "Sites and their hub",
} as const;

/** Returns the options of a route. A route that needs a key rejects parameters that it does not name. */
export function documented<
  Q extends Definition = { readonly schema: Nothing },
  P extends TObject = Nothing,
  B extends TObject = Nothing,
>(access: Access, tag: keyof typeof TAGS, summary: string, doc: RouteDoc<Q, P, B>) {
  const secured = access !== "open";
  const { answers, params, body, description, keyInQuery = false, errors = [] } = doc;
  const query = doc.query?.schema ?? (secured ? NOTHING : undefined);
  const detail = {
    summary,
    ...(description !== undefined && { description }),
    tags: [tag],
    security: secured ? [{ apiKey: [] }, { bearer: [] }, ...(keyInQuery ? [{ apiKeyQuery: [] }] : [])] : [],
    parameters: [
      ...parametersOf("path", params?.properties),
      ...parametersOf("header", { ...(304 in answers && CONDITION), ...doc.requestHeaders }),
      ...parametersOf("query", query?.properties),
    ],
    ...(body !== undefined && {
      "x-request-body": {
        required: (body.required ?? []).length > 0,
        content: { "application/json": { schema: body, example: doc.example } },
      },
    }),
    responses: {
      ...answersOf(answers, secured),
      ...errorsOf(
        // BODY_TOO_LARGE applies to every method, because an unexpected body is refused, too.
        new Set([
          ...(secured ? OF_KEYS : []),
          ...(body !== undefined ? OF_BODIES : []),
          ...(params !== undefined || "server" in (query?.properties ?? {}) ? (["NOT_FOUND"] as const) : []),
          ...errors,
          "BODY_TOO_LARGE",
          "INTERNAL_ERROR",
        ]),
        secured,
      ),
    },
    "x-permission": access,
    ...(access !== "open" && { "x-roles": rolesWith(access) }),
    ...(keyInQuery && { "x-key-in-query": true }),
    ...(doc.maxBodyBytes !== undefined && { "x-max-body-bytes": doc.maxBodyBytes }),
  };
  // TypeBox schemas are JSON Schema, but Elysia types the detail as OpenAPI.
  return { query, params, body, detail } as unknown as {
    query: Q["schema"];
    params: P;
    body: B;
    detail: DocumentDecoration;
  };
}

function rolesWith(needed: Permission): Role[] {
  return ROLES.filter((role) => permits({ role, anonymize: false }, needed));
}

const NOTHING = queryOf({}).schema;

const CONDITION = {
  "If-None-Match": {
    description: "ETag of an earlier answer; answered with 304 while it is current",
    example: '"a1b2c3"',
  },
};

function parametersOf(
  where: "path" | "query" | "header",
  parameters: Readonly<Record<string, Described | TSchema>> = {},
) {
  return Object.entries(parameters).map(([name, parameter]) => {
    const { description, example, ...schema } = parameter;
    const required = where === "path" || REQUIRED in parameter;
    return { name, in: where, required, description, example, schema: { type: "string", ...schema } };
  });
}

export function mapped<T, R>(
  of: Readonly<Record<string, T>>,
  make: (value: T, name: string) => R,
): Record<string, R> {
  return Object.fromEntries(Object.entries(of).map(([name, value]) => [name, make(value, name)]));
}

const described = (...names: string[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
const RATES = described(
  ...["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"].flatMap((name) => [name, `X-${name}`]),
);
const common = (secured: boolean) => ({ ...described("X-Request-ID"), ...(secured && RATES) });
const OF_STATUS: Readonly<Record<string, Readonly<Record<string, object>>>> = {
  401: described("WWW-Authenticate"),
  429: described("Retry-After"),
  503: described("Retry-After"),
};

function answersOf(answers: Answers, secured: boolean) {
  return mapped(answers, ({ description, schema, content, headers }, status) => {
    const bodies = { ...(schema && { "application/json": { schema } }), ...content };
    const tagged = status === "200" && 304 in answers && { ETag: "Tag of the snapshot and the query" };
    const own = mapped({ ...tagged, ...headers }, (text) => ({
      description: text,
      schema: { type: "string" },
    }));
    return {
      description,
      headers: { ...common(secured), ...own },
      ...(Object.keys(bodies).length > 0 && { content: bodies }),
    };
  });
}

/** Errors of every route that needs a key. */
const OF_KEYS: readonly ErrorCode[] = [
  ...(["AUTH_MISSING", "AUTH_INVALID", "AUTH_EXPIRED", "AUTH_REVOKED", "AUTH_INSUFFICIENT"] as const),
  ...(["RATE_LIMIT_EXCEEDED", "QUOTA_EXCEEDED", "DATABASE_ERROR", "INVALID_QUERY"] as const),
];
const OF_BODIES: readonly ErrorCode[] = ["INVALID_JSON", "MISSING_FIELD", "INVALID_FIELD"];

function errorsOf(codes: ReadonlySet<ErrorCode>, secured: boolean) {
  const ofEach = <T>(list: readonly ErrorCode[], make: (code: ErrorCode) => T) =>
    Object.fromEntries(list.map((code) => [code, make(code)]));
  return mapped(
    Object.groupBy(codes, (code) => ERROR_STATUS[code]) as Record<string, ErrorCode[]>,
    (list, status) => ({
      description: `Error: ${list.join(", ")}`,
      headers: { ...common(secured), ...OF_STATUS[status] },
      content: {
        "application/json": {
          schema: ErrorBody,
          examples: ofEach(list, (code) => ({ $ref: `#/components/examples/${code}` })),
        },
      },
      "x-retry": ofEach(list, retryOf),
    }),
  );
}
