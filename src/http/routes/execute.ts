import { type Static, Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { type CatalogueEntry, MAX_ARGUMENT, maskArgv } from "../../collector/execute/catalogue.ts";
import { permits } from "../../domain/keys.ts";
import type { LogFields } from "../../domain/log.ts";
import { CommandList, CommandResult, CommandResultAtHub } from "../../domain/service/commands.ts";
import { unicode } from "../../domain/text-types.ts";
import { fields } from "../body.ts";
import { documented } from "../docs/documented.ts";
import { type Exchange, gated, requirePermission } from "../exchange.ts";
import { knownServer } from "../snapshot.ts";
import type { RouteDeps } from "./deps.ts";

const Argument = Type.Optional(unicode(1, MAX_ARGUMENT));
const Body = fields({
  command: unicode(0, null, "status, diagnose, reread, remove, or the name of one of the config's commands"),
  server: Type.Optional(unicode(0, null, "Id of the license server that the command acts on")),
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

/** A request to run a command. */
type CommandAsked = Static<typeof Body>;

/** Runs commands of the catalog: a daemon on its own host, a hub through its sites. */
export interface CommandPort {
  readonly ofSites: boolean;
  /**
   * Checks a request. Throws ApiError if the caller may not run the command. `shown` has the fields of the
   * answer that are known before the command runs.
   */
  plan(
    exchange: Exchange,
    asked: CommandAsked,
  ): {
    readonly shown: { readonly command: string; readonly argv?: string[] };
    run(): Promise<Partial<CommandResult> | Pick<CommandResultAtHub, "exitCode" | "durationMs">>;
  };
}

/** Throws AUTH_INSUFFICIENT unless the caller may run the command. */
export function requireCommand(exchange: Exchange, entry: CatalogueEntry): void {
  requirePermission(exchange, permissionFor(entry), `The command ${entry.name}`);
}

const permissionFor = ({ role }: CatalogueEntry) => (role === "admin" ? "execute" : "execute_operator");

function ownCommands({ execute, live }: RouteDeps): CommandPort {
  return {
    ofSites: false,
    plan(exchange, { command, server, args = {}, timeoutMs = null }) {
      const entry = execute.find(command);
      requireCommand(exchange, entry);
      const picture = server === undefined ? null : knownServer(live.snapshot(), server);
      const plan = execute.plan(entry, { picture, args, timeoutMs });
      return {
        shown: { command: entry.name, argv: [...maskArgv(plan.argv)] },
        run: () => execute.run(plan),
      };
    },
  };
}

/** JSON Schema of a command's arguments. */
function argumentSchema({ template, takes }: CatalogueEntry) {
  const argument = { type: "string", minLength: 1, maxLength: MAX_ARGUMENT, pattern: "^[^-]" };
  const properties = Object.fromEntries(takes.map((name) => [name, argument]));
  const schema = { type: "object", properties, additionalProperties: false };
  if (template !== null) return { ...schema, required: [...takes] };
  // A checkout is named either by its handle, or by feature, user and host.
  const ways = [["handle"], ["feature", "user", "host"]].map((required) => ({ required }));
  return takes.length === 0 ? schema : { ...schema, anyOf: ways };
}

/** Lists and runs commands. Every call is in the audit trail, refused ones too (see the gate). */
export function executeRoutes(deps: RouteDeps, commands: CommandPort = ownCommands(deps)) {
  const { execute, audit } = deps;
  const { ofSites } = commands;
  return new Elysia({ name: "routes/execute" })
    .use(gated)
    .get(
      "/api/execute",
      ({ exchange: { caller } }) => ({
        commands: execute.list().map((entry) => {
          const { name: command, role, needsServer, timeoutMs } = entry;
          const allowed = caller !== null && permits(caller, permissionFor(entry));
          return { command, role, allowed, needsServer, timeoutMs, args: argumentSchema(entry) };
        }),
      }),
      documented("commands", "Licenses", "Available commands", {
        description: "Off unless execute.enabled is set.",
        answers: {
          200: { description: "Commands, and whether the caller may run them", schema: CommandList },
        },
      }),
    )
    .post(
      "/api/execute",
      async ({ request, exchange, body }) => {
        const { server, args = {}, dryRun = false } = body;
        const said: Record<string, LogFields[string]> = {
          command: body.command.slice(0, 100),
          server: server?.slice(0, 100),
          arguments: JSON.stringify(args),
          dryRun,
        };
        exchange.acting = { message: "Command", fields: said };
        const { shown, run } = commands.plan(exchange, body);
        if (shown.argv !== undefined) said.argv = JSON.stringify(shown.argv);
        const write = (more: LogFields) => audit.done(exchange, "Command", { ...said, ...more });
        if (dryRun) {
          write({ outcome: "dry run" });
          return { ...shown, dryRun } as CommandResult;
        }
        // Bun closes silent connections, and a command may take longer.
        exchange.listener?.timeout(request, 0);
        // Write this first, so that a process that dies meanwhile leaves a trace.
        write({ outcome: "started" });
        const result = await run();
        write({ exitCode: result.exitCode, durationMs: result.durationMs });
        return { ...shown, ...result } as CommandResult;
      },
      documented(
        "execute_operator",
        "Licenses",
        `Run a command on a license server${ofSites ? " through its site" : ""}`,
        {
          description: ofSites
            ? 'Works for sites with "execute" in fleet.allow and with execute.enabled; each site runs only commands of its own catalogue. The hub never receives a command\'s output. Every call is in the audit trails of the hub and of the site.'
            : "Off unless execute.enabled is set. Runs commands of a catalogue without a shell: status and diagnose for operators, reread and remove for admins, and commands of the config for their role. A non-zero exit code is answered with COMMAND_EXECUTION_FAILED and the last lines of output in details. Every call is in the audit trail.",
          body: Body,
          example: ofSites
            ? { command: "remove", server: "muc:eda", args: { handle: "1201" } }
            : { command: "remove", server: "eda", args: { handle: "1201" }, dryRun: true },
          answers: {
            200: {
              description: ofSites ? "Result of the command" : "Command line and output",
              schema: (ofSites ? CommandResultAtHub : CommandResult) as typeof CommandResult,
            },
          },
          errors: [
            "NOT_FOUND",
            "CONFLICT",
            "COMMAND_EXECUTION_FAILED",
            "COMMAND_TIMEOUT",
            "SERVICE_UNAVAILABLE",
            ...(ofSites ? (["TIMEOUT", "UPSTREAM_ERROR"] as const) : []),
          ],
        },
      ),
    );
}
