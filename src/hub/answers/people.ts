import { placesOf } from "../../history/sessions/session-order.ts";
import type { Pseudonyms } from "../../http/anonymous/anonymous.ts";
import type { SessionFilter } from "../../store/conditions.ts";
import type { Pool } from "../database/connect.ts";
import { type Conditions, createConditions } from "../lists/conditions.ts";

/** What a filter of the daemon's asks of rows with site, server, daemon, feature, user_name and host. */
export function personConditions(conditions: Conditions, filter: SessionFilter): void {
  ofSites(conditions, filter);
  conditions.oneOf("daemon", filter.daemons);
  conditions.oneOf("feature", filter.features);
  conditions.oneOf("user_name", filter.users);
  // As SQLite does it at the sites: of other letters than a to z both cases are told apart.
  conditions.oneOf(
    "lower(host)",
    filter.hosts?.map((host) => host.toLowerCase()),
  );
}

/** A list as a text that PostgreSQL reads as an array: unlike a list in JSON it tells the planner how few there are. */
export const arrayText = (texts: readonly string[]): string =>
  `{${texts.map((text) => `"${text.replaceAll(/["\\]/g, "\\$&")}"`).join(",")}}`;

/** Sites alone are all that they have or had: servers that are gone, and what is of no server. */
export function ofSites(
  conditions: Conditions,
  { sites, servers }: Pick<SessionFilter, "sites" | "servers">,
): void {
  if (sites === undefined) conditions.servers(null, servers);
  else conditions.add(`site = ANY(${conditions.use(arrayText(sites))}::text::text[])`);
}

const NOBODY = { users: [] as string[], hosts: [] as string[] };

/**
 * The names among which those are that an anonymized caller's filter means: pseudonyms cannot be turned back. Nothing where
 * there is none to find.
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

/** The names that can come up in rows which the filter lets through, its own users and hosts left aside. */
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

/** For callers that see no names: the places of users or hosts in the order of their pseudonyms. */
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
