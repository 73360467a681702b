import { closestNames } from "../../config/closest-word.ts";
import { ApiError } from "../../domain/errors.ts";
import type { SITE } from "../../http/lists/lists.ts";
import { type NAMED, shown, type Values } from "../../http/query.ts";
import { closestWords, namedServers } from "../../http/snapshot.ts";
import type { Directory } from "./directory.ts";

type Named = Values<typeof SITE & Pick<typeof NAMED, "server" | "label">>;

/** Returns the ids of the servers that a query covers, null = all. Throws NOT_FOUND for an unknown site, server or label. */
export function serversIn(directory: Directory, { site, server, label }: Named) {
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
