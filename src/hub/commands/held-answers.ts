import type { Clock, Timers } from "../../domain/time/clock.ts";
import { type Command, HEARTBEAT_MS } from "../../fleet/protocol.ts";
import type { Pool, Sql } from "../database/connect.ts";

/**
 * Returns the commands to send with the answer to a push. A command is sent with every answer until its
 * outcome arrives.
 */
export async function takeCommands(sql: Sql, site: string, now: number): Promise<Command[]> {
  const rows: { id: string; body: string; expires_at: string }[] = await sql`
    UPDATE commands SET handed_at = coalesce(handed_at, ${now})
    WHERE site = ${site} AND done_at IS NULL AND expires_at > ${now} RETURNING id, body, expires_at`;
  // The ids of commands sort by time.
  return rows
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .map(({ body, expires_at }) => ({ ...JSON.parse(body), expiresInMs: Number(expires_at) - now }));
}

interface HeldAnswersDeps {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly timers: Timers;
}

export type HeldAnswers = ReturnType<typeof createHeldAnswers>;

/**
 * Holds answers to pushes until there is a command, so that commands need not wait for the next heartbeat.
 */
export function createHeldAnswers({ pool, clock, timers }: HeldAnswersDeps) {
  const held = new Map<string, Set<() => void>>();
  let isEnding = false;

  return {
    /** Waits for a command, but at most one heartbeat, so that the site does not look silent. */
    async wait(site: string, holdMs: number, signal: AbortSignal): Promise<Command[]> {
      if (isEnding || holdMs <= 0) return [];
      const { promise, resolve } = Promise.withResolvers<void>();
      const release = () => resolve();
      const own = held.getOrInsertComputed(site, () => new Set());
      own.add(release);
      const cancel = timers.after(Math.min(holdMs, HEARTBEAT_MS), release);
      signal.addEventListener("abort", release, { once: true });
      await promise;
      signal.removeEventListener("abort", release);
      cancel();
      own.delete(release);
      if (own.size === 0) held.delete(site);
      return signal.aborted || isEnding ? [] : takeCommands(pool, site, clock.now());
    },

    async look(): Promise<void> {
      if (held.size === 0) return;
      const rows: { site: string }[] = await pool`
        SELECT DISTINCT site FROM commands WHERE done_at IS NULL AND handed_at IS NULL AND expires_at > ${clock.now()}`;
      for (const { site } of rows) for (const release of held.get(site) ?? []) release();
    },

    stop(): void {
      isEnding = true;
      for (const own of held.values()) for (const release of own) release();
    },
  };
}
