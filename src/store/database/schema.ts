import { isNotNull, isNull, sql } from "drizzle-orm";
import {
  blob,
  index,
  integer,
  primaryKey,
  real,
  sqliteTable,
  text,
  uniqueIndex,
} from "drizzle-orm/sqlite-core";
import { ALERT_RULES, SEVERITIES } from "../../domain/alerts.ts";
import { END_REASONS } from "../../domain/session.ts";
import { ROLES } from "../../domain/words.ts";
import { ofServer, servers } from "./server-table.ts";

/**
 * The tables as drizzle's queries see them; `migrations/` makes them, and a test holds the two together. Those of history
 * and of denials are read and written by prepared SQL alone: they are declared in `migrations/` only.
 * Times are epoch milliseconds.
 */

export const pictures = sqliteTable("pictures", {
  serverId: ofServer().primaryKey(),
  savedAt: integer("saved_at").notNull(),
  head: text().notNull(),
  features: blob({ mode: "buffer" }),
});

export const knownHosts = sqliteTable("known_hosts", {
  serverId: ofServer().primaryKey(),
  hosts: text().notNull(),
});

export const apiKeys = sqliteTable(
  "api_keys",
  {
    id: text().primaryKey(),
    name: text().notNull(),
    role: text({ enum: ROLES }).notNull(),
    secretHash: blob("secret_hash", { mode: "buffer" }).notNull(),
    anonymize: integer({ mode: "boolean" }).notNull().default(false),
    createdAt: integer("created_at").notNull(),
    expiresAt: integer("expires_at"),
    revokedAt: integer("revoked_at"),
    dailyQuota: integer("daily_quota"),
    monthlyQuota: integer("monthly_quota"),
    requestsPerMinute: integer("requests_per_minute"),
  },
  (table) => [index("api_keys_by_name").on(table.name)],
);

export const keyUses = sqliteTable("key_uses", {
  keyId: text("key_id").primaryKey(),
  at: integer().notNull(),
});

export const events = sqliteTable(
  "events",
  {
    id: integer().primaryKey(),
    at: integer().notNull(),
    type: text().notNull(),
    level: text(),
    source: text(),
    server: text(),
    body: text().notNull(),
  },
  (table) => [
    index("events_by_level").on(table.level, table.id).where(sql`${table.level} IN ('warn', 'error')`),
    index("events_by_source").on(table.source, table.id).where(isNotNull(table.source)),
    index("events_behind").on(table.at).where(sql`${table.at} < ${table.id}`),
    index("events_by_server").on(table.server, table.id).where(isNotNull(table.server)),
    index("events_by_type").on(table.type, table.id),
  ],
);

export const logWords = sqliteTable("log_words", {
  fromId: integer("from_id").primaryKey(),
  throughId: integer("through_id").notNull(),
  words: text().notNull(),
});

export const logCounts = sqliteTable(
  "log_counts",
  {
    hour: integer().notNull(),
    level: text().notNull(),
    source: text().notNull(),
    count: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.hour, table.level, table.source] })],
);

export const eventMarks = sqliteTable("event_marks", {
  name: text().primaryKey(),
  value: integer().notNull(),
});

export const eventHoles = sqliteTable("event_holes", {
  fromId: integer("from_id").primaryKey(),
  toId: integer("to_id").notNull(),
});

export const sessions = sqliteTable(
  "sessions",
  {
    id: integer().primaryKey(),
    serverId: ofServer(),
    daemon: text().notNull(),
    feature: text().notNull(),
    user: text().notNull(),
    host: text(),
    display: text(),
    qualifier: text(),
    version: text(),
    count: integer().notNull(),
    handle: text(),
    startedAt: integer("started_at"),
    beganAt: integer("began_at").notNull(),
    firstSeenAt: integer("first_seen_at").notNull(),
    lastSeenAt: integer("last_seen_at").notNull(),
    endedAt: integer("ended_at"),
    endReason: text("end_reason", { enum: END_REASONS }),
  },
  (table) => [
    index("sessions_open").on(table.serverId).where(isNull(table.endedAt)),
    index("sessions_by_end").on(table.endedAt).where(isNotNull(table.endedAt)),
    index("sessions_by_feature")
      .on(table.serverId, table.daemon, table.feature, table.endedAt, table.firstSeenAt)
      .where(isNotNull(table.endedAt)),
    index("sessions_by_start").on(table.firstSeenAt),
    index("sessions_long")
      .on(table.serverId, table.daemon, table.feature, table.endedAt, table.beganAt)
      .where(sql`${table.endedAt} - ${table.beganAt} > 86400000`),
  ],
);

export const secrets = sqliteTable("secrets", {
  name: text().primaryKey(),
  value: blob({ mode: "buffer" }).notNull(),
});

export const quotaCounts = sqliteTable("quota_counts", {
  keyId: text("key_id").primaryKey(),
  dayAt: integer("day_at").notNull(),
  dayCount: integer("day_count").notNull(),
  monthAt: integer("month_at").notNull(),
  monthCount: integer("month_count").notNull(),
});

export const importedSessions = sqliteTable(
  "imported_sessions",
  {
    sessionId: integer("session_id")
      .primaryKey()
      .references(() => sessions.id, { onDelete: "cascade" }),
    hash: integer().notNull(),
  },
  (table) => [uniqueIndex("imported_sessions_once").on(table.hash)],
);

export const alerts = sqliteTable(
  "alerts",
  {
    id: integer().primaryKey(),
    rule: text({ enum: ALERT_RULES }).notNull(),
    severity: text({ enum: SEVERITIES }).notNull(),
    server: text(),
    daemon: text(),
    feature: text(),
    detail: text(),
    message: text().notNull(),
    value: real(),
    threshold: real(),
    startedAt: integer("started_at").notNull(),
    resolvedAt: integer("resolved_at"),
    acknowledgedAt: integer("acknowledged_at"),
    acknowledgedBy: text("acknowledged_by"),
    comment: text(),
    silencedUntil: integer("silenced_until"),
    told: text().notNull(),
  },
  (table) => [
    index("alerts_firing").on(table.id).where(isNull(table.resolvedAt)),
    index("alerts_by_end").on(table.resolvedAt).where(isNotNull(table.resolvedAt)),
    index("alerts_by_silence").on(table.silencedUntil).where(isNotNull(table.silencedUntil)),
    index("alerts_by_server").on(table.server, table.id),
    index("alerts_by_rule").on(table.rule, table.id),
  ],
);

export const alertWatches = sqliteTable("alert_watches", {
  subject: text().primaryKey(),
  body: text().notNull(),
});

export const alertBaselines = sqliteTable("alert_baselines", {
  server: text().primaryKey(),
  body: text().notNull(),
});

export const notifications = sqliteTable("notifications", {
  id: integer().primaryKey(),
  target: text().notNull(),
  kind: text().notNull(),
  at: integer().notNull(),
  alert: text().notNull(),
});

/** The tables of `licmond.db`, for the test. */
export const tables = {
  servers,
  pictures,
  knownHosts,
  keyUses,
  events,
  logWords,
  logCounts,
  eventMarks,
  eventHoles,
  sessions,
  quotaCounts,
  alerts,
  alertWatches,
  alertBaselines,
  notifications,
  importedSessions,
};

/** The tables of `state.db`; those in both have the same columns. */
export const stateTables = { apiKeys, secrets, eventMarks, alerts, alertWatches, notifications, events };
