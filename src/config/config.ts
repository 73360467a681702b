import type { AlertRule, Severity } from "../domain/alerts.ts";
import type { MonitoredServer } from "../domain/server.ts";
import type { LogLevel } from "../domain/words.ts";
import type { ConfigFile } from "./schema.ts";

/**
 * The config as the daemon uses it: defaults applied, durations in milliseconds, frozen. `licmond init` writes what
 * each setting means; null = not set, where there is no default.
 */
export interface Config {
  readonly http: {
    readonly host: string;
    /** 0 = any free port. */
    readonly port: number;
    readonly tls: { readonly cert: string; readonly key: string } | null;
    readonly corsOrigins: readonly string[];
    readonly trustedProxies: readonly string[];
    readonly maxBodyBytes: number;
  };
  readonly storage: {
    readonly directory: string;
    /** A copy of the database is made before its schema is changed. */
    readonly backupBeforeUpgrade: boolean;
    /** Daily backups that are kept: of state.db alone, and of both databases; 0 = none are made. */
    readonly backups: { readonly state: number; readonly history: number };
  };
  readonly log: { readonly level: LogLevel; readonly format: "auto" | "text" | "json" };
  readonly collector: {
    readonly intervalMs: number;
    readonly timeoutMs: number;
    readonly rescanTimeoutMs: number;
    readonly concurrency: number;
  };
  readonly servers: readonly MonitoredServer[];
  readonly retention: {
    readonly samplesMs: number;
    readonly rollupsMs: number;
    readonly sessionsMs: number;
    readonly eventsMs: number;
    readonly logsMs: number;
    readonly logBytes: number;
    readonly auditMs: number;
  };
  readonly alerts: AlertSettings & { readonly overrides: readonly AlertOverride[] };
  readonly maintenance: readonly MaintenanceWindow[];
  readonly notifications: readonly Notification[];
  readonly limits: {
    readonly requestsPerMinute: number;
    readonly burst: number;
    readonly anonymousPerMinute: number;
    readonly dailyQuota: number | null;
    readonly monthlyQuota: number | null;
    readonly streams: number;
    readonly streamsPerKey: number;
  };
  readonly execute: { readonly enabled: boolean; readonly commands: readonly ConfiguredCommand[] };
  readonly remoteWrite: {
    readonly url: string;
    readonly tokenFile: string | null;
    /** The token is this user's password; null = it is sent as a bearer. */
    readonly username: string | null;
    readonly intervalMs: number;
    /** Added to every series. */
    readonly labels: Readonly<Record<string, string>>;
  } | null;
}

export interface AlertSettings {
  /** Percent. */
  readonly usageWarning: number;
  readonly usageCritical: number;
  /** Days before an expiry on which to tell. */
  readonly expiryDays: readonly number[];
  /** Polls in a row that must fail before an alert fires. */
  readonly failures: number;
  /** Polls in a row that must be well before it resolves. */
  readonly recoveries: number;
  /** Hours after which a checkout counts as held too long; 0 = never. */
  readonly heldHours: number;
  /** 0 = told once only. */
  readonly reminderMs: number;
}

export interface AlertOverride {
  /** Names with `*` and `?`; null = any. */
  readonly server: string | null;
  readonly daemon: string | null;
  readonly feature: string | null;
  readonly settings: Partial<AlertSettings>;
  /** How long usage must stay above its threshold; null = one poll is enough. */
  readonly forMs: number | null;
  readonly enabled: boolean;
}

export interface MaintenanceWindow {
  /** Ids with `*` and `?`; `["*"]` when not set. */
  readonly servers: readonly string[];
  /** Start of the first window, epoch ms. */
  readonly startAt: number;
  readonly durationMs: number;
  readonly every: "day" | "week" | null;
}

export type Notification = {
  /** Least severity that is told. */
  readonly severity: Severity;
  /** Null = all rules. */
  readonly rules: readonly AlertRule[] | null;
} & (
  | {
      readonly type: "webhook";
      readonly url: string;
      readonly secretFile: string | null;
      readonly template: NonNullable<NonNullable<ConfigFile["notifications"]>[number]["template"]>;
    }
  | {
      readonly type: "email";
      readonly smtp: string;
      readonly from: string;
      readonly to: readonly string[];
      readonly username: string | null;
      readonly secretFile: string | null;
    }
  | { readonly type: "command"; readonly argv: readonly string[] }
);

export interface ConfiguredCommand {
  readonly name: string;
  /** Placeholders in braces are filled in, each within its argument. */
  readonly argv: readonly string[];
  readonly role: "operator" | "admin";
  readonly timeoutMs: number;
}
