import { swagger } from "@elysiajs/swagger";
import { type AnyElysia, Elysia } from "elysia";
import { ALERT_RULES, ALERT_STATES, SEVERITIES } from "../../domain/alerts.ts";
import { DENIAL_OUTCOMES } from "../../domain/denials.ts";
import { ERROR_CODES, ERROR_STATUS } from "../../domain/errors.ts";
import { FRAME_NAMES } from "../../domain/events.ts";
import { KEY_STATES } from "../../domain/keys.ts";
import { END_REASONS } from "../../domain/session.ts";
import {
  DATA_STATES,
  LOG_LEVELS,
  PART_STATUSES,
  ROLES,
  SERVER_STATUSES,
  USER_KINDS,
} from "../../domain/words.ts";
import { reasonOf } from "../errors.ts";
import { DESCRIPTION } from "./description.ts";
import { TAGS } from "./documented.ts";
import { errorExample } from "./error-notes.ts";
import { type Json, normalise } from "./normalise.ts";

/** Vocabularies that stand in more than one place, by the names that clients get for them. */
const WORDS = {
  AlertRule: ALERT_RULES,
  AlertState: ALERT_STATES,
  DataState: DATA_STATES,
  DenialOutcome: DENIAL_OUTCOMES,
  EndReason: END_REASONS,
  ErrorCode: ERROR_CODES,
  FrameName: FRAME_NAMES,
  KeyState: KEY_STATES,
  ListFormat: ["json", "csv"],
  LogFrameName: ["log", "error_log", "warning_log"],
  LogLevel: LOG_LEVELS,
  MetricsPart: ["system", "licenses", "all"],
  PartStatus: PART_STATUSES,
  Resolution: ["exact", "1h"],
  Role: ROLES,
  ServerStatus: SERVER_STATUSES,
  Severity: SEVERITIES,
  UserKind: USER_KINDS,
};

const text = { type: "string" } as const;
const atLeast = (minimum: number) => ({ type: "integer", minimum }) as const;
/** Response headers that many answers have, described once. The routes refer to them by name. */
const HEADERS = {
  "X-Request-ID": {
    description: "Id of the request: the client's own (1–128 of A–Z a–z 0–9 . _ -), else a UUIDv7",
    schema: text,
  },
  "RateLimit-Limit": { description: "Requests at once, after a rest", schema: atLeast(0) },
  "RateLimit-Remaining": { description: "Requests that are left now", schema: atLeast(0) },
  "RateLimit-Reset": { description: "Seconds until the limit is whole again", schema: atLeast(0) },
  "Retry-After": { description: "Seconds to wait before the next try", schema: atLeast(1) },
  "WWW-Authenticate": { description: "`Bearer`", schema: text },
} as const;

const FOR_QUERY = "For clients that cannot set headers; a header beats it";
const SECURITY = {
  apiKey: { type: "apiKey", in: "header", name: "X-API-Key", description: "The way to send a key" },
  bearer: { type: "http", scheme: "bearer", description: "The same key as a bearer token" },
  apiKeyQuery: { type: "apiKey", in: "query", name: "api_key", description: FOR_QUERY },
} as const;

const SPEC = "/document";

/**
 * The OpenAPI 3.0.3 document of these routes. @elysiajs/swagger makes it inside an app of its own that never
 * listens, so that the plugin's page, which loads scripts from elsewhere, is reachable nowhere.
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
          tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
          components: {
            headers: HEADERS,
            securitySchemes: SECURITY,
          },
        },
      }),
    )
    .use(routes);
  await app.modules;
  const response = await app.handle(new Request(`http://localhost${SPEC}`));
  const document = normalise((await response.json()) as Json, WORDS);
  return { ...document, components: { ...(document.components as Json), examples: examplesOf(document) } };
}

/** The examples of errors that some route can give. */
function examplesOf({ paths }: Json): Record<string, object> {
  const text = JSON.stringify(paths);
  const codes = ERROR_CODES.filter((code) => text.includes(`"#/components/examples/${code}"`));
  return Object.fromEntries(codes.map((code) => [code, errorExample(code, reasonOf(ERROR_STATUS[code]))]));
}
