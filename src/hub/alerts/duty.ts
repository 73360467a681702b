import { messageOf } from "../../domain/error-code.ts";
import type { Log } from "../../domain/log.ts";
import type { Timers } from "../../domain/time/clock.ts";
import type { Pool } from "../database/connect.ts";
import { LOCK } from "../database/migrate.ts";

/** What a hub does while it is the one that does it. */
export interface Shift {
  turn(): Promise<void>;
  stop(): void | Promise<void>;
}

interface DutyDeps {
  /** One connection, which holds the lock: with it the lock goes, and another hub takes over. */
  readonly connection: Pool;
  /** Which of the hub's locks. */
  readonly lock: number;
  readonly everyMs: number;
  readonly begin: (connection: Pool) => Promise<Shift>;
  readonly timers: Timers;
  readonly log: Log;
}

/** Work that one hub does at a time: the others try again each turn, and take over where it ends or dies. */
export function createDuty({ connection, lock, everyMs, begin, timers, log }: DutyDeps) {
  let shift: Shift | null = null;
  let isFailing = false;
  let isStopped = false;
  let running: Promise<void> = Promise.resolve();
  let cancel = () => {};

  /** Whether the lock is still this connection's: a connection that was lost is made anew without a word. */
  async function holds(): Promise<boolean> {
    const [row] = await connection`
      SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND classid = ${LOCK} AND objid = ${lock}
        AND pid = pg_backend_pid() AND granted) AS held`;
    return row.held;
  }

  /** Has PostgreSQL notice within half a minute that this host is gone, and not after the two hours of TCP. */
  const watchConnection = () => connection`
    SELECT set_config('tcp_keepalives_idle', '10', false), set_config('tcp_keepalives_interval', '5', false),
      set_config('tcp_keepalives_count', '3', false)`;

  async function end(): Promise<void> {
    const ended = shift;
    shift = null;
    await ended?.stop();
  }

  async function turn(): Promise<void> {
    if (shift !== null && !(await holds())) await end();
    if (shift === null) {
      const [row] = await connection`SELECT pg_try_advisory_lock(${LOCK}::int, ${lock}::int) AS held`;
      if (!row.held) return;
      await watchConnection();
      shift = await begin(connection);
    }
    await shift.turn();
  }

  async function attempt(): Promise<void> {
    try {
      await turn();
      if (isFailing) log.info("Alerts are looked at again");
      isFailing = false;
    } catch (error) {
      if (!isFailing) log.error("Alerts cannot be looked at", { error: messageOf(error) });
      isFailing = true;
      // Nobody knows whether the lock is still there.
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
