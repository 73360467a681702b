import { logAlert } from "../../alerts/alert-log.ts";
import type { RunCommand } from "../../alerts/notify/command.ts";
import { createDispatcher } from "../../alerts/notify/dispatcher.ts";
import { createSender, type Target } from "../../alerts/notify/targets.ts";
import { alertSettings } from "../../alerts/settings.ts";
import { createCommandRunner } from "../../collector/run-command.ts";
import type { Config } from "../../config/config.ts";
import type { Environment } from "../../config/environment.ts";
import { messageOf } from "../../domain/error-code.ts";
import type { Log } from "../../domain/log.ts";
import type { Clock, Timers } from "../../domain/time/clock.ts";
import type { NotificationRow } from "../../store/notifications.ts";
import type { Pool } from "../database/connect.ts";
import { LOCK, LOCKS } from "../database/migrate.ts";
import type { Directory } from "../lists/directory.ts";
import { createNotes, type NoteSettings } from "./notes.ts";
import { createJudge } from "./site-rules.ts";

const EVERY_MS = 5_000;

interface HubAlertDeps {
  /** Separate connection to PostgreSQL, because it holds the lock. */
  readonly connection: Pool;
  readonly directory: Pick<Directory, "snapshot" | "isSilent">;
  readonly config: () => Pick<Config, "alerts" | "http" | "maintenance" | "notifications">;
  readonly environment: Environment;
  readonly version: string;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly everyMs?: number;
}

export function createHubAlerts(deps: HubAlertDeps) {
  const { connection, timers, log, everyMs = EVERY_MS } = deps;
  const { PATH = "", HOME = "/" } = deps.environment;
  const runner = createCommandRunner({ path: PATH, home: HOME });
  const begin = (sql: Pool) => beginWork(deps, runner.run, sql);
  const work = createOneHubWork({ connection, lock: LOCKS.alerts, everyMs, begin, timers, log });
  return {
    async stop() {
      await work.stop();
      await runner.stop();
    },
  };
}

async function beginWork(
  { directory, config, version, clock, timers, log }: HubAlertDeps,
  run: RunCommand,
  sql: Pool,
): Promise<HubWork> {
  const queue = await openQueue(sql, clock, log);
  const senderOf = ({ notification }: Target) => createSender(notification, { clock, run });
  const dispatcher = createDispatcher({ queue, senderOf, clock, timers, log });
  const judge = createJudge(version);
  let configured: ReturnType<typeof config> | null = null;
  let settings: NoteSettings & ReturnType<typeof alertSettings>;
  const notes = createNotes({ directory, settings: () => settings, nextId: queue.nextId, clock });

  function configure(): void {
    settings = alertSettings(config());
    dispatcher.configure(settings.targets);
  }

  return {
    async turn() {
      if (config() !== configured) {
        configured = config();
        configure();
      }
      const { news, told } = await sql.begin(async (tx) => ({
        news: await judge.look(tx, clock.now()),
        told: settings.targets.length === 0 ? [] : await notes.look(tx),
      }));
      for (const one of news) logAlert(log, one);
      dispatcher.send(told);
    },
    stop: dispatcher.stop,
  };
}

async function openQueue(sql: Pool, clock: Clock, log: Log) {
  const stored: (Omit<NotificationRow, "id" | "at"> & { readonly id: string; readonly at: string })[] =
    await sql`SELECT * FROM notifications ORDER BY id`;
  const rows = stored.map((row) => ({ ...row, id: Number(row.id), at: Number(row.at) }));
  let last = Math.max(clock.now(), rows.at(-1)?.id ?? 0);
  return {
    load: () => rows,
    nextId: () => ++last,
    write() {},
    /** If removal fails, the next hub sends the notification again, which is better than never. */
    remove(ids: readonly number[]): void {
      if (ids.length === 0) return;
      void sql`
        DELETE FROM notifications WHERE id = ANY(
          SELECT json_array_elements_text(${JSON.stringify(ids)}::text::json)::bigint)`.catch(
        (error: unknown) =>
          log.warn("Cannot remove sent notifications from the queue", { error: messageOf(error) }),
      );
    },
  };
}

interface HubWork {
  turn(): Promise<void>;
  stop(): void | Promise<void>;
}

interface OneHubWorkDeps {
  /** The single connection that holds the lock. If the connection is lost, another hub takes over. */
  readonly connection: Pool;
  readonly lock: number;
  readonly everyMs: number;
  readonly begin: (connection: Pool) => Promise<HubWork>;
  readonly timers: Timers;
  readonly log: Log;
}

/** Runs work on one hub at a time. At each turn, the other hubs try to get the lock. */
function createOneHubWork({ connection, lock, everyMs, begin, timers, log }: OneHubWorkDeps) {
  let work: HubWork | null = null;
  let isFailing = false;
  let isStopped = false;
  let running: Promise<void> = Promise.resolve();
  let cancel = () => {};

  /**
   * Reports whether this connection still holds the lock. Bun reconnects silently after losing a
   * connection, and the new connection has no lock.
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
      // Stop the work, because the lock may be lost.
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
