import { swagger } from "@elysiajs/swagger";
import { type AnyElysia, Elysia } from "elysia";
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
import { type Json, normalise } from "./normalise.ts";

const DESCRIPTION = `What license servers say: who holds seats, since when, what is left, what expires next.

Keys go in \`X-API-Key\` or \`Authorization: Bearer\`. Times are ISO 8601 UTC with milliseconds; unknown is null.
Every answer carries \`X-Request-ID\`; every error has one body (schema Error).

Safe to retry: RATE_LIMIT_EXCEEDED (after \`Retry-After\`), SERVICE_UNAVAILABLE (with back-off), TIMEOUT,
UPSTREAM_ERROR (after a delay), DATABASE_ERROR (after a short delay).`;

const COMPONENTS = {
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
        documentation: {
          info: { title: "licmond", version, description: DESCRIPTION, license: { name: "MIT" } },
          tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
          components: {
            securitySchemes: {
              apiKey: { type: "apiKey", in: "header", name: "X-API-Key" },
              bearer: { type: "http", scheme: "bearer" },
              apiKeyQuery: { type: "apiKey", in: "query", name: "api_key" },
            },
          },
        },
      }),
    )
    .use(routes);
  await app.modules;
  const response = await app.handle(new Request(`http://localhost${SPEC}`));
  return normalise((await response.json()) as Json, COMPONENTS);
}
