import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { type CatalogueEntry, MAX_ARGUMENT, maskArgv } from "../../collector/execute/catalogue.ts";
import { permits } from "../../domain/keys.ts";
import type { LogFields } from "../../domain/log.ts";
import { CommandList, CommandResult } from "../../domain/service/commands.ts";
import { unicode } from "../../domain/text-types.ts";
import { fields } from "../body.ts";
import { documented } from "../docs/documented.ts";
import { gated, requirePermission } from "../exchange.ts";
import { knownServer } from "../snapshot.ts";
import type { RouteDeps } from "./deps.ts";

const Argument = Type.Optional(unicode(1, MAX_ARGUMENT));
export const ExecuteBody = fields({
  command: unicode(0, null, "status, diagnose, reread, remove, or the name of one of the config's commands"),
  server: Type.Optional(unicode(0, null, "Id of the license server it acts on")),
  args: Type.Optional(
    fields(
      { feature: Argument, user: Argument, host: Argument, display: Argument, handle: Argument },
      {
        description:
          "Arguments of the command. remove: the handle, or feature, user and host of one checkout",
      },
    ),
  ),
  timeoutMs: Type.Optional(Type.Integer({ minimum: 1000, maximum: 600_000 })),
  dryRun: Type.Optional(Type.Boolean({ description: "Returns the command line without running it" })),
});

export const permissionFor = ({ role }: CatalogueEntry) =>
  role === "admin" ? "execute" : "execute_operator";

/** JSON Schema of a command's arguments. */
function argumentSchema({ template, takes }: CatalogueEntry) {
  const argument = { type: "string", minLength: 1, maxLength: MAX_ARGUMENT, pattern: "^[^-]" };
  const properties = Object.fromEntries(takes.map((name) => [name, argument]));
  const schema = { type: "object", properties, additionalProperties: false };
  if (template !== null) return { ...schema, required: [...takes] };
  // One checkout: by its handle, or by its names.
  const ways = [["handle"], ["feature", "user", "host"]].map((required) => ({ required }));
  return takes.length === 0 ? schema : { ...schema, anyOf: ways };
}

/** Lists the available commands. */
export function commandListRoutes({ execute }: Pick<RouteDeps, "execute">) {
  return new Elysia({ name: "routes/command-list" }).use(gated).get(
    "/api/execute",
    ({ exchange: { caller } }) => ({
      commands: execute.list().map((entry) => {
        const { name: command, role, needsServer, timeoutMs } = entry;
        const allowed = caller !== null && permits(caller, permissionFor(entry));
        return { command, role, allowed, needsServer, timeoutMs, args: argumentSchema(entry) };
      }),
    }),
    documented("commands", "Licenses", "The commands that there are", {
      description: "Off unless execute.enabled is set.",
      answers: {
        200: { description: "Commands, and whether the caller may run them", schema: CommandList },
      },
    }),
  );
}

/** Runs commands of the catalogue. Every call is in the audit trail, refused ones too (see the gate). */
export function executeRoutes({ execute, live, audit }: RouteDeps) {
  return new Elysia({ name: "routes/execute" })
    .use(gated)
    .use(commandListRoutes({ execute }))
    .post(
      "/api/execute",
      async ({ request, exchange, body, server: http }) => {
        const { server, args = {}, timeoutMs = null, dryRun = false } = body;
        const said: Record<string, LogFields[string]> = {
          command: body.command.slice(0, 100),
          server: server?.slice(0, 100),
          arguments: JSON.stringify(args),
          dryRun,
        };
        exchange.acting = { message: "Command", fields: said };
        const entry = execute.find(body.command);
        const { name: command } = entry;
        requirePermission(exchange, permissionFor(entry), `The command ${command}`);
        const picture = server === undefined ? null : knownServer(live.snapshot(), server);
        const plan = execute.plan(entry, { picture, args, timeoutMs });
        const argv = [...maskArgv(plan.argv)];
        said.argv = JSON.stringify(argv);
        const write = (more: LogFields) => audit.done(exchange, "Command", { ...said, ...more });
        if (dryRun) {
          write({ outcome: "dry run" });
          return { command, argv, dryRun };
        }
        // A command may take longer than the time after which Bun cuts a silent connection.
        http?.timeout(request, 0);
        // Before it runs: a daemon that dies meanwhile must leave a trace of it.
        write({ outcome: "started" });
        const result = await execute.run(plan);
        write({ exitCode: result.exitCode, durationMs: result.durationMs });
        return { command, argv, ...result };
      },
      documented("execute_operator", "Licenses", "Run a command on a license server", {
        description:
          "Off unless execute.enabled is set. Runs commands of a catalogue, without a shell: status and diagnose for operators; reread and remove for admins; the config's own for the role they name. A non-zero exit is COMMAND_EXECUTION_FAILED with the last lines of output in details. Every call is written to the audit trail.",
        body: ExecuteBody,
        example: { command: "remove", server: "eda", args: { handle: "1201" }, dryRun: true },
        answers: { 200: { description: "Command line and output", schema: CommandResult } },
        errors: [
          "NOT_FOUND",
          "CONFLICT",
          "COMMAND_EXECUTION_FAILED",
          "COMMAND_TIMEOUT",
          "SERVICE_UNAVAILABLE",
        ],
      }),
    );
}
