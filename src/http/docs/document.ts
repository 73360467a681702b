import { swagger } from "@elysiajs/swagger";
import { type AnyElysia, Elysia } from "elysia";
import { ALERT_RULES, ALERT_STATES, SEVERITIES } from "../../domain/alerts.ts";
import { DENIAL_OUTCOMES } from "../../domain/denials.ts";
import { ERROR_CODES, ERROR_STATUS } from "../../domain/errors.ts";
import { FRAME_NAMES } from "../../domain/events.ts";
import { PERSON_KINDS } from "../../domain/history-records.ts";
import { KEY_STATES } from "../../domain/keys.ts";
import { OUTAGE_STATUSES } from "../../domain/outages.ts";
import { END_REASONS } from "../../domain/session.ts";
import {
  DATA_STATES,
  DENIAL_STATES,
  LOG_LEVELS,
  LOG_SOURCES,
  PART_STATUSES,
  ROLES,
  SERVER_STATUSES,
  UNITS,
  USER_KINDS,
} from "../../domain/words.ts";
import { reasonOf } from "../errors.ts";
import { TAGS } from "./documented.ts";
import { errorExample, errorTable } from "./error-notes.ts";
import { type Json, normalise } from "./normalise.ts";

/** Introduction of the OpenAPI document (Markdown). */
const DESCRIPTION = `The state of license servers: holders of seats, free seats, expiry, and history.

**Keys** are sent in \`X-API-Key\`, \`Authorization: Bearer\` or \`Authorization: ApiKey\`; streams and WebSockets also accept \`?api_key=\`,
because their clients cannot set headers. \`x-roles\` of an operation lists the roles that may call it; \`x-permission\` names the
permission. Requests without a key get what \`[page] public\` in the config allows, by default nothing.

**Browsers** sign in at \`POST /api/signin\` and then send a cookie. Changes by cookie also require the header
\`X-Licmond: page\`, and pages of other origins are refused with AUTH_INSUFFICIENT. A key takes precedence over the cookie.

**Values.** Times are ISO 8601 UTC with milliseconds; unknown is null, never 0. Times in a query are ISO 8601 (UTC without
a zone) or epoch milliseconds. Lists in a query are separated by commas or repeated; \`feature\` is only repeated, because names
may contain commas. Unknown parameters (except \`_\`) and unknown fields of a body are refused.

**Methods.** HEAD is answered like GET without a body, OPTIONS with 204 and \`Allow\`. An unknown path is answered with 404, a
wrong method with 405 (METHOD_NOT_ALLOWED, with \`Allow\`), both before the key is checked.

**Compression.** Answers larger than a packet are gzipped if \`Accept-Encoding\` accepts that; streams never are. Gzipped
bytes have their own tag; \`If-None-Match\` accepts both.

**Request ids.** A request may have its own \`X-Request-ID\`; every answer has one, and the body of an error repeats it.

**Errors** have one body (schema Error). This table says when to send the same request again:

${errorTable()}

\`x-retry\` of each error response states this for programs: \`retry-after\`, \`backoff\`, \`same-timeout\`, \`delay\`,
\`short-delay\`, \`action\`. 429 and 503 have \`Retry-After\`.

**Invalid HTTP** is refused before the daemon sees it, with a status but no body and no request id: 400 for a malformed
request line or header, HTTP/1.1 without \`Host\`, contradictory lengths or broken chunks; 431 for headers of more than
16 KiB or 200 fields (a URL counts as one); 505 for versions other than HTTP/1.0 and 1.1. For a method that no RFC defines
(also \`get\`: methods are upper case) the connection is closed without an answer.

**Pipelining.** Wait for an answer before sending the next request. An earlier request on the same connection may close it
without an answer to either; it is then unknown whether the first was carried out.`;

/** Vocabularies with their schema names for clients. */
const WORDS = {
  AlertRule: ALERT_RULES,
  AlertState: ALERT_STATES,
  DataState: DATA_STATES,
  DenialOutcome: DENIAL_OUTCOMES,
  DenialState: DENIAL_STATES,
  EndReason: END_REASONS,
  ErrorCode: ERROR_CODES,
  FrameName: FRAME_NAMES,
  Heartbeat: ["comment", "event"],
  KeyState: KEY_STATES,
  ListFormat: ["json", "csv"],
  LogFrameName: ["log", "error_log", "warning_log", "message"],
  LogLevel: LOG_LEVELS,
  LogSource: LOG_SOURCES,
  MetricsFrameName: ["metrics", "message"],
  MetricsPart: ["system", "licenses", "all"],
  PartStatus: PART_STATUSES,
  Resolution: ["exact", "1h"],
  Role: ROLES,
  OutageStatus: OUTAGE_STATUSES,
  ServerStatus: SERVER_STATUSES,
  Severity: SEVERITIES,
  PersonKind: PERSON_KINDS,
  Unit: UNITS,
  UserKind: USER_KINDS,
};

const text = { type: "string" } as const;
const atLeast = (minimum: number) => ({ type: "integer", minimum }) as const;
/** Response headers that routes refer to by name. */
const HEADERS = {
  "X-Request-ID": {
    description: "Id of the request: the client's own (1–128 of A–Z a–z 0–9 . _ -), else a UUIDv7",
    schema: text,
  },
  "RateLimit-Limit": { description: "Maximum burst of requests", schema: atLeast(0) },
  "RateLimit-Remaining": { description: "Remaining requests", schema: atLeast(0) },
  "RateLimit-Reset": { description: "Seconds until the full burst is available", schema: atLeast(0) },
  "X-RateLimit-Limit": { description: "Same as RateLimit-Limit", schema: atLeast(0) },
  "X-RateLimit-Remaining": { description: "Same as RateLimit-Remaining", schema: atLeast(0) },
  "X-RateLimit-Reset": { description: "Unix time at which the full burst is available", schema: atLeast(0) },
  "Retry-After": { description: "Seconds to wait before the next attempt", schema: atLeast(1) },
  "WWW-Authenticate": { description: "`Bearer`", schema: text },
} as const;

const FOR_QUERY = "For clients that cannot set headers; a header takes precedence";
const SECURITY = {
  apiKey: { type: "apiKey", in: "header", name: "X-API-Key", description: "The preferred way to send a key" },
  bearer: { type: "http", scheme: "bearer", description: "The same key as a bearer token" },
  apiKeyQuery: { type: "apiKey", in: "query", name: "api_key", description: FOR_QUERY },
} as const;

const SPEC = "/document";

/**
 * Builds the OpenAPI 3.0.3 document with @elysiajs/swagger, in a separate app that never listens: the plugin's page
 * loads scripts from other hosts and must not be reachable.
 */
export async function openApiDocument(routes: AnyElysia, version: string): Promise<Json> {
  const app = new Elysia({ handler: { standardHostname: false } })
    .use(
      swagger({
        path: "/page",
        specPath: SPEC,
        // The calendar's path has a dot.
        excludeStaticFile: false,
        documentation: {
          info: { title: "licmond", version, description: DESCRIPTION, license: { name: "MIT" } },
          servers: [{ url: "/", description: "This daemon" }],
          tags: Object.entries(TAGS)
            .filter(([name]) => isUsed(routes, name))
            .map(([name, description]) => ({ name, description })),
          components: { headers: HEADERS, securitySchemes: SECURITY },
        },
      }),
    )
    .use(routes);
  await app.modules;
  const response = await app.handle(new Request(`http://localhost${SPEC}`));
  const document = normalise((await response.json()) as Json, WORDS);
  return { ...document, components: { ...(document.components as Json), examples: examplesOf(document) } };
}

function isUsed({ routes }: AnyElysia, tag: string): boolean {
  return routes.some(({ hooks }) => hooks.detail?.tags?.includes(tag) === true);
}

function examplesOf({ paths }: Json): Record<string, object> {
  const text = JSON.stringify(paths);
  const codes = ERROR_CODES.filter((code) => text.includes(`"#/components/examples/${code}"`));
  return Object.fromEntries(codes.map((code) => [code, errorExample(code, reasonOf(ERROR_STATUS[code]))]));
}
