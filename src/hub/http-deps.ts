import { type Problem, printProblem } from "../config/problem.ts";
import type { HostService, LoopLag } from "../daemon/meters.ts";
import type { RunningConfig } from "../daemon/running-config.ts";
import type { HealthCheck } from "../domain/service/status.ts";
import type { HttpSettings } from "../http/deps.ts";
import type { Sent } from "../http/query.ts";
import { databaseTrouble } from "./access/access.ts";
import type { HubKeys } from "./access/keys.ts";
import type { HubSignIns } from "./access/sign-ins.ts";
import { createAlertHandling } from "./alerts/handle.ts";
import type { HubAppDeps } from "./app.ts";
import type { Commands } from "./commands/commands.ts";
import { createRescan } from "./commands/rescan.ts";
import type { Pool } from "./database/connect.ts";
import type { Reads } from "./database/reads.ts";
import { createHubHistory, type HistoryWorker } from "./history/port.ts";
import type { Directory } from "./lists/directory.ts";
import { serversIn } from "./lists/scope.ts";
import { clearLogs } from "./logs/clear.ts";
import { collectorPort, databaseHealth, executePort, sitesHealth } from "./ports.ts";
import type { HubStreams } from "./streams/streams.ts";

interface HubParts
  extends Pick<HubAppDeps, "clock" | "log" | "build" | "installationId" | "meters" | "push" | "pseudonyms"> {
  readonly running: RunningConfig;
  readonly startedAt: number;
  /** Start time by `performance.now()`. */
  readonly begun: number;
  readonly pool: Pool;
  readonly keys: HubKeys;
  readonly signIns: HubSignIns;
  readonly quotas: HubAppDeps["quotas"];
  readonly reads: Reads;
  readonly directory: Directory;
  readonly commands: Commands;
  readonly worker: HistoryWorker;
  readonly streams: HubStreams;
  readonly anonymous: HubAppDeps["pictures"]["anonymous"];
  readonly host: HostService;
  readonly lag: LoopLag;
  readonly pushHealth: { health(check: HealthCheck): HealthCheck };
  readonly schemaVersion: number;
  readonly zone: () => string;
}

/** Builds the HTTP side's dependencies from the parts of a hub. */
export function hubDepsOf(parts: HubParts): HubAppDeps {
  const { running, pool, keys, signIns, quotas, directory, host, pseudonyms } = parts;
  return {
    ...parts,
    settings: () => settingsOf(running.current(), parts.zone),
    live: directory,
    denials: directory,
    alerts: createAlertHandling(parts),
    history: createHubHistory(parts.reads, pseudonyms, parts.worker),
    narrowed: (sent, exchange) => narrowed(directory, sent, exchange),
    collector: { ...collectorPort(directory), rescan: createRescan(parts.commands, directory) },
    pictures: { anonymous: parts.anonymous },
    streams: parts.streams.port,
    execute: executePort,
    keys,
    signIns,
    troubleOf: databaseTrouble,
    quotas,
    logs: { clear: (before) => clearLogs(pool, before, parts.clock.now()) },
    health: async () => ({
      database: parts.pushHealth.health(parts.reads.health(await databaseHealth(pool))),
      collector: sitesHealth(directory),
      disk: { status: "healthy", message: "A hub stores nothing on its own disk" },
      clock: { status: "healthy", message: "Nothing speaks against the clock" },
    }),
    host,
    daemon: daemonPort(parts),
  };
}

function settingsOf(
  { http, limits, collector, products, maintenance, page }: ReturnType<RunningConfig["current"]>,
  zone: () => string,
): HttpSettings {
  return {
    ...http,
    limits,
    products,
    maintenance,
    page,
    ofSite: null,
    rescanTimeoutMs: collector.rescanTimeoutMs,
    get timezone() {
      return zone();
    },
  };
}

function daemonPort({
  running,
  startedAt,
  begun,
  lag,
  schemaVersion,
  streams,
}: HubParts): HubAppDeps["daemon"] {
  return {
    status: () => ({
      uptimeSeconds: Math.floor((performance.now() - begun) / 1000),
      startedAt,
      fleet: null,
      configFile: running.file(),
      lastReload: running.lastReload(),
      streams: streams.counts(),
      eventLoopLagMs: lag.longestMs(),
      database: {
        sizeBytes: 0,
        schemaVersion,
        oldestSampleAt: null,
        backups: { state: null, history: null },
      },
    }),
    counters() {
      const { user, system } = process.cpuUsage();
      const { sse, websocket } = streams.counts();
      return {
        polls: { ok: 0, partial: 0, failed: 0 },
        parseProblems: 0,
        streamClients: sse + websocket,
        memoryBytes: process.memoryUsage.rss(),
        cpuSeconds: (user + system) / 1e6,
        eventLoopLagMs: lag.longestMs(),
      };
    },
    reload: () => running.reload((problem: Problem) => printProblem({ ...problem, file: null, line: null })),
  };
}

/** Replaces `site` in a query with `server`, for routes that take servers only. */
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
