import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** The servers that were ever configured; whatever belongs to one goes with it. */
export const servers = sqliteTable("servers", {
  id: text().primaryKey(),
  manager: text().notNull(),
  address: text().notNull(),
  name: text().notNull(),
  firstSeen: integer("first_seen").notNull(),
  lastConfigured: integer("last_configured").notNull(),
});

/** The column of whatever belongs to a server. */
export const ofServer = () =>
  text("server_id")
    .notNull()
    .references(() => servers.id, { onDelete: "cascade" });
