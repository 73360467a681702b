import { closestNames } from "../../config/closest-word.ts";
import { ApiError } from "../../domain/errors.ts";
import type { ServerPicture, Snapshot } from "../../domain/picture.ts";
import { shown } from "../shown.ts";

/** The servers named, in the order of the config; all when none are named. Throws NOT_FOUND on an unknown id. */
export function namedServers(snapshot: Snapshot, ids: readonly string[] | null): readonly ServerPicture[] {
  if (ids === null) return snapshot.servers;
  for (const id of ids) knownServer(snapshot, id);
  const wanted = new Set(ids);
  return snapshot.servers.filter(({ server }) => wanted.has(server.id));
}

/** Throws NOT_FOUND when no server has the id. */
export function knownServer(snapshot: Snapshot, id: string): ServerPicture {
  const found = snapshot.servers.find(({ server }) => server.id === id);
  if (found !== undefined) return found;
  const closest = closestNames(
    id,
    snapshot.servers.map(({ server }) => server.id),
  );
  throw new ApiError(
    "NOT_FOUND",
    `There is no server ${shown(id)}; /api/licenses/servers lists them.${closestWords(closest)}`,
  );
}

/** A sentence, with a blank before it, that names what somebody may have meant; empty when there is nothing to name. */
export function closestWords(names: readonly string[]): string {
  if (names.length === 0) return "";
  const list = names.map(shown).join(", ");
  return names.length === 1 ? ` The closest name is ${list}.` : ` The closest names are ${list}.`;
}
