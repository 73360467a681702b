import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { ALERT_RULES, SEVERITIES } from "../domain/alerts.ts";
import { LOG_LEVELS } from "../domain/words.ts";
import { MANAGERS } from "../managers/registry.ts";
import type { Bounds, Form } from "./forms.ts";

/**
 * The config file, as it is written: durations and sizes are still texts.
 * Every key of every section stands here once; `check-value.ts` walks it, `build.ts` applies the defaults.
 * `secret` marks values that no message may repeat.
 */

export const NOTIFICATION_TYPES = ["webhook", "email", "command"] as const;
export const WEBHOOK_TEMPLATES = ["json", "slack", "teams", "ntfy"] as const;

const optional = <T extends TSchema>(schema: T) => Type.Optional(schema);
const form = (name: Form, options: Bounds & { readonly secret?: boolean } = {}) =>
  Type.String({ form: name, ...options });
const duration = (from: string, to: string, example?: string) =>
  optional(form("duration", { from, to, ...(example !== undefined && { example }) }));
const oneOf = <const T extends readonly string[]>(list: T) =>
  Type.Unsafe<T[number]>({ type: "string", enum: [...list] });
const integer = (minimum: number, maximum: number) => optional(Type.Integer({ minimum, maximum }));
const percent = optional(Type.Number({ minimum: 0, maximum: 100 }));
const table = <T extends Record<string, TSchema>>(properties: T) => Type.Object(properties);
const section = <T extends Record<string, TSchema>>(properties: T) => optional(table(properties));
const tables = <T extends Record<string, TSchema>>(properties: T) => optional(Type.Array(table(properties)));

const MILLION = 1_000_000;

/** What an override may change for the features it names. */
const ALERT_SETTINGS = {
  usage_warning: percent,
  usage_critical: percent,
  expiry_days: optional(Type.Array(Type.Integer({ minimum: 0, maximum: 3650 }), { uniqueItems: true })),
  failures: integer(1, 1000),
  recoveries: integer(1, 1000),
  held_hours: optional(Type.Number({ minimum: 0, maximum: 87_600 })),
  /** `0s` = tell once only. */
  reminder: duration("0s", "1y", "24h"),
};

export const ConfigFile = table({
  http: section({
    host: optional(form("listenHost")),
    port: integer(0, 65_535),
    tls_cert: optional(form("handedFile")),
    tls_key: optional(form("handedFile")),
    cors_origins: optional(Type.Array(form("origin"))),
    trusted_proxies: optional(Type.Array(form("network"))),
    max_body_bytes: integer(1024, 16 * 1024 * 1024),
  }),
  storage: section({
    directory: optional(form("absolutePath")),
    backup_before_upgrade: optional(Type.Boolean()),
    backups: section({ state: integer(0, 365), history: integer(0, 365) }),
  }),
  log: section({ level: optional(oneOf(LOG_LEVELS)), format: optional(oneOf(["auto", "text", "json"])) }),
  collector: section({
    interval: duration("5s", "24h", "60s"),
    timeout: duration("1s", "10m", "30s"),
    rescan_timeout: duration("1s", "10m", "60s"),
    concurrency: integer(1, 256),
  }),
  servers: tables({
    id: Type.String({
      pattern: "^[a-z0-9][a-z0-9._-]{0,63}$",
      takes:
        'an id of 1 to 64 of the characters a-z 0-9 . _ - that starts with a letter or digit, e.g. "eda"',
    }),
    name: optional(form("text")),
    manager: Type.Unsafe<string>({
      type: "string",
      enum: [...MANAGERS],
      takes: `a license manager that is built in: ${MANAGERS.join(", ")}`,
    }),
    address: form("text"),
    tool: optional(Type.Union([form("program"), Type.Array(form("text"), { minItems: 1 })])),
    timezone: optional(form("zone")),
    interval: duration("5s", "24h", "60s"),
    timeout: duration("1s", "10m", "30s"),
    enabled: optional(Type.Boolean()),
    labels: optional(
      Type.Record(Type.String({ pattern: "^[A-Za-z_][A-Za-z0-9_]{0,63}$" }), Type.String({ maxLength: 256 })),
    ),
    log_file: optional(form("absolutePath")),
  }),
  retention: section({
    samples: duration("1d", "100y", "400d"),
    rollups: duration("1d", "100y", "5y"),
    sessions: duration("1d", "100y", "400d"),
    events: duration("1d", "100y", "30d"),
    logs: duration("1d", "100y", "30d"),
    log_size: optional(form("size", { from: "1MB", example: "256MB" })),
    audit: duration("1d", "100y", "400d"),
  }),
  alerts: section({
    ...ALERT_SETTINGS,
    overrides: tables({
      server: optional(form("glob")),
      daemon: optional(form("glob")),
      feature: optional(form("glob")),
      ...ALERT_SETTINGS,
      for: duration("0s", "30d", "10m"),
      enabled: optional(Type.Boolean()),
    }),
  }),
  maintenance: tables({
    servers: optional(Type.Array(form("glob"), { minItems: 1 })),
    start: Type.Unsafe<Date | string>({ type: "time" }),
    duration: form("duration", { from: "1m", to: "30d", example: "4h" }),
    every: optional(oneOf(["day", "week"])),
  }),
  notifications: tables({
    type: oneOf(NOTIFICATION_TYPES),
    severity: optional(oneOf(SEVERITIES)),
    rules: optional(Type.Array(oneOf(ALERT_RULES), { minItems: 1, uniqueItems: true })),
    url: optional(form("url", { secret: true })),
    secret_file: optional(form("handedFile", { secret: true })),
    template: optional(oneOf(WEBHOOK_TEMPLATES)),
    smtp: optional(form("smtp", { secret: true })),
    username: optional(form("text", { secret: true })),
    from: optional(form("mailAddress")),
    to: optional(Type.Union([form("mailAddress"), Type.Array(form("mailAddress"), { minItems: 1 })])),
    argv: optional(Type.Array(Type.String({ secret: true }), { minItems: 1 })),
  }),
  limits: section({
    requests_per_minute: integer(1, MILLION),
    burst: integer(1, MILLION),
    anonymous_per_minute: integer(1, MILLION),
    daily_quota: integer(1, Number.MAX_SAFE_INTEGER),
    monthly_quota: integer(1, Number.MAX_SAFE_INTEGER),
    streams: integer(1, 100_000),
    streams_per_key: integer(1, 100_000),
  }),
  execute: section({
    enabled: optional(Type.Boolean()),
    commands: tables({
      name: Type.String({
        pattern: "^[a-z0-9][a-z0-9_-]{0,63}$",
        takes:
          'a name of 1 to 64 of the characters a-z 0-9 _ - that starts with a letter or digit, e.g. "lmdiag"',
      }),
      argv: Type.Array(Type.String({ secret: true }), { minItems: 1 }),
      role: optional(oneOf(["operator", "admin"])),
      timeout: duration("1s", "10m", "30s"),
    }),
  }),
  export: section({
    remote_write: section({
      url: form("url", { secret: true }),
      token_file: optional(form("handedFile", { secret: true })),
      interval: duration("5s", "1h", "60s"),
      username: optional(form("text", { secret: true })),
      labels: optional(
        Type.Record(
          Type.String({ pattern: "^(?!__)[A-Za-z_][A-Za-z0-9_]{0,63}$" }),
          Type.String({ maxLength: 256 }),
        ),
      ),
    }),
  }),
});
export type ConfigFile = Static<typeof ConfigFile>;
