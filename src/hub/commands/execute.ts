import { ApiError } from "../../domain/errors.ts";
import { callerOf } from "../../http/exchange.ts";
import type { RouteDeps } from "../../http/routes/deps.ts";
import { type CommandPort, requireCommand } from "../../http/routes/execute.ts";
import { knownServer } from "../../http/snapshot.ts";
import { partsOf } from "../lists/conditions.ts";
import type { Commands } from "./commands.ts";

/** Default time limit of a command; a site's config may have another. */
const DEFAULT_MS = 120_000;
/** Additional time for the way to the site and back. */
const TRAVEL_MS = 20_000;

/** Runs commands on license servers through their sites. Their output never leaves the site. */
export function commandsAtSites(
  { execute, live }: Pick<RouteDeps, "execute" | "live">,
  commands: Pick<Commands, "ask" | "assertReachable">,
): CommandPort {
  return {
    ofSites: true,
    plan(exchange, { command, server, args = {}, timeoutMs = null, dryRun = false }) {
      const entry = execute.list().find(({ name }) => name === command);
      // Commands from a site's config are unknown here; the site checks the role.
      if (entry !== undefined) requireCommand(exchange, entry);
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
      const [site, own] = partsOf(server);
      commands.assertReachable(site, "execute");
      const waitMs = (timeoutMs ?? entry?.timeoutMs ?? DEFAULT_MS) + TRAVEL_MS;
      const asked = { command: "execute", name: command, server: own, args, timeoutMs } as const;
      const shown = { site, server, command };
      return {
        shown,
        async run() {
          const { run } = await commands.ask(site, asked, callerOf(exchange), waitMs);
          return { exitCode: run?.exitCode ?? null, durationMs: run?.durationMs ?? 0 };
        },
      };
    },
  };
}
