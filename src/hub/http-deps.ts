import { catalogueOf } from "../collector/execute/catalogue.ts";
import { createSettings, processPort } from "../daemon/http-deps.ts";
import type { HostService, LoopLag } from "../daemon/meters.ts";
import type { RunningConfig } from "../daemon/running-config.ts";
import type { HealthCheck } from "../domain/service/status.ts";
import type { Sent } from "../http/query.ts";
import { builtInManager, MANAGERS } from "../managers/registry.ts";
import { databaseTrouble } from "./access/access.ts";
import { createAlertHandling } from "./alerts/stored-alerts.ts";
import type { HubAppDeps } from "./app.ts";
import { createRescan } from "./commands/commands.ts";
import type { Pool } from "./database/connect.ts";
import { createHubHistory, type HistoryWorker } from "./history/port.ts";
import { type Directory, serversIn } from "./lists/directory.ts";
import type { HubStreams } from "./streams/streams.ts";

type Unchanged = "build" | "clock" | "installationId" | "log" | "meters" | "push" | "pseudonyms" | "quotas";

interface HubParts
  extends Pick<HubAppDeps, Unchanged | "commands" | "directory" | "keys" | "pool" | "reads" | "signIns"> {
  readonly running: RunningConfig;
  readonly startedAt: number;
  /** Start time by `performance.now()`. */
  readonly begun: number;
  readonly worker: HistoryWorker;
  readonly streams: HubStreams;
  readonly anonymous: HubAppDeps["pictures"]["anonymous"];
  readonly host: HostService;
  readonly lag: LoopLag;
  readonly pushHealth: (check: HealthCheck) => HealthCheck;
  readonly schemaVersion: number;
}

export function hubDepsOf(parts: HubParts): HubAppDeps {
  const { running, pool, directory, clock, streams } = parts;
  return {
    ...parts,
    settings: createSettings(running, null),
    live: directory,
    denials: directory,
    alerts: createAlertHandling(parts),
    history: createHubHistory(parts.reads, parts.pseudonyms, parts.worker),
    narrowed: (sent, exchange) => narrowed(directory, sent, exchange),
    collector: { ...collectorPort(directory), rescan: createRescan(parts.commands, directory) },
    pictures: { anonymous: parts.anonymous },
    streams: streams.port,
    // A hub knows only the commands that every license manager has. The commands of a config are known only
    // to its site.
    execute: {
      enabled: true,
      list: () => [
        ...catalogueOf(
          [],
          MANAGERS.flatMap((name) => builtInManager(name) ?? []),
        ).values(),
      ],
    },
    troubleOf: databaseTrouble,
    logs: { clear: (before) => clearLogs(pool, before, clock.now()) },
    health: async () => ({
      database: parts.pushHealth(parts.reads.health(await databaseHealth(pool))),
      collector: sitesHealth(directory),
      disk: { status: "healthy", message: "A hub stores nothing on its own disk" },
      clock: { status: "healthy", message: "Clock is in sync" },
    }),
    daemon: processPort({
      ...parts,
      streams: streams.counts,
      reload: running.reload,
      counters: () => ({ polls: { ok: 0, partial: 0, failed: 0 }, parseProblems: 0 }),
      status: () => ({
        fleet: null,
        database: {
          sizeBytes: 0,
          schemaVersion: parts.schemaVersion,
          oldestSampleAt: null,
          backups: { state: null, history: null },
        },
      }),
    }),
  };
}

const PATIENCE_MS = 3_000;

/** A standby answers reads but accepts no writes. */
async function databaseHealth(pool: Pool): Promise<HealthCheck> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error("late")), PATIENCE_MS);
  try {
    const [row] = await Promise.race([
      pool`SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' AS fixed`,
      late,
    ]);
    if (row.fixed) return { status: "unhealthy", message: "The database is read-only" };
    return { status: "healthy", message: "The database is responding" };
  } catch {
    // Do not name the reason, because this text is public. The log has the reason.
    return { status: "unhealthy", message: "The database is not responding" };
  } finally {
    clearTimeout(timer);
  }
}

export function sitesHealth(directory: Directory): HealthCheck {
  const sites = directory.sites();
  if (sites.length === 0) return { status: "healthy", message: "No site has pushed yet" };
  const silent = sites.filter(({ site }) => directory.isSilent(site)).length;
  const message = `${sites.length - silent} of ${sites.length} sites push`;
  return { status: silent > 0 ? "degraded" : "healthy", message };
}

function collectorPort(directory: Directory): Omit<HubAppDeps["collector"], "rescan"> {
  return {
    raw: () => Promise.resolve(null),
    status() {
      const { servers } = directory.snapshot();
      const polled = servers.flatMap(({ lastPollAt }) => lastPollAt ?? []);
      return {
        servers: servers.length,
        enabled: servers.filter(({ server }) => server.enabled).length,
        runningPolls: 0,
        lastPollAt: polled.reduce<number | null>((last, at) => Math.max(last ?? at, at), null),
        nextPollAt: null,
        durationMs: { p50: null, p95: null },
      };
    },
  };
}

/** Replaces the parameter `site` by the site's servers, for routes that know only servers. */
function narrowed(
  directory: Directory,
  { site, ...sent }: Sent,
  exchange: { sites?: readonly string[] },
): Sent {
  if (site === undefined) return sent;
  const names = (value: string | readonly string[]) => [value].flat().flatMap((text) => text.split(","));
  const { server } = sent;
  const named = server === undefined ? {} : { server: names(server) };
  if (server === undefined && sent.label === undefined) exchange.sites = names(site);
  return { ...sent, server: serversIn(directory, { site: names(site), ...named }) ?? [] };
}

const LINES_A_STEP = 2_000;

/** Deletes lines before a time (null = now) in small steps, except audit lines. Returns their number. */
async function clearLogs(pool: Pool, before: number | null, now: number): Promise<number> {
  let cleared = 0;
  for (;;) {
    const rows = await pool`
      DELETE FROM events WHERE id IN (
        SELECT id FROM events WHERE type = 'log' AND source <> 'audit' AND at < ${before ?? now} ORDER BY id LIMIT ${LINES_A_STEP})
      RETURNING 1`;
    cleared += rows.length;
    if (rows.length < LINES_A_STEP) return cleared;
  }
}
