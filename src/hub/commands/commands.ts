import { ApiError, ERROR_STATUS, type ErrorCode } from "../../domain/errors.ts";
import type { KeyRecord } from "../../domain/keys.ts";
import { type Clock, iso, MINUTE_MS, span, type Timers } from "../../domain/time/clock.ts";
import type { Command, Fact } from "../../fleet/protocol.ts";
import { shown } from "../../http/query.ts";
import type { Pool } from "../database/connect.ts";
import type { Directory } from "../lists/directory.ts";

/** A command that its site has not fetched by then expires. */
const EXPIRY_MS = 5 * MINUTE_MS;
const RETRY_SECONDS = 30;

type Wanted<Name extends Command["command"]> = Omit<
  Extract<Command, { command: Name }>,
  "id" | "by" | "expiresInMs"
>;
/** A command as a route requests it. */
export type Asked = { [Name in Command["command"]]: Wanted<Name> }[Command["command"]];

/** Outcome of a command at its site. */
export type Outcome = Pick<Extract<Fact, { kind: "outcome" }>, "results" | "run">;

/** Permission in the site's `[fleet] allow` that a command needs. */
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
 * Sends commands to sites. A command is a row that is sent with the answer to the site's next push, by the hub that receives the push. Its outcome comes back as a fact; `look` finds outcomes that requests at
 * this hub wait for.
 */
export function createCommands({ pool, directory, clock, timers }: CommandDeps) {
  const waiting = new Map<string, (row: Row) => void>();

  /** Throws an ApiError if the site cannot run the command now. */
  function assertReachable(site: string, command: Asked["command"]): void {
    const known = directory.siteOf(site);
    if (known === null)
      throw new ApiError("NOT_FOUND", `There is no site ${shown(site)}; /api/fleet/sites lists them.`);
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

    /** Delivers new outcomes to waiting requests. */
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

/** Returns the error code of a site, which may be newer than the hub. */
export function errorCodeOf(code: string | null): ErrorCode {
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
