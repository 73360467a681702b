import { messageOf } from "../../domain/error-code.ts";
import type { Log } from "../../domain/log.ts";
import type { Timers } from "../../domain/time/clock.ts";
import type { Pool } from "../database/connect.ts";
import { LOCK } from "../database/migrate.ts";

/** The work of the hub that holds the lock. */
export interface HubWork {
  turn(): Promise<void>;
  stop(): void | Promise<void>;
}

interface OneHubWorkDeps {
  /** A single connection that holds the lock; if it is lost, another hub takes over. */
  readonly connection: Pool;
  /** Number of the lock. */
  readonly lock: number;
  readonly everyMs: number;
  readonly begin: (connection: Pool) => Promise<HubWork>;
  readonly timers: Timers;
  readonly log: Log;
}

/**
 * Runs work on one hub at a time. The others try to get the lock at each turn, and take over when its holder
 * stops or dies.
 */
export function createOneHubWork({ connection, lock, everyMs, begin, timers, log }: OneHubWorkDeps) {
  let work: HubWork | null = null;
  let isFailing = false;
  let isStopped = false;
  let running: Promise<void> = Promise.resolve();
  let cancel = () => {};

  /**
   * Reports whether this connection still holds the lock: Bun reconnects silently after a connection is lost.
   */
  async function holds(): Promise<boolean> {
    const [row] = await connection`
      SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND classid = ${LOCK} AND objid = ${lock}
        AND pid = pg_backend_pid() AND granted) AS held`;
    return row.held;
  }

  /** Makes PostgreSQL detect a dead host within 30 s instead of TCP's two hours. */
  const watchConnection = () => connection`
    SELECT set_config('tcp_keepalives_idle', '10', false), set_config('tcp_keepalives_interval', '5', false),
      set_config('tcp_keepalives_count', '3', false)`;

  async function end(): Promise<void> {
    const ended = work;
    work = null;
    await ended?.stop();
  }

  async function turn(): Promise<void> {
    if (work !== null && !(await holds())) await end();
    if (work === null) {
      const [row] = await connection`SELECT pg_try_advisory_lock(${LOCK}::int, ${lock}::int) AS held`;
      if (!row.held) return;
      await watchConnection();
      work = await begin(connection);
    }
    await work.turn();
  }

  async function attempt(): Promise<void> {
    try {
      await turn();
      if (isFailing) log.info("Evaluating alerts again");
      isFailing = false;
    } catch (error) {
      if (!isFailing) log.error("Cannot evaluate alerts", { error: messageOf(error) });
      isFailing = true;
      // The lock may be lost.
      await end();
      await connection`SELECT pg_advisory_unlock_all()`.catch(() => {});
    }
  }

  function next(): void {
    if (isStopped) return;
    running = attempt().finally(() => {
      if (!isStopped) cancel = timers.after(everyMs, next);
    });
  }

  next();
  return {
    async stop(): Promise<void> {
      isStopped = true;
      cancel();
      await running;
      await end();
      await connection.close({ timeout: 1 });
    },
  };
}
