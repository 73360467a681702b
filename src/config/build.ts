import { parseBytes } from "../domain/bytes.ts";
import type { MonitoredServer } from "../domain/server.ts";
import { parseDuration } from "../domain/time/duration.ts";
import { hostZone } from "../domain/time/zone.ts";
import type { AlertOverride, AlertSettings, Config, Notification } from "./config.ts";
import { pathOfFile } from "./credentials.ts";
import type { Environment } from "./environment.ts";
import type { ConfigFile } from "./schema.ts";
import { parseStart } from "./start-time.ts";

type Section<Name extends keyof ConfigFile> = NonNullable<ConfigFile[Name]>;

/** Where the data lies when nothing else is said. */
const STORAGE_DIRECTORY = "/var/lib/licmond";

/** A checked file → the config that the daemon uses, every default applied here and nowhere else. Frozen through and through. */
export function buildConfig(file: ConfigFile, environment: Environment): Config {
  const { http = {}, storage = {}, log = {}, alerts = {}, limits = {}, execute = {} } = file;
  const collector = buildCollector(file.collector ?? {});
  const remoteWrite = file.export?.remote_write;
  return freeze({
    http: {
      host: http.host ?? "0.0.0.0",
      port: http.port ?? 8080,
      tls:
        http.tls_cert === undefined || http.tls_key === undefined
          ? null
          : { cert: pathOfFile(http.tls_cert, environment), key: pathOfFile(http.tls_key, environment) },
      corsOrigins: (http.cors_origins ?? []).map((origin) => origin.toLowerCase()),
      trustedProxies: http.trusted_proxies ?? [],
      maxBodyBytes: http.max_body_bytes ?? 65_536,
    },
    storage: {
      directory: storage.directory ?? stateDirectory(environment) ?? STORAGE_DIRECTORY,
      backupBeforeUpgrade: storage.backup_before_upgrade ?? true,
      backups: { state: storage.backups?.state ?? 7, history: storage.backups?.history ?? 1 },
    },
    log: { level: log.level ?? "info", format: log.format ?? "auto" },
    collector,
    servers: (file.servers ?? []).map((server) => buildServer(server, collector)),
    retention: buildRetention(file.retention ?? {}),
    alerts: {
      usageWarning: 80,
      usageCritical: 95,
      expiryDays: [30, 14, 7, 1],
      failures: 3,
      recoveries: 2,
      heldHours: 0,
      reminderMs: ms(undefined, "24h"),
      ...alertSettings(alerts),
      overrides: (alerts.overrides ?? []).map(buildOverride),
    },
    maintenance: (file.maintenance ?? []).map(({ servers = ["*"], start, duration, every }) => ({
      servers,
      startAt: parseStart(start) ?? Number.NaN,
      durationMs: ms(duration, "0s"),
      every: every ?? null,
    })),
    notifications: (file.notifications ?? []).map((each) => buildNotification(each, environment)),
    limits: {
      requestsPerMinute: limits.requests_per_minute ?? 600,
      burst: limits.burst ?? 100,
      anonymousPerMinute: limits.anonymous_per_minute ?? 60,
      dailyQuota: limits.daily_quota ?? null,
      monthlyQuota: limits.monthly_quota ?? null,
      streams: limits.streams ?? 2000,
      streamsPerKey: limits.streams_per_key ?? 50,
    },
    execute: {
      enabled: execute.enabled ?? false,
      commands: (execute.commands ?? []).map(({ name, argv, role, timeout }) => ({
        name,
        argv,
        role: role ?? "admin",
        timeoutMs: ms(timeout, "30s"),
      })),
    },
    remoteWrite:
      remoteWrite === undefined
        ? null
        : {
            url: remoteWrite.url,
            tokenFile:
              remoteWrite.token_file === undefined ? null : pathOfFile(remoteWrite.token_file, environment),
            username: remoteWrite.username ?? null,
            intervalMs: ms(remoteWrite.interval, "60s"),
            labels: remoteWrite.labels ?? {},
          },
  });
}

function buildCollector(collector: Section<"collector">): Config["collector"] {
  return {
    intervalMs: ms(collector.interval, "60s"),
    timeoutMs: ms(collector.timeout, "30s"),
    rescanTimeoutMs: ms(collector.rescan_timeout, "60s"),
    concurrency: collector.concurrency ?? 8,
  };
}

function buildServer(
  server: Section<"servers">[number],
  defaults: { readonly intervalMs: number; readonly timeoutMs: number },
): MonitoredServer {
  const { tool } = server;
  return {
    id: server.id,
    name: server.name ?? server.id,
    manager: server.manager,
    address: server.address,
    tool: tool === undefined ? null : typeof tool === "string" ? [tool] : tool,
    timezone: server.timezone ?? hostZone(),
    intervalMs: server.interval === undefined ? defaults.intervalMs : ms(server.interval, "60s"),
    timeoutMs: server.timeout === undefined ? defaults.timeoutMs : ms(server.timeout, "30s"),
    enabled: server.enabled ?? true,
    labels: server.labels ?? {},
    logFile: server.log_file ?? null,
  };
}

function buildRetention(retention: Section<"retention">): Config["retention"] {
  return {
    samplesMs: ms(retention.samples, "400d"),
    rollupsMs: ms(retention.rollups, "5y"),
    sessionsMs: ms(retention.sessions, "400d"),
    eventsMs: ms(retention.events, "30d"),
    logsMs: ms(retention.logs, "30d"),
    logBytes: parseBytes(retention.log_size ?? "256MB") ?? 256e6,
    auditMs: ms(retention.audit, "400d"),
  };
}

/** What is set, and nothing of what is not, so that it can be laid over something else. */
function alertSettings(alerts: Omit<Section<"alerts">, "overrides">): Partial<AlertSettings> {
  return {
    ...(alerts.usage_warning !== undefined && { usageWarning: alerts.usage_warning }),
    ...(alerts.usage_critical !== undefined && { usageCritical: alerts.usage_critical }),
    ...(alerts.expiry_days !== undefined && { expiryDays: alerts.expiry_days }),
    ...(alerts.failures !== undefined && { failures: alerts.failures }),
    ...(alerts.recoveries !== undefined && { recoveries: alerts.recoveries }),
    ...(alerts.held_hours !== undefined && { heldHours: alerts.held_hours }),
    ...(alerts.reminder !== undefined && { reminderMs: ms(alerts.reminder, "24h") }),
  };
}

function buildOverride(override: NonNullable<Section<"alerts">["overrides"]>[number]): AlertOverride {
  return {
    server: override.server ?? null,
    daemon: override.daemon ?? null,
    feature: override.feature ?? null,
    settings: alertSettings(override),
    forMs: override.for === undefined ? null : ms(override.for, "0s"),
    enabled: override.enabled ?? true,
  };
}

function buildNotification(
  notification: Section<"notifications">[number],
  environment: Environment,
): Notification {
  const { type, url = "", smtp = "", from = "", to = [], argv = [] } = notification;
  const common = { severity: notification.severity ?? "warning", rules: notification.rules ?? null } as const;
  const { secret_file: secret } = notification;
  const secretFile = secret === undefined ? null : pathOfFile(secret, environment);
  switch (type) {
    case "webhook":
      return { ...common, type, url, secretFile, template: notification.template ?? "json" };
    case "email": {
      const username = notification.username ?? null;
      return { ...common, type, smtp, from, to: typeof to === "string" ? [to] : to, username, secretFile };
    }
    case "command":
      return { ...common, type, argv };
  }
}

/** A unit with several state directories gets them joined by colons: the first is ours. */
function stateDirectory(environment: Environment): string | undefined {
  return environment.STATE_DIRECTORY?.split(":")[0] || undefined;
}

/** The texts have been checked; the default is one of ours. */
function ms(text: string | undefined, otherwise: string): number {
  return parseDuration(text ?? otherwise) ?? Number.NaN;
}

function freeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) freeze(inner);
  }
  return value;
}
