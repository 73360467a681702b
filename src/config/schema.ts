import { Kind, type Static, type TSchema, Type, TypeRegistry } from "@sinclair/typebox";
import { ALERT_RULES, presentRule, SEVERITIES } from "../domain/alerts.ts";
import { globPattern } from "../domain/plain-text.ts";
import { words } from "../domain/records.ts";
import { RULE, text, textRule } from "../domain/text-types.ts";
import { AUDIENCES, LOG_LEVELS } from "../domain/words.ts";
import { ProfileTable } from "../managers/profile.ts";
import * as form from "./forms.ts";

/**
 * Schema of the config file, in which durations and sizes are texts. `check-value.ts` checks a file,
 * `config.ts` applies the defaults. `secret` marks values that messages must not quote.
 */

const NOTIFICATION_TYPES = ["webhook", "email", "command"] as const;
/** Actions that a hub may request from a site. */
const FLEET_COMMANDS = ["rescan", "acknowledge", "execute"] as const;
const WEBHOOK_TEMPLATES = ["json", "slack", "teams", "ntfy"] as const;

const SECRET = { secret: true };
const START = { takes: 'a date with a time, e.g. 2026-01-31T22:00:00 or "2026-01-31T22:00:00Z"' };
TypeRegistry.Set(
  "Start",
  (_, value) => (value instanceof Date || typeof value === "string") && form.parseStart(value) !== null,
);

const optional = <T extends TSchema>(schema: T) => Type.Optional(schema);
const duration = (from: string, to: string, example = "60s") =>
  optional(text(form.durationFrom(from, to, example)));
const integer = (minimum: number, maximum: number) => optional(Type.Integer({ minimum, maximum }));
const percent = optional(Type.Number({ minimum: 0, maximum: 100 }));
const table = <T extends Record<string, TSchema>>(properties: T) =>
  Type.Object(properties, { additionalProperties: false });
const section = <T extends Record<string, TSchema>>(properties: T) => optional(table(properties));
const tables = <T extends Record<string, TSchema>>(properties: T) => optional(Type.Array(table(properties)));
const LABEL = textRule("a string of at most 256 characters", (label) => label.length <= 256);
const labels = (pattern: string) =>
  optional(Type.Record(Type.String({ pattern }), text(LABEL), { additionalProperties: false }));

const LABEL_NAME = "^[A-Za-z_][A-Za-z0-9_]{0,63}$";
const MILLION = 1_000_000;

const RULE_NAMES = textRule(`one of ${ALERT_RULES.join(", ")}, or a pattern with * and ?`, (name) =>
  ALERT_RULES.some((rule) => globPattern(presentRule(name)).test(rule)),
);
const globs = optional(Type.Array(text(form.glob), { minItems: 1, uniqueItems: true }));

/** Settings that `[server_defaults]` may also have. */
const SERVER_SETTINGS = {
  tool: optional(Type.Union([text(form.program), Type.Array(text(form.someText), { minItems: 1 })])),
  timezone: optional(text(form.zone)),
  interval: duration("5s", "24h", "60s"),
  timeout: duration("1s", "10m", "30s"),
  enabled: optional(Type.Boolean()),
  labels: labels(LABEL_NAME),
  secret_file: optional(text(form.handedFile, SECRET)),
  ca_file: optional(text(form.handedFile)),
  encoding: optional(text(form.encoding)),
  log_file: optional(text(form.absolutePath)),
  log_command: optional(Type.Array(text(form.someText, SECRET), { minItems: 1 })),
};
/** Managers are checked by `own-managers.ts`, because the config can define some. */
const MANAGER = text(form.someText);
export const ServerDefaults = table({ manager: optional(MANAGER), ...SERVER_SETTINGS });

const ALERT_SETTINGS = {
  usage_warning: percent,
  usage_critical: percent,
  critical_needs_demand: optional(Type.Boolean()),
  for: duration("0s", "30d", "15m"),
  expiry_days: optional(Type.Array(Type.Integer({ minimum: 0, maximum: 3650 }), { uniqueItems: true })),
  failures: integer(1, 1000),
  recoveries: integer(1, 1000),
  held_hours: optional(Type.Number({ minimum: 0, maximum: 87_600 })),
  reminder: duration("0s", "1y", "24h"),
};

export const ConfigFile = table({
  http: section({
    host: optional(text(form.listenHost)),
    port: integer(0, 65_535),
    tls_cert: optional(text(form.handedFile)),
    tls_key: optional(text(form.handedFile)),
    tls_client_ca: optional(text(form.handedFile)),
    public_url: optional(text(form.url)),
    cors_origins: optional(Type.Array(text(form.origin))),
    trusted_proxies: optional(Type.Array(text(form.network))),
    max_body_bytes: integer(1024, 16 * 1024 * 1024),
  }),
  storage: section({
    directory: optional(text(form.absolutePath)),
    backup_before_upgrade: optional(Type.Boolean()),
    backups: section({ state: integer(0, 365), history: integer(0, 365) }),
  }),
  log: section({ level: optional(words(LOG_LEVELS)), format: optional(words(["auto", "text", "json"])) }),
  collector: section({
    interval: duration("5s", "24h", "60s"),
    timeout: duration("1s", "10m", "30s"),
    rescan_timeout: duration("1s", "10m", "60s"),
    concurrency: integer(1, 256),
  }),
  managers: optional(Type.Array(ProfileTable)),
  server_defaults: optional(ServerDefaults),
  servers: tables({
    id: text(
      textRule(
        'an id of 1 to 64 characters a-z 0-9 . _ - starting with a letter or digit, e.g. "eda"',
        /^[a-z0-9][a-z0-9._-]{0,63}$/,
      ),
    ),
    name: optional(text(form.someText)),
    manager: MANAGER,
    address: text(form.someText),
    ...SERVER_SETTINGS,
  }),
  retention: section({
    samples: duration("1d", "100y", "400d"),
    rollups: duration("1d", "100y", "5y"),
    outages: duration("1d", "100y", "5y"),
    sessions: duration("1d", "100y", "400d"),
    events: duration("1d", "100y", "30d"),
    logs: duration("1d", "100y", "30d"),
    log_size: optional(text(form.sizeFrom("1MB", "256MB"))),
    audit: duration("1d", "100y", "400d"),
  }),
  alerts: section({
    ...ALERT_SETTINGS,
    overrides: tables({
      server: optional(text(form.glob)),
      daemon: optional(text(form.glob)),
      feature: optional(text(form.glob)),
      ...ALERT_SETTINGS,
      enabled: optional(Type.Boolean()),
    }),
  }),
  maintenance: tables({
    servers: optional(Type.Array(text(form.glob), { minItems: 1 })),
    start: Type.Unsafe<Date | string>({ [Kind]: "Start", [RULE]: START }),
    duration: text(form.durationFrom("1m", "30d", "4h")),
    every: optional(words(["day", "week"])),
  }),
  notifications: tables({
    type: words(NOTIFICATION_TYPES),
    severity: optional(words(SEVERITIES)),
    name: optional(text(form.someText)),
    /** Rules whose alerts are sent. `[]` means no alerts, only reports. */
    rules: optional(Type.Array(text(RULE_NAMES), { uniqueItems: true })),
    servers: globs,
    features: globs,
    labels: labels(LABEL_NAME),
    anonymize: optional(Type.Boolean()),
    group: duration("0s", "10m", "30s"),
    url: optional(text(form.url, SECRET)),
    url_file: optional(text(form.handedFile, SECRET)),
    secret_file: optional(text(form.handedFile, SECRET)),
    template: optional(words(WEBHOOK_TEMPLATES)),
    smtp: optional(text(form.smtp, SECRET)),
    username: optional(text(form.someText, SECRET)),
    from: optional(text(form.mailAddress)),
    to: optional(Type.Union([text(form.mailAddress), Type.Array(text(form.mailAddress), { minItems: 1 })])),
    argv: optional(Type.Array(Type.String(SECRET), { minItems: 1 })),
  }),
  products: tables({
    name: text(form.someText),
    features: Type.Array(text(form.featureGlob), { minItems: 1, uniqueItems: true }),
    cost_per_seat_year: optional(Type.Number({ minimum: 0, maximum: 1e9 })),
    currency: optional(text(form.someText)),
  }),
  reports: tables({
    every: words(["week", "month"]),
    at: optional(text(form.momentOfWeek)),
    target: text(form.someText),
    labels: labels(LABEL_NAME),
  }),
  page: section({
    people: optional(words(["viewer", "operator", "off"])),
    public: optional(words(["off", ...AUDIENCES])),
    frame_ancestors: optional(Type.Array(text(form.frameAncestor), { uniqueItems: true })),
    user_header: optional(text(form.headerName)),
    role_header: optional(text(form.headerName)),
    roles: optional(Type.Record(Type.String(), words(["viewer", "operator", "admin"]))),
  }),
  limits: section({
    requests_per_minute: integer(1, MILLION),
    burst: integer(1, MILLION),
    anonymous_per_minute: integer(1, MILLION),
    daily_quota: integer(1, Number.MAX_SAFE_INTEGER),
    monthly_quota: integer(1, Number.MAX_SAFE_INTEGER),
    streams: integer(1, 100_000),
    streams_per_key: integer(1, 100_000),
    stream_buffers: optional(text(form.sizeFrom("1MB", "64MiB"))),
  }),
  execute: section({
    enabled: optional(Type.Boolean()),
    commands: tables({
      name: text(
        textRule(
          'a name of 1 to 64 characters a-z 0-9 _ - starting with a letter or digit, e.g. "lmdiag"',
          /^[a-z0-9][a-z0-9_-]{0,63}$/,
        ),
      ),
      argv: Type.Array(Type.String(SECRET), { minItems: 1 }),
      role: optional(words(["operator", "admin"])),
      timeout: duration("1s", "10m", "30s"),
    }),
  }),
  hub: section({
    database: text(form.postgresUrl, SECRET),
    database_password_file: optional(text(form.handedFile, SECRET)),
    read_database: optional(text(form.postgresUrl, SECRET)),
  }),
  export: section({
    remote_write: section({
      url: text(form.openUrl("username and token_file"), SECRET),
      token_file: optional(text(form.handedFile, SECRET)),
      interval: duration("5s", "1h", "60s"),
      username: optional(text(form.someText, SECRET)),
      labels: labels("^(?!__)[A-Za-z_][A-Za-z0-9_]{0,63}$"),
    }),
  }),
  fleet: section({
    site: text(form.siteName),
    url: text(form.openUrl("api_key_file"), SECRET),
    api_key_file: text(form.handedFile, SECRET),
    ca_file: optional(text(form.handedFile)),
    cert_file: optional(text(form.handedFile)),
    cert_key_file: optional(text(form.handedFile)),
    people: optional(words(AUDIENCES)),
    people_key_file: optional(text(form.handedFile, SECRET)),
    allow: optional(Type.Array(words(FLEET_COMMANDS), { uniqueItems: true })),
    notify: optional(words(["site", "hub"])),
    rate: optional(text(form.sizeFrom("10kB", "1MB"))),
    outbox_size: optional(text(form.sizeFrom("1MB", "256MB"))),
    labels: labels(LABEL_NAME),
    logs: optional(Type.Boolean()),
    formerly: optional(text(form.siteName)),
  }),
});
export type ConfigFile = Static<typeof ConfigFile>;
