import { sql } from "drizzle-orm";
import { blob, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import { DENIAL_OUTCOMES } from "../../domain/denials.ts";
import { ofServer } from "../server-table.ts";

/** The tables of history and of denials: `schema.ts` puts them beside the others. */

export const historyFeatures = sqliteTable(
  "history_features",
  {
    id: integer().primaryKey(),
    serverId: ofServer(),
    daemon: text().notNull(),
    name: text().notNull(),
  },
  (table) => [uniqueIndex("history_features_by_name").on(table.serverId, table.daemon, table.name)],
);

export const historyUsers = sqliteTable(
  "history_users",
  { id: integer().primaryKey(), name: text().notNull() },
  (table) => [uniqueIndex("history_users_by_name").on(table.name)],
);

export const coverage = sqliteTable(
  "coverage",
  {
    serverId: ofServer(),
    fromAt: integer("from_at").notNull(),
    readAt: integer("read_at").notNull(),
    untilAt: integer("until_at").notNull(),
    running: integer({ mode: "boolean" }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.serverId, table.fromAt] })],
);

export const samples = sqliteTable(
  "samples",
  {
    featureId: integer("feature_id").notNull(),
    at: integer().notNull(),
    total: integer(),
    used: integer(),
    reserved: integer(),
    queued: integer(),
    unlimited: integer({ mode: "boolean" }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.featureId, table.at] })],
);

const packed = () => ({ key: integer().primaryKey(), data: blob({ mode: "buffer" }).notNull() });

export const sampleDays = sqliteTable("sample_days", packed());
export const rollupHours = sqliteTable("rollup_hours", packed());
export const rollupDays = sqliteTable("rollup_days", packed());

const daily = () => ({ day: integer().primaryKey(), data: blob({ mode: "buffer" }) });

export const sessionDays = sqliteTable("session_days", daily());
export const siteDays = sqliteTable("site_days", daily());

export const sessionNames = sqliteTable("session_names", {
  id: integer().primaryKey(),
  name: text().notNull(),
});

export const sessionFeatures = sqliteTable("session_features", {
  id: integer().primaryKey(),
  serverId: text("server_id").notNull(),
  daemon: text().notNull(),
  name: text().notNull(),
});

export const historyOpen = sqliteTable(
  "history_open",
  { span: integer().notNull(), at: integer().notNull(), touches: integer().notNull() },
  (table) => [primaryKey({ columns: [table.span, table.at] })],
);

export const denials = sqliteTable(
  "denials",
  {
    id: integer().primaryKey(),
    serverId: ofServer(),
    daemon: text().notNull(),
    feature: text().notNull(),
    user: text().notNull(),
    host: text(),
    at: integer().notNull(),
    until: integer().notNull(),
    count: integer().notNull(),
    attempts: integer().notNull(),
    reason: text(),
    code: integer(),
    outcome: text({ enum: DENIAL_OUTCOMES }).notNull(),
    told: integer({ mode: "boolean" }).notNull(),
  },
  (table) => [
    uniqueIndex("denials_once").on(table.serverId, table.feature, table.user, table.daemon, table.at),
    index("denials_by_time").on(table.at),
    index("denials_by_feature").on(table.feature, table.at),
    index("denials_by_user").on(table.user, table.at),
    index("denials_by_end").on(table.until),
    index("denials_untold").on(table.id).where(sql`${table.told} = 0`),
  ],
);

export const denialSpans = sqliteTable(
  "denial_spans",
  {
    id: integer().primaryKey(),
    serverId: ofServer(),
    fromAt: integer("from_at").notNull(),
    toAt: integer("to_at"),
  },
  (table) => [index("denial_spans_by_server").on(table.serverId, table.fromAt)],
);

export const denialCursors = sqliteTable("denial_cursors", {
  serverId: ofServer().primaryKey(),
  cursor: text().notNull(),
});

export const historyTables = {
  historyFeatures,
  historyUsers,
  coverage,
  samples,
  sampleDays,
  rollupHours,
  rollupDays,
  sessionDays,
  siteDays,
  sessionNames,
  sessionFeatures,
  historyOpen,
  denials,
  denialSpans,
  denialCursors,
};
