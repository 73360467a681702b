import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { ApiError } from "../../domain/errors.ts";
import type { Snapshot } from "../../domain/picture.ts";
import { RawOutput } from "../../domain/records.ts";
import { iso } from "../../domain/time/clock.ts";
import { decodeOutput } from "../../managers/read-output.ts";
import { MANAGERS } from "../../managers/registry.ts";
import { send, valueAnswer } from "../answers/answer.ts";
import { withSite } from "../answers/list.ts";
import { documented } from "../docs/documented.ts";
import { gated } from "../exchange.ts";
import { pick } from "../records.ts";
import { knownServer } from "../snapshot.ts";
import type { RouteDeps } from "./deps.ts";

const ID = Type.Object({ id: Type.String({ description: "Id of the server", example: "eda" }) });

/** Throws for unknown managers: a misspelt name must not look like a manager without servers. */
export function checkManagers(named: readonly string[] | undefined, { servers }: Snapshot): void {
  const known = new Set([...MANAGERS, ...servers.map(({ server }) => server.manager)]);
  if (named?.every((name) => known.has(name)) ?? true) return;
  const takes = `one or more of ${[...known].join(", ")}, separated by commas`;
  throw new ApiError("INVALID_QUERY", `Query parameter "manager" must be ${takes}.`);
}

/** Serves the raw output of a server's last poll. */
export function rawRoutes({ live, collector }: Pick<RouteDeps, "live" | "collector">) {
  return new Elysia({ name: "routes/raw" }).use(gated).get(
    "/api/licenses/servers/:id/raw",
    async ({ request, exchange, params }) => {
      const { unparsedLines, unparsed, lastPollAt } = knownServer(live.snapshot(), params.id);
      const raw = await collector.raw(params.id);
      const nothing = { argv: null, exitCode: null, signal: null, truncated: null };
      const output = {
        server: params.id,
        polledAt: raw && iso(lastPollAt),
        ...(raw === null ? nothing : pick(raw, "argv", "exitCode", "signal", "truncated")),
        stdout: raw && decodeOutput(raw.stdout),
        stderr: raw && decodeOutput(raw.stderr),
        unparsedLines,
        unparsed: unparsed.map((line) => pick(line, "line", "text")),
      };
      return send(request, valueAnswer(withSite(output, exchange.ofSite)));
    },
    documented("raw", "Licenses", "Raw output of a server's last poll", {
      description: "Command line, output and unrecognized lines. Null until the first poll after a start.",
      params: ID,
      answers: { 200: { description: "Raw output", schema: RawOutput } },
    }),
  );
}
