import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { RescanResult } from "../../domain/records.ts";
import { jsonBody } from "../body.ts";
import type { HttpDeps } from "../deps.ts";
import { documented } from "../documented.ts";
import { gated } from "../exchange.ts";
import type { ForcePoll } from "../force-poll.ts";

const BODY = jsonBody(
  Type.Object({
    servers: Type.Optional(
      Type.Array(Type.String(), { minItems: 1, description: "Ids; every enabled server when absent" }),
    ),
  }),
  { servers: ["eda"] },
);

const Results = Type.Object({ results: Type.Array(RescanResult) });

/** Polls now and waits for the outcome; a poll that already runs is joined. */
export function rescanRoutes({ settings }: Pick<HttpDeps, "settings">, forcePoll: ForcePoll) {
  return new Elysia({ name: "routes/rescan" }).use(gated).post(
    "/api/licenses/rescan",
    async ({ request, exchange, server }) => {
      const { servers = null } = await BODY.read(request, settings().maxBodyBytes);
      // A poll may take longer than the time after which Bun cuts a silent connection.
      server?.timeout(request, 0);
      const rows = await forcePoll(exchange, servers);
      return Response.json({
        results: rows.map(({ server: id, status, durationMs, error }) => ({
          server: id,
          status,
          durationMs: Math.round(durationMs),
          error: error && { code: error.code, message: error.message },
        })),
      });
    },
    documented({
      access: "rescan",
      tag: "Licenses",
      summary: "Poll now",
      description:
        "Waits for the polls. When exactly one server is named, its failure is the answer's error; otherwise a failure stands in its row, and only when every poll failed is the answer UPSTREAM_ERROR.",
      body: BODY,
      answers: { 200: { description: "What came of each poll", schema: Results } },
      errors: [
        "NOT_FOUND",
        "CONFLICT",
        "UPSTREAM_ERROR",
        "LICENSE_SERVER_UNREACHABLE",
        "LICENSE_QUERY_FAILED",
        "LICENSE_PARSE_ERROR",
        "TIMEOUT",
      ],
    }),
  );
}
