import { blob, integer, real, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { ALERT_RULES, type Alert, SEVERITIES } from "../../domain/alerts.ts";
import { ROLES } from "../../domain/words.ts";

/**
 * Tables whose rows are read and written whole, see `table.ts`. `migrations/` creates them, and a test
 * compares the two. Times are epoch ms.
 */

export const servers = sqliteTable("servers", {
  id: text().primaryKey(),
  manager: text().notNull(),
  address: text().notNull(),
  name: text().notNull(),
  firstSeen: integer("first_seen").notNull(),
  lastConfigured: integer("last_configured").notNull(),
});

export const knownHosts = sqliteTable("known_hosts", {
  serverId: text("server_id").primaryKey(),
  hosts: text().notNull(),
});

export const apiKeys = sqliteTable("api_keys", {
  id: text().primaryKey(),
  name: text().notNull(),
  role: text({ enum: ROLES }).notNull(),
  secretHash: blob("secret_hash", { mode: "buffer" }).notNull(),
  anonymize: integer({ mode: "boolean" }).notNull(),
  createdAt: integer("created_at").notNull(),
  expiresAt: integer("expires_at"),
  revokedAt: integer("revoked_at"),
  dailyQuota: integer("daily_quota"),
  monthlyQuota: integer("monthly_quota"),
  requestsPerMinute: integer("requests_per_minute"),
});

export const signIns = sqliteTable("sign_ins", {
  id: text().primaryKey(),
  tokenHash: blob("token_hash", { mode: "buffer" }).notNull(),
  keyId: text("key_id").notNull(),
  role: text({ enum: ROLES }),
  stay: integer({ mode: "boolean" }).notNull(),
  createdAt: integer("created_at").notNull(),
  lastUsedAt: integer("last_used_at").notNull(),
  expiresAt: integer("expires_at"),
  browser: text(),
});

export const alerts = sqliteTable("alerts", {
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
  told: text({ mode: "json" }).$type<Alert["told"]>().notNull(),
  firedAt: integer("fired_at").notNull(),
  peakValue: real("peak_value"),
});

export const notifications = sqliteTable("notifications", {
  id: integer().primaryKey(),
  target: text().notNull(),
  kind: text().notNull(),
  at: integer().notNull(),
  alert: text().notNull(),
});
