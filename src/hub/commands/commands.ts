import type { RescanRow } from "../../collector/outcomes.ts";
import { ApiError, ERROR_STATUS, type ErrorCode } from "../../domain/errors.ts";
import type { KeyRecord } from "../../domain/keys.ts";
import { serverAt, siteOf } from "../../domain/server.ts";
import { type Clock, iso, MINUTE_MS, span, type Timers } from "../../domain/time/clock.ts";
import type { Command, Fact } from "../../fleet/protocol.ts";
import type { HttpDeps } from "../../http/deps.ts";
import { callerOf } from "../../http/exchange.ts";
import { shown } from "../../http/query.ts";
import type { RouteDeps } from "../../http/routes/deps.ts";
import { type CommandPort, requireCommand } from "../../http/routes/execute.ts";
import { knownServer } from "../../http/snapshot.ts";
import type { Pool } from "../database/connect.ts";
import { partsOf } from "../lists/conditions.ts";
import type { Directory } from "../lists/directory.ts";

/** Time after which a command expires if its site has not fetched it. */
const EXPIRY_MS = 5 * MINUTE_MS;
const RETRY_SECONDS = 30;

type Wanted<Name extends Command["command"]> = Omit<
  Extract<Command, { command: Name }>,
  "id" | "by" | "expiresInMs"
>;
export type Asked = { [Name in Command["command"]]: Wanted<Name> }[Command["command"]];

type Outcome = Pick<Extract<Fact, { kind: "outcome" }>, "results" | "run">;

/** Word in the site's `[fleet] allow` that permits a command. */
const NEEDS = {
  acknowledge: "acknowledge",
  silence: "acknowledge",
  rescan: "rescan",
  execute: "execute",
} as const satisfies Record<Command["command"], string>;

interface CommandDeps {
  readonly pool: Pool;
  readonly directory: Pick<Directory, "siteOf" | "isSilent">;
  readonly clock: Clock;
  readonly timers: Timers;
}

export type Commands = ReturnType<typeof createCommands>;

/**
 * Sends commands to sites. A command is stored as a row; the hub that receives the site's next push sends
 * the command with its answer. The outcome returns as a fact.
 */
export function createCommands({ pool, directory, clock, timers }: CommandDeps) {
  const waiting = new Map<string, (row: Row) => void>();

  function assertReachable(site: string, command: Asked["command"]): void {
    const known = directory.siteOf(site);
    if (known === null)
      throw new ApiError("NOT_FOUND", `Unknown site ${shown(site)}; /api/fleet/sites lists them.`);
    const { lastPushAt, stoppedAt, allow } = known;
    const needed = NEEDS[command];
    if (!allow.includes(needed)) throw new ApiError("AUTH_INSUFFICIENT", notAllowed(site, needed));
    if (!directory.isSilent(site)) return;
    const ago = lastPushAt === null ? "ever" : `for ${span(Math.max(0, clock.now() - lastPushAt))}`;
    const why = stoppedAt === null ? `has been silent ${ago}` : `was stopped at ${iso(stoppedAt)}`;
    const message = `The site ${site} ${why}: it cannot run commands until it is back.`;
    throw new ApiError("SERVICE_UNAVAILABLE", message, { retryAfterSeconds: RETRY_SECONDS });
  }

  return {
    assertReachable,
    /**
     * Sends a command to a site and waits for its outcome. Throws ApiError: NOT_FOUND, AUTH_INSUFFICIENT,
     * SERVICE_UNAVAILABLE, the site's own error, and TIMEOUT if the outcome does not arrive within `waitMs`.
     */
    async ask(site: string, asked: Asked, caller: KeyRecord, waitMs: number): Promise<Outcome> {
      assertReachable(site, asked.command);
      const id = Bun.randomUUIDv7();
      const [now, by] = [clock.now(), { key: caller.id, name: caller.name, role: caller.role }];
      const { promise, resolve } = Promise.withResolvers<Row | null>();
      const cancel = timers.after(waitMs, () => resolve(null));
      waiting.set(id, resolve);
      try {
        await pool.begin(async (tx) => {
          await tx`
            INSERT INTO commands (id, site, asked_at, expires_at, body)
            VALUES (${id}, ${site}, ${now}, ${now + EXPIRY_MS}, ${JSON.stringify({ ...asked, id, by })})`;
          await tx`SELECT pg_notify('licmond', 'command')`;
        });
        const row = await promise;
        if (row === null) throw late(site, waitMs, now + EXPIRY_MS);
        return outcomeOf(row, site, asked.command);
      } finally {
        cancel();
        waiting.delete(id);
      }
    },

    async look(): Promise<void> {
      if (waiting.size === 0) return;
      const rows: Row[] = await pool`
        SELECT id, outcome, code, message, results, run FROM commands
        WHERE done_at IS NOT NULL AND id = ANY(SELECT json_array_elements_text(${JSON.stringify([...waiting.keys()])}::text::json))`;
      for (const row of rows) waiting.get(row.id)?.(row);
    },
  };
}

interface Row {
  readonly id: string;
  readonly outcome: "done" | "refused" | "failed";
  readonly code: string | null;
  readonly message: string | null;
  readonly results: string | null;
  readonly run: string | null;
}

function outcomeOf({ outcome, code, message, results, run }: Row, site: string, command: Asked["command"]) {
  if (outcome === "refused") throw new ApiError("AUTH_INSUFFICIENT", notAllowed(site, NEEDS[command]));
  if (outcome === "failed")
    throw new ApiError(errorCodeOf(code), message ?? `The site ${site} failed to run the command.`);
  return {
    results: results === null ? null : JSON.parse(results),
    run: run === null ? null : JSON.parse(run),
  } as Outcome;
}

/** Converts the error code of a site. A newer site may have codes that this hub does not know. */
function errorCodeOf(code: string | null): ErrorCode {
  return code !== null && Object.hasOwn(ERROR_STATUS, code) ? (code as ErrorCode) : "UPSTREAM_ERROR";
}

function notAllowed(site: string, needed: string): string {
  return `The site ${site} does not allow this: its administrator must add "${needed}" to fleet.allow in its config.`;
}

function late(site: string, waitMs: number, expiresAt: number): ApiError {
  const until = `it will run if the site fetches it before ${iso(expiresAt)}`;
  const message = `The site ${site} has not answered within ${waitMs / 1000} s. The command is still on its way: ${until}.`;
  return new ApiError("TIMEOUT", message);
}

/**
 * Polls servers through their sites, one command per site. If a command fails as a whole, its servers get
 * the error; if there is only one site, the error is thrown.
 */
export function createRescan(
  commands: Pick<Commands, "ask">,
  directory: Pick<Directory, "snapshot">,
): HttpDeps["collector"]["rescan"] {
  return async (ids, timeoutMs, caller) => {
    const enabled = directory.snapshot().servers.filter(({ server }) => server.enabled);
    const wanted = ids ?? enabled.map(({ server }) => server.id);
    const bySite = Map.groupBy(wanted, siteOf);

    async function ofSite(site: string, servers: readonly string[]): Promise<RescanRow[]> {
      const own = ids === null ? null : servers.map((id) => id.slice(site.length + 1));
      try {
        const { results } = await commands.ask(site, { command: "rescan", servers: own }, caller, timeoutMs);
        return (results ?? []).map(({ server, status, durationMs, error }): RescanRow => {
          const id = serverAt(site, server);
          if (error === null)
            return { server: id, status: status === "ok" ? "ok" : "partial", durationMs, error };
          return { server: id, status: "failed", durationMs, error: failureOf(error.code, error.message) };
        });
      } catch (error) {
        if (bySite.size === 1 || !(error instanceof ApiError)) throw error;
        const failure = failureOf(error.code, error.message);
        return servers.map((id) => ({ server: id, status: "failed", durationMs: 0, error: failure }));
      }
    }

    const rows = await Promise.all([...bySite].map(([site, servers]) => ofSite(site, servers)));
    const place = new Map(wanted.map((id, index) => [id, index]));
    return rows.flat().sort((a, b) => (place.get(a.server) ?? 0) - (place.get(b.server) ?? 0));
  };
}

const failureOf = (code: string, message: string) => ({ code: errorCodeOf(code), message, details: null });

/** Default time limit of a command. A site's config may have another. */
const DEFAULT_MS = 120_000;
/** Additional time for the way of a command to the site, and of its outcome back. */
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
      // The hub does not know commands from a site's config; for these, the site checks the role.
      if (entry !== undefined) requireCommand(exchange, entry);
      if (server === undefined)
        throw new ApiError(
          "MISSING_FIELD",
          'Field "server" is missing: at a hub, it selects the site that runs the command.',
        );
      if (dryRun)
        throw new ApiError(
          "INVALID_FIELD",
          'Field "dryRun" must be false: a hub does not know the command lines of sites; ask the site.',
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
