import { closestNames } from "../../config/closest-word.ts";
import { ApiError } from "../../domain/errors.ts";
import { NAMED, names, STORED_LIST, shown, type Values } from "../../http/query.ts";
import { closestWords, namedServers } from "../../http/snapshot.ts";
import type { Directory } from "./directory.ts";

/** `site`, and what else names what a list is about. */
export const SITE = { site: names("Names of sites. An unknown one is 404.", "muc") };
export const NAMED_AT_HUB = { ...SITE, ...NAMED };
export const PAGE = STORED_LIST;

type Named = Values<typeof NAMED_AT_HUB>;

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
