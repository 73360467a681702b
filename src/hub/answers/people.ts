import { placesOf } from "../../history/sessions/session-order.ts";
import type { Pseudonyms } from "../../http/anonymous/anonymous.ts";
import type { SessionFilter } from "../../store/conditions.ts";
import type { Pool } from "../database/connect.ts";
import { type Conditions, createConditions } from "../lists/conditions.ts";

export function personConditions(conditions: Conditions, filter: SessionFilter): void {
  ofSites(conditions, filter);
  conditions.oneOf("daemon", filter.daemons);
  conditions.oneOf("feature", filter.features);
  conditions.oneOf("user_name", filter.users);
  // Ignores the case of a to z only, as SQLite does at the sites.
  conditions.oneOf(
    "lower(host)",
    filter.hosts?.map((host) => host.toLowerCase()),
  );
}

/** Formats a PostgreSQL array. Unlike JSON, an array tells the planner the number of items. */
export const arrayText = (texts: readonly string[]): string =>
  `{${texts.map((text) => `"${text.replaceAll(/["\\]/g, "\\$&")}"`).join(",")}}`;

/**
 * Adds a filter by site or server. Rows of removed servers, and rows without a server, match only a filter
 * by site.
 */
export function ofSites(
  conditions: Conditions,
  { sites, servers }: Pick<SessionFilter, "sites" | "servers">,
): void {
  if (sites === undefined) conditions.servers(null, servers);
  else conditions.add(`site = ANY(${conditions.use(arrayText(sites))}::text::text[])`);
}

const NOBODY = { users: [] as string[], hosts: [] as string[] };

/**
 * Returns the stored names that an anonymized caller's filter may refer to, because pseudonyms cannot be
 * reversed. Empty if the filter names no people.
 */
export async function peopleIn(
  pool: Pool,
  filter: SessionFilter,
  pseudonyms: Pseudonyms | null,
  tables: readonly string[],
): Promise<typeof NOBODY> {
  if (pseudonyms === null || (filter.users === null && filter.hosts === null)) return NOBODY;
  return {
    users: await namesIn(pool, filter, "user_name", tables),
    hosts: await namesIn(pool, filter, "host", tables),
  };
}

async function namesIn(
  pool: Pool,
  filter: SessionFilter,
  column: "user_name" | "host",
  tables: readonly string[],
): Promise<string[]> {
  const conditions = createConditions();
  personConditions(conditions, { ...filter, users: null, hosts: null });
  const one = (table: string) =>
    `SELECT DISTINCT ${column} AS name FROM ${table} WHERE ${column} IS NOT NULL AND ${conditions.where()}`;
  const rows: { name: string }[] = await pool.unsafe(tables.map(one).join(" UNION "), conditions.values);
  return rows.map(({ name }) => name);
}

/** Ranks users or hosts by their pseudonyms, for anonymized callers. */
export async function placesIn(
  pool: Pool,
  filter: SessionFilter,
  kind: "user" | "host",
  pseudonyms: Pseudonyms,
  tables: readonly string[],
) {
  const names = await namesIn(pool, filter, kind === "user" ? "user_name" : "host", tables);
  return placesOf(names, pseudonyms[kind]);
}
