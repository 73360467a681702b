import { closestNames } from "../../config/closest-word.ts";
import { ApiError } from "../../domain/errors.ts";
import { NAMED, names, STORED_LIST, shown, type Values } from "../../http/query.ts";
import { closestWords, namedServers } from "../../http/snapshot.ts";
import type { Pool } from "../database/connect.ts";
import type { Directory } from "./directory.ts";

/** `site`, and what else names what a list is about. */
export const SITE = { site: names("Names of sites. An unknown one is 404.", "muc") };
export const NAMED_AT_HUB = { ...SITE, ...NAMED };
export const PAGE = STORED_LIST;

type Named = Values<typeof NAMED_AT_HUB>;

/** Of names that are closest to a wrong one, so many are looked at. */
const MAX_NAMES = 50_000;

/** Ids of the servers that a query is about, null = all. Throws NOT_FOUND for an unknown site, server or label. */
export function serversIn(directory: Directory, { site, server, label }: Omit<Named, "feature" | "daemon">) {
  const sites = directory.sites().map((row) => row.site);
  const unknown = site?.find((name) => !sites.includes(name));
  if (unknown !== undefined)
    throw new ApiError(
      "NOT_FOUND",
      `There is no site ${shown(unknown)}; /api/fleet/sites lists them.${closestWords(closestNames(unknown, new Set(sites)))}`,
    );
  if (site === undefined && server === undefined && label === undefined) return null;
  const named = namedServers(directory.snapshot(), server, label).map((picture) => picture.server.id);
  if (site === undefined) return named;
  const ofSites = new Set(site.flatMap(directory.serversOf));
  return named.filter((id) => ofSites.has(id));
}

/**
 * Throws NOT_FOUND for a daemon or a feature that neither the live pictures nor history know: an empty list must not answer
 * a typo. While no server was read it may come.
 */
export async function requireKnown(
  pool: Pool,
  directory: Directory,
  { daemon = [], feature = [] }: Named,
): Promise<void> {
  if (directory.snapshot().servers.length === 0) return;
  for (const [what, column, asked] of [
    ["daemon", "daemon", daemon],
    ["feature", "name", feature],
  ] as const) {
    for (const name of asked) {
      const found = await pool.unsafe(
        `SELECT 1 FROM current_features WHERE ${column} = $1 UNION ALL SELECT 1 FROM history_features WHERE ${column} = $1 LIMIT 1`,
        [name],
      );
      if (found.length > 0) continue;
      const rows: { name: string }[] = await pool.unsafe(
        `SELECT DISTINCT ${column} AS name FROM current_features UNION SELECT DISTINCT ${column} FROM history_features LIMIT ${MAX_NAMES}`,
      );
      const closest = closestNames(name, new Set(rows.map((row) => row.name)));
      throw new ApiError(
        "NOT_FOUND",
        `No license server has or had a ${what} ${shown(name)}.${closestWords(closest)}`,
      );
    }
  }
}
