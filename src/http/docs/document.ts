import { swagger } from "@elysiajs/swagger";
import { type AnyElysia, Elysia } from "elysia";
import { AlertRecord } from "../../domain/alerts.ts";
import {
  AlertEvent,
  CheckinEvent,
  CheckoutEvent,
  LogEvent,
  MetricsEvent,
  ServerStatusEvent,
} from "../../domain/events.ts";
import {
  DaemonRecord,
  ErrorBody,
  ExpirationRecord,
  FeatureRecord,
  MemberRecord,
  PoolRecord,
  RescanResult,
  ServerRecord,
  SummaryRecord,
  UserRecord,
} from "../../domain/records.ts";
import { TAGS } from "../documented.ts";
import { reasonOf } from "../errors.ts";
import { DESCRIPTION } from "./description.ts";
import { errorExamples } from "./error-notes.ts";
import { HEADERS } from "./headers.ts";
import { type Json, normalise } from "./normalise.ts";

const COMPONENTS = {
  Alert: AlertRecord,
  Error: ErrorBody,
  Server: ServerRecord,
  Member: MemberRecord,
  Daemon: DaemonRecord,
  Feature: FeatureRecord,
  Pool: PoolRecord,
  User: UserRecord,
  Summary: SummaryRecord,
  Expiration: ExpirationRecord,
  RescanResult,
  LogEvent,
  MetricsEvent,
  CheckoutEvent,
  CheckinEvent,
  ServerStatusEvent,
  AlertEvent,
};

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
            securitySchemes: {
              apiKey: {
                type: "apiKey",
                in: "header",
                name: "X-API-Key",
                description: "The way to send a key",
              },
              bearer: { type: "http", scheme: "bearer", description: "The same key as a bearer token" },
              apiKeyQuery: {
                type: "apiKey",
                in: "query",
                name: "api_key",
                description: "For clients that cannot set headers; a header beats it",
              },
            },
          },
        },
      }),
    )
    .use(routes);
  await app.modules;
  const response = await app.handle(new Request(`http://localhost${SPEC}`));
  const document = normalise((await response.json()) as Json, COMPONENTS);
  return { ...document, components: { ...(document.components as Json), examples: examplesOf(document) } };
}

/** The examples of errors that some route can give. */
function examplesOf({ paths }: Json): Record<string, object> {
  const text = JSON.stringify(paths);
  const all = Object.entries(errorExamples(reasonOf));
  return Object.fromEntries(all.filter(([code]) => text.includes(`"#/components/examples/${code}"`)));
}
