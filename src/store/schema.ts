import { blob, index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { ROLES } from "../domain/words.ts";

/**
 * The tables as queries see them; `migrations/` makes them, and a test holds the two together.
 * Times are epoch milliseconds.
 */

export const servers = sqliteTable("servers", {
  id: text().primaryKey(),
  manager: text().notNull(),
  address: text().notNull(),
  name: text().notNull(),
  firstSeen: integer("first_seen").notNull(),
  lastConfigured: integer("last_configured").notNull(),
});

const ofServer = () =>
  text("server_id")
    .notNull()
    .references(() => servers.id, { onDelete: "cascade" });

export const pictures = sqliteTable("pictures", {
  serverId: ofServer().primaryKey(),
  savedAt: integer("saved_at").notNull(),
  head: text().notNull(),
});

export const pictureParts = sqliteTable(
  "picture_parts",
  { serverId: ofServer(), hash: text().notNull(), body: text().notNull() },
  (table) => [primaryKey({ columns: [table.serverId, table.hash] })],
);

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
    lastUsedAt: integer("last_used_at"),
    dailyQuota: integer("daily_quota"),
    monthlyQuota: integer("monthly_quota"),
    requestsPerMinute: integer("requests_per_minute"),
  },
  (table) => [index("api_keys_by_name").on(table.name)],
);

/** Every table, for the test and for drizzle. */
export const tables = { servers, pictures, pictureParts, knownHosts, apiKeys };
