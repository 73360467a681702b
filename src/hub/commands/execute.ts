import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { ApiError } from "../../domain/errors.ts";
import { Count, nullable, record } from "../../domain/records.ts";
import { siteOf } from "../../domain/server.ts";
import { documented } from "../../http/docs/documented.ts";
import { callerOf, gated, requirePermission } from "../../http/exchange.ts";
import type { RouteDeps } from "../../http/routes/deps.ts";
import { commandListRoutes, ExecuteBody, permissionFor } from "../../http/routes/execute.ts";
import { knownServer } from "../../http/snapshot.ts";
import type { Commands } from "./commands.ts";

/** Default time limit of a command; a site's config may have another. */
const DEFAULT_MS = 120_000;
/** Additional time for the way to the site and back. */
const TRAVEL_MS = 20_000;

const Result = record("CommandResultAtHub", {
  site: Type.String(),
  server: Type.String(),
  command: Type.String(),
  exitCode: nullable(Type.Integer()),
  durationMs: Count,
});

type Deps = Pick<RouteDeps, "audit" | "execute" | "live">;

/** Runs commands on license servers through their sites. Their output never leaves the site. */
export function executeAtSiteRoutes(
  { audit, execute, live }: Deps,
  commands: Pick<Commands, "ask" | "assertReachable">,
) {
  return new Elysia({ name: "routes/execute-at-site" })
    .use(gated)
    .use(commandListRoutes({ execute }))
    .post(
      "/api/execute",
      async ({ request, exchange, body }) => {
        const { command, server, args = {}, timeoutMs = null, dryRun = false } = body;
        const said = { command: command.slice(0, 100), server: server?.slice(0, 100) };
        const fields = { ...said, arguments: JSON.stringify(args), dryRun };
        exchange.acting = { message: "Command", fields };
        const entry = execute.list().find(({ name }) => name === command);
        // Commands from a site's config are unknown here; the site checks the role.
        if (entry !== undefined)
          requirePermission(exchange, permissionFor(entry), `The command ${entry.name}`);
        if (server === undefined)
          throw new ApiError(
            "MISSING_FIELD",
            'Field "server" is missing: at a hub it says which site runs the command.',
          );
        if (dryRun)
          throw new ApiError(
            "INVALID_FIELD",
            'Field "dryRun" must be false: what a site would run, it says itself alone.',
          );
        knownServer(live.snapshot(), server);
        const site = siteOf(server);
        commands.assertReachable(site, "execute");
        exchange.listener?.timeout(request, 0);
        // Log before sending, so that a hub that dies leaves a trace.
        audit.done(exchange, "Command", { ...fields, outcome: "started" });
        const waitMs = (timeoutMs ?? entry?.timeoutMs ?? DEFAULT_MS) + TRAVEL_MS;
        const own = server.slice(site.length + 1);
        const asked = { command: "execute", name: command, server: own, args, timeoutMs } as const;
        const { run } = await commands.ask(site, asked, callerOf(exchange), waitMs);
        const result = { exitCode: run?.exitCode ?? null, durationMs: run?.durationMs ?? 0 };
        audit.done(exchange, "Command", { ...fields, ...result });
        return { site, server, command, ...result };
      },
      documented("execute_operator", "Licenses", "Run a command on a license server through its site", {
        description:
          'Sites do it whose config has "execute" in fleet.allow and execute.enabled, by their own catalogues. Nothing of what a command prints travels to a hub. Every call is written to the audit trails of the hub and of the site.',
        body: ExecuteBody,
        example: { command: "remove", server: "muc:eda", args: { handle: "1201" } },
        answers: { 200: { description: "Result of the command", schema: Result } },
        errors: [
          "NOT_FOUND",
          "CONFLICT",
          "COMMAND_EXECUTION_FAILED",
          "COMMAND_TIMEOUT",
          "SERVICE_UNAVAILABLE",
          "TIMEOUT",
          "UPSTREAM_ERROR",
        ],
      }),
    );
}
