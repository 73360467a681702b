import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { RescanRow } from "../../collector/outcomes.ts";
import { ApiError } from "../../domain/errors.ts";
import { RescanResult } from "../../domain/records.ts";
import { unicode } from "../../domain/text-types.ts";
import { knownServer } from "../answers/asked-servers.ts";
import type { Audit } from "../audit.ts";
import { fields } from "../body.ts";
import type { HttpDeps } from "../deps.ts";
import { documented } from "../documented.ts";
import { type Exchange, gated } from "../exchange.ts";
import { shown } from "../shown.ts";

/** Polls now and waits; null = every enabled server. For `rescan` and `refresh=true` alike. */
export type ForcePoll = (
  exchange: Exchange,
  named: readonly string[] | null,
) => Promise<readonly RescanRow[]>;

/**
 * Throws NOT_FOUND for an unknown id, CONFLICT for a disabled one, the poll's own error when the one server that
 * was named failed, UPSTREAM_ERROR when several (or all) were asked for and every poll failed.
 */
export function createForcePoll(
  { live, collector, settings }: Pick<HttpDeps, "live" | "collector" | "settings">,
  audit: Audit,
): ForcePoll {
  return async (exchange, named) => {
    const ids = named === null ? null : [...new Set(named)];
    const servers = ids?.join(", ").slice(0, 500) ?? "all";
    exchange.acting = { message: "Rescan", fields: { servers } };
    const rows = await forced(ids);
    const failed = rows.filter(({ error }) => error !== null).length;
    audit.done(exchange, "Rescan", { servers, polled: rows.length, failed });
    return rows;
  };

  async function forced(ids: readonly string[] | null): Promise<readonly RescanRow[]> {
    const snapshot = live.snapshot();
    for (const { server } of ids?.map((id) => knownServer(snapshot, id)) ?? []) {
      if (server.enabled) continue;
      throw new ApiError(
        "CONFLICT",
        `Server ${shown(server.id)} is disabled in the config and is not polled.`,
      );
    }
    const rows = await collector.rescan(ids, settings().rescanTimeoutMs);
    const failed = rows.flatMap(({ server, error }) => (error === null ? [] : [{ server, error }]));
    const only = failed[0];
    if (only === undefined || failed.length < rows.length) return rows;
    if (ids?.length === 1) {
      throw new ApiError(only.error.code, only.error.message, { details: only.error.details ?? undefined });
    }
    throw new ApiError("UPSTREAM_ERROR", `Every poll failed (${failed.length} of ${rows.length} servers).`, {
      details: failed.map(({ server, error }) => `${server}: ${error.code}`).join("; "),
    });
  }
}

const Body = fields({
  servers: Type.Optional(
    Type.Array(unicode(0, null), { minItems: 1, description: "Ids; every enabled server when absent" }),
  ),
});
const Results = Type.Object({ results: Type.Array(RescanResult) });

/** Polls now and waits for the outcome; a poll that already runs is joined. */
export function rescanRoutes(forcePoll: ForcePoll) {
  return new Elysia({ name: "routes/rescan" }).use(gated).post(
    "/api/licenses/rescan",
    async ({ request, exchange, body, server }) => {
      // A poll may take longer than the time after which Bun cuts a silent connection.
      server?.timeout(request, 0);
      const rows = await forcePoll(exchange, body.servers ?? null);
      return {
        results: rows.map(({ server: id, status, durationMs, error }) => ({
          server: id,
          status,
          durationMs: Math.round(durationMs),
          error: error && { code: error.code, message: error.message },
        })),
      };
    },
    documented({
      access: "rescan",
      tag: "Licenses",
      summary: "Poll now",
      description:
        "Waits for the polls. When exactly one server is named, its failure is the answer's error; otherwise a failure stands in its row, and only when every poll failed is the answer UPSTREAM_ERROR.",
      body: Body,
      example: { servers: ["eda"] },
      answers: { 200: { description: "What came of each poll", schema: Results } },
      errors: POLL_ERRORS,
    }),
  );
}

/** Errors that a forced poll can end with. */
export const POLL_ERRORS = [
  "NOT_FOUND",
  "CONFLICT",
  "UPSTREAM_ERROR",
  "LICENSE_SERVER_UNREACHABLE",
  "LICENSE_QUERY_FAILED",
  "LICENSE_PARSE_ERROR",
  "TIMEOUT",
] as const;
