import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { RescanRow } from "../../collector/outcomes.ts";
import { ApiError } from "../../domain/errors.ts";
import { RescanResult } from "../../domain/records.ts";
import { unicode } from "../../domain/text-types.ts";
import { withSite } from "../answers/list.ts";
import { fields } from "../body.ts";
import { documented } from "../docs/documented.ts";
import { callerOf, type Exchange, gated } from "../exchange.ts";
import { shown } from "../query.ts";
import { knownServer } from "../snapshot.ts";
import type { RouteDeps } from "./deps.ts";

const Body = fields({
  servers: Type.Optional(
    Type.Array(unicode(0, null), { minItems: 1, description: "Ids of servers. Default: all enabled ones" }),
  ),
});
const Results = Type.Object({ results: Type.Array(RescanResult) });

/** Errors of a forced poll. */
export const POLL_ERRORS = [
  "NOT_FOUND",
  "CONFLICT",
  "UPSTREAM_ERROR",
  "LICENSE_SERVER_UNREACHABLE",
  "LICENSE_QUERY_FAILED",
  "LICENSE_PARSE_ERROR",
  "TIMEOUT",
] as const;

/** Maximum length of the error details if several servers fail. */
const MAX_DETAILS = 4_000;

type PollDeps = Pick<RouteDeps, "live" | "collector" | "settings" | "audit">;

export function rescanRoutes(deps: PollDeps) {
  return new Elysia({ name: "routes/rescan" }).use(gated).post(
    "/api/licenses/rescan",
    async ({ request, exchange, body }) => {
      // A poll may take longer than the time after which Bun cuts a silent connection.
      exchange.listener?.timeout(request, 0);
      const rows = await forcePoll(deps, exchange, body.servers ?? null);
      return {
        results: rows.map(({ server, status, durationMs, error }) => {
          const problem = error && { code: error.code, message: error.message };
          const result = { server, status, durationMs: Math.round(durationMs), error: problem };
          return withSite(result, exchange.ofSite);
        }),
      };
    },
    documented("rescan", "Licenses", "Poll now", {
      description:
        "Waits for the polls, and joins a running poll. If exactly one server is named, its failure is the error of the answer. Otherwise failures are in the rows, and the answer is UPSTREAM_ERROR only if every poll failed.",
      body: Body,
      example: { servers: ["eda"] },
      answers: { 200: { description: "Result of each poll", schema: Results } },
      errors: POLL_ERRORS,
    }),
  );
}

/**
 * Polls the named servers now and waits (null = every enabled server), for `rescan` and `refresh=true`. Throws NOT_FOUND
 * for an unknown id, CONFLICT for a disabled one, the poll's own error if one server was named, and UPSTREAM_ERROR if
 * several (or all) were polled and every poll failed.
 */
export async function forcePoll(
  { live, collector, settings, audit }: PollDeps,
  exchange: Exchange,
  named: readonly string[] | null,
): Promise<readonly RescanRow[]> {
  const ids = named === null ? null : [...new Set(named)];
  const servers = ids?.join(", ").slice(0, 500) ?? "all";
  exchange.acting = { message: "Rescan", fields: { servers } };
  const snapshot = live.snapshot();
  const disabled = ids?.map((id) => knownServer(snapshot, id)).find(({ server }) => !server.enabled);
  if (disabled !== undefined) {
    const id = shown(disabled.server.id);
    throw new ApiError("CONFLICT", `Server ${id} is disabled in the config and is not polled.`);
  }
  const rows = await collector.rescan(ids, settings().rescanTimeoutMs, callerOf(exchange));
  const failed = rows.flatMap(({ server, error }) => (error === null ? [] : [{ server, ...error }]));
  const [only] = failed;
  if (only !== undefined && failed.length === rows.length) {
    const { code, message, details } = only;
    if (ids?.length === 1) throw new ApiError(code, message, { details: details ?? undefined });
    const all = `Every poll failed (${failed.length} of ${rows.length} servers).`;
    const each = failed.map(({ server, code }) => `${server}: ${code}`).join("; ");
    throw new ApiError("UPSTREAM_ERROR", all, { details: each.slice(0, MAX_DETAILS) });
  }
  audit.done(exchange, "Rescan", { servers, polled: rows.length, failed: failed.length });
  return rows;
}
