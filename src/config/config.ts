import { parseBytes } from "../domain/bytes.ts";
import type { MonitoredServer } from "../domain/server.ts";
import type { Product } from "../domain/stats/products.ts";
import { parseDuration, parseMomentOfWeek } from "../domain/time/clock.ts";
import { hostZone } from "../domain/time/zone.ts";
import { credentialOfPath, pathOfFile } from "./credentials.ts";
import type { Environment } from "./environment.ts";
import { parseStart } from "./forms.ts";
import type { ConfigFile } from "./schema.ts";

/**
 * Config of the daemon, with defaults applied, durations in milliseconds, and null for settings that are
 * not set. `licmond init` explains each setting.
 */
export type Config = Frozen<ReturnType<typeof buildConfig>>;

type Section<Name extends keyof ConfigFile> = NonNullable<ConfigFile[Name]>;

const STORAGE_DIRECTORY = "/var/lib/licmond";

export function buildConfig(file: ConfigFile, environment: Environment) {
  const { http = {}, storage = {}, log = {}, alerts = {}, limits = {}, execute = {} } = file;
  const collector = buildCollector(file.collector ?? {});
  const { tls_cert: cert, tls_key: key, tls_client_ca: clientCa } = http;
  return {
    http: {
      host: http.host ?? "127.0.0.1",
      /** False if no host is set; then only this host can connect, which `serve` and `check` point out. */
      isHostSet: http.host !== undefined,
      /** Port to listen on; 0 = any free port. */
      port: http.port ?? 8080,
      /** Public URL of the page; null = use the address of the request. */
      publicUrl: http.public_url ?? null,
      tls:
        cert === undefined || key === undefined
          ? null
          : {
              cert: pathOfFile(cert, environment),
              key: pathOfFile(key, environment),
              ...(clientCa !== undefined && { clientCa: pathOfFile(clientCa, environment) }),
            },
      corsOrigins: (http.cors_origins ?? []).map((origin) => origin.toLowerCase()),
      trustedProxies: http.trusted_proxies ?? [],
      maxBodyBytes: http.max_body_bytes ?? 65_536,
    },
    storage: {
      // systemd joins several state directories with colons.
      directory: storage.directory ?? (environment.STATE_DIRECTORY?.split(":")[0] || STORAGE_DIRECTORY),
      backupBeforeUpgrade: storage.backup_before_upgrade ?? true,
      /** Number of daily backups to keep: of state.db only, and of both databases; 0 = off. */
      backups: { state: storage.backups?.state ?? 7, history: storage.backups?.history ?? 1 },
    },
    log: { level: log.level ?? "info", format: log.format ?? "auto" },
    collector,
    managers: file.managers ?? [],
    servers: (file.servers ?? []).map((server) => ({
      ...buildServer(server, collector, environment),
      ...(file.fleet && { site: file.fleet.site }),
    })),
    retention: buildRetention(file.retention ?? {}),
    alerts: {
      ...ALERT_DEFAULTS,
      ...alertSettings(alerts),
      overrides: (alerts.overrides ?? []).map(buildOverride),
    },
    maintenance: (file.maintenance ?? []).map(buildWindow),
    notifications: (file.notifications ?? []).map((each) => buildNotification(each, environment)),
    products: (file.products ?? []).map(buildProduct),
    reports: (file.reports ?? []).map(buildReport),
    page: buildPage(file.page ?? {}),
    limits: {
      requestsPerMinute: limits.requests_per_minute ?? 600,
      burst: limits.burst ?? 100,
      anonymousPerMinute: limits.anonymous_per_minute ?? 60,
      dailyQuota: limits.daily_quota ?? null,
      monthlyQuota: limits.monthly_quota ?? null,
      streams: limits.streams ?? 2000,
      streamsPerKey: limits.streams_per_key ?? 50,
      streamBufferBytes: parseBytes(limits.stream_buffers ?? "64MiB") ?? 64 * 1024 ** 2,
    },
    execute: { enabled: execute.enabled ?? false, commands: (execute.commands ?? []).map(buildCommand) },
    remoteWrite: buildRemoteWrite(file.export?.remote_write, environment),
    fleet: buildFleet(file.fleet, environment),
    hub: buildHub(file.hub, environment),
  };
}

function buildCollector(collector: Section<"collector">) {
  return {
    intervalMs: ms(collector.interval, "60s"),
    timeoutMs: ms(collector.timeout, "30s"),
    rescanTimeoutMs: ms(collector.rescan_timeout, "60s"),
    concurrency: collector.concurrency ?? 8,
  };
}

function buildServer(
  server: Section<"servers">[number],
  defaults: Pick<MonitoredServer, "intervalMs" | "timeoutMs">,
  environment: Environment,
): MonitoredServer {
  const { tool } = server;
  return {
    id: server.id,
    name: server.name ?? server.id,
    manager: server.manager,
    address: server.address,
    tool: tool === undefined ? null : typeof tool === "string" ? [tool] : tool,
    timezone: server.timezone ?? hostZone(),
    intervalMs: server.interval === undefined ? defaults.intervalMs : ms(server.interval),
    timeoutMs: server.timeout === undefined ? defaults.timeoutMs : ms(server.timeout),
    enabled: server.enabled ?? true,
    labels: server.labels ?? {},
    secretFile: pathOfFile(server.secret_file, environment),
    caFile: pathOfFile(server.ca_file, environment),
    encoding: server.encoding ?? null,
    logFile: server.log_file ?? null,
    logCommand: server.log_command ?? null,
  };
}

function buildPage(page: Section<"page">) {
  return {
    /** Minimum role for data about single users. */
    people: page.people ?? "viewer",
    /** Data visible without a key. */
    public: page.public ?? "off",
    /** Sources that may embed the page, as in a Content-Security-Policy. */
    frameAncestors: (page.frame_ancestors ?? []).map((one) => (one === "self" ? "'self'" : one)),
    /** Header with the user name, from a trusted proxy; null = no single sign-on. */
    userHeader: page.user_header ?? null,
    /** Header with the user's groups. Null: `roles` maps user names instead. */
    roleHeader: page.role_header ?? null,
    /**
     * Roles by group, `*` for all others. Null: group names are role names, and users without groups are
     * viewers.
     */
    roles: page.roles ?? null,
  };
}

function buildRetention(retention: Section<"retention">) {
  return {
    samplesMs: ms(retention.samples, "400d"),
    rollupsMs: ms(retention.rollups, "5y"),
    outagesMs: ms(retention.outages, "5y"),
    sessionsMs: ms(retention.sessions, "400d"),
    eventsMs: ms(retention.events, "30d"),
    logsMs: ms(retention.logs, "30d"),
    logBytes: parseBytes(retention.log_size ?? "256MB") ?? 256e6,
    auditMs: ms(retention.audit, "400d"),
  };
}

export const ALERT_DEFAULTS = {
  /** Percentages of a feature's seats in use from which an alert is a warning or critical. */
  usageWarning: 90,
  usageCritical: 100,
  /** If true, a full feature is critical only if a request is queued or was denied. */
  criticalNeedsDemand: false,
  /**
   * Minimum duration of a shortage before its alert fires. The alert resolves after twice this time without
   * a shortage.
   */
  forMs: ms("15m"),
  /** Numbers of days before an expiry at which an alert fires. */
  expiryDays: [30, 14, 7, 1] as readonly number[],
  /** Number of consecutive failed polls before an alert fires. */
  failures: 3,
  /** Number of consecutive good polls before the alert resolves. */
  recoveries: 2,
  /** Hours after which a checkout counts as held too long; 0 = never. */
  heldHours: 0,
  /** Time between two reminders; 0 = no reminders. */
  reminderMs: ms("24h"),
};
export type AlertSettings = Readonly<typeof ALERT_DEFAULTS>;

/** Returns only the settings that are set. */
function alertSettings(alerts: Omit<Section<"alerts">, "overrides">): Partial<AlertSettings> {
  const settings = {
    usageWarning: alerts.usage_warning,
    usageCritical: alerts.usage_critical,
    criticalNeedsDemand: alerts.critical_needs_demand,
    forMs: alerts.for === undefined ? undefined : ms(alerts.for),
    expiryDays: alerts.expiry_days,
    failures: alerts.failures,
    recoveries: alerts.recoveries,
    heldHours: alerts.held_hours,
    reminderMs: alerts.reminder === undefined ? undefined : ms(alerts.reminder),
  };
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}

export type AlertOverride = Config["alerts"]["overrides"][number];

function buildOverride(override: NonNullable<Section<"alerts">["overrides"]>[number]) {
  return {
    /** Patterns with `*` and `?`; null = any. */
    server: override.server ?? null,
    daemon: override.daemon ?? null,
    feature: override.feature ?? null,
    settings: alertSettings(override),
    enabled: override.enabled ?? true,
  };
}

export type MaintenanceWindow = Config["maintenance"][number];

function buildWindow({ servers = ["*"], start, duration, every }: Section<"maintenance">[number]) {
  return {
    servers,
    /** Start of the first window, epoch ms. */
    startAt: parseStart(start) ?? Number.NaN,
    durationMs: ms(duration),
    every: every ?? null,
  };
}

export type Notification = Config["notifications"][number];

function buildNotification(notification: Section<"notifications">[number], environment: Environment) {
  const { type, url = null, smtp = "", from = "", to = [], argv = [] } = notification;
  const common = {
    /** Name in logs, instead of the address. */
    name: notification.name ?? null,
    severity: notification.severity ?? "warning",
    /** Patterns with `*` and `?`; null = all. */
    rules: notification.rules ?? null,
    servers: notification.servers ?? null,
    features: notification.features ?? null,
    labels: notification.labels ?? null,
    anonymize: notification.anonymize ?? false,
    /** Time within which alerts are combined into one message. */
    groupMs: ms(notification.group, "30s"),
  } as const;
  const secretFile = pathOfFile(notification.secret_file, environment);
  switch (type) {
    case "webhook": {
      const urlFile = pathOfFile(notification.url_file, environment);
      return { ...common, type, url, urlFile, secretFile, template: notification.template ?? "json" };
    }
    case "email": {
      const username = notification.username ?? null;
      return { ...common, type, smtp, from, to: typeof to === "string" ? [to] : to, username, secretFile };
    }
    case "command":
      return { ...common, type, argv };
  }
}

function buildProduct(product: Section<"products">[number]): Product {
  const { name, features, cost_per_seat_year: cost = null, currency = null } = product;
  return { name, features, costPerSeatYear: cost, currency };
}

export type ConfiguredReport = Config["reports"][number];

function buildReport({ every, at = "Mon 07:00", target, labels = {} }: Section<"reports">[number]) {
  /** `dueMs`: since Monday 00:00. `target`: name of a notification of type email. */
  return { every, dueMs: parseMomentOfWeek(at) ?? Number.NaN, target, labels };
}

export type ConfiguredCommand = Config["execute"]["commands"][number];

function buildCommand({ name, argv, role, timeout }: NonNullable<Section<"execute">["commands"]>[number]) {
  return { name, argv, role: role ?? "admin", timeoutMs: ms(timeout, "30s") };
}

function buildRemoteWrite(
  remote: NonNullable<Section<"export">["remote_write"]> | undefined,
  environment: Environment,
) {
  if (remote === undefined) return null;
  return {
    url: remote.url,
    tokenFile: pathOfFile(remote.token_file, environment),
    /** User of basic authentication, with the token as its password. Null: the token is a bearer token. */
    username: remote.username ?? null,
    intervalMs: ms(remote.interval, "60s"),
    labels: remote.labels ?? {},
  };
}

export type FleetSettings = NonNullable<Config["fleet"]>;

function buildFleet(fleet: ConfigFile["fleet"], environment: Environment) {
  if (fleet === undefined) return null;
  return {
    site: fleet.site,
    /** URL of the hub. The site pushes to `api/fleet/push` below this URL. */
    url: fleet.url,
    apiKeyFile: pathOfFile(fleet.api_key_file, environment),
    /** CA of the hub's certificate; null = the system's authorities. */
    caFile: pathOfFile(fleet.ca_file, environment),
    certFile: pathOfFile(fleet.cert_file, environment),
    certKeyFile: pathOfFile(fleet.cert_key_file, environment),
    people: fleet.people ?? "names",
    /** Key of the pseudonyms, shared by all sites; null = unique to this site. */
    peopleKeyFile: pathOfFile(fleet.people_key_file, environment),
    allow: fleet.allow ?? (["rescan", "acknowledge"] as const),
    /** Daemon that sends notifications about this site's alerts. */
    notify: fleet.notify ?? "site",
    /** Maximum rate, in bytes per second, of sending data that was queued during an outage. */
    bytesPerSecond: parseBytes(fleet.rate ?? "1MB") ?? 1e6,
    /** Maximum size of the queue. Beyond this limit, facts are dropped, and their days are sent instead. */
    outboxBytes: parseBytes(fleet.outbox_size ?? "256MB") ?? 256e6,
    labels: fleet.labels ?? {},
    /** Whether to send audit lines, warnings and errors, too. */
    logs: fleet.logs ?? false,
    /** Previous name of the site. */
    formerly: fleet.formerly ?? null,
  };
}

function buildHub(hub: ConfigFile["hub"], environment: Environment) {
  if (hub === undefined) return null;
  const { database, database_password_file: file, read_database: readDatabase = null } = hub;
  /** `readDatabase`: replica for lists and statistics; null = `database`. */
  return { database, passwordFile: pathOfFile(file, environment), readDatabase };
}

/** Parses a duration that has been checked. */
function ms(text: string | undefined, otherwise = "0s"): number {
  return parseDuration(text ?? otherwise) ?? Number.NaN;
}

type Frozen<T> = T extends object ? { readonly [Key in keyof T]: Frozen<T[Key]> } : T;

type SecretFile = readonly [setting: string, file: string];

/** Returns the secret files in a config, including credentials but not the TLS key. */
export function secretFiles({ servers, notifications, remoteWrite, fleet, hub }: Config): SecretFile[] {
  const named = [
    ...servers.map(({ id, secretFile }) => [`${id}: secret_file`, secretFile] as const),
    ...notifications.flatMap((each, index): [string, string | null][] => [
      [`notifications[${index}].secret_file`, each.type === "command" ? null : each.secretFile],
      [`notifications[${index}].url_file`, each.type === "webhook" ? each.urlFile : null],
    ]),
    ["export.remote_write.token_file", remoteWrite?.tokenFile ?? null] as const,
    ["fleet.api_key_file", fleet?.apiKeyFile ?? null] as const,
    ["fleet.people_key_file", fleet?.peopleKeyFile ?? null] as const,
    ["hub.database_password_file", hub?.passwordFile ?? null] as const,
  ];
  return named.flatMap(([setting, file]) => (file === null ? [] : [[setting, file] as const]));
}

/**
 * Returns the files to protect from other users. Other users may not write the config, and may not read the
 * TLS key and secrets.
 */
export function guardedFiles(config: Config, configFile: string | null, environment: Environment) {
  const named: (readonly [setting: string, file: string | null, kind: "secret" | "config"])[] = [
    ["config", configFile, "config"],
    ["http.tls_key", config.http.tls?.key ?? null, "secret"],
    ["fleet.cert_key_file", config.fleet?.certKeyFile ?? null, "secret"],
    ...secretFiles(config).map(([setting, file]) => [setting, file, "secret"] as const),
  ];
  // Leave out credentials, because systemd protects them.
  return named.flatMap(([setting, file, kind]) =>
    file === null || credentialOfPath(file, environment) !== null ? [] : [{ setting, file, kind }],
  );
}
