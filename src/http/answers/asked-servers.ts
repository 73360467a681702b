import { closestNames } from "../../config/closest-word.ts";
import { ApiError } from "../../domain/errors.ts";
import type { ServerPicture, Snapshot } from "../../domain/picture.ts";
import { type Asker, askHistory, type HistoryPort } from "../history.ts";
import { shown } from "../shown.ts";
import { perPicture } from "./fragments.ts";

/** What a query names; all when absent. */
interface Named {
  readonly server?: readonly string[];
  readonly daemon?: readonly string[];
  readonly feature?: readonly string[];
}

const namesOf = perPicture(({ daemons, features }: ServerPicture) => ({
  daemons: new Set([...daemons.map(({ name }) => name), ...features.map(({ daemon }) => daemon)]),
  features: new Set(features.map(({ name }) => name)),
}));

/**
 * The servers that a query is about, in the order of the config. Throws NOT_FOUND for a server, daemon or feature that
 * was never seen: an empty list must not answer a typo. While one of these servers was never read it may have it.
 */
export async function askedServers(
  history: HistoryPort,
  asker: Asker,
  snapshot: Snapshot,
  { server, daemon, feature }: Named,
): Promise<readonly ServerPicture[]> {
  const servers = namedServers(snapshot, server);
  const live = snapshot.servers.map(namesOf);
  const missing = (what: "daemons" | "features", names: readonly string[] = []) =>
    names.filter((name) => !live.some((known) => known[what].has(name)));
  const daemons = missing("daemons", daemon);
  const features = missing("features", feature);
  if (daemons.length + features.length === 0) return servers;
  if (servers.some(({ server: { enabled }, collectedAt }) => enabled && collectedAt === null)) return servers;
  const unknown = await askHistory(history, asker, "unknownName", {
    daemons,
    features,
    live: {
      daemons: live.flatMap((known) => [...known.daemons]),
      features: live.flatMap((known) => [...known.features]),
    },
  });
  if (unknown === null) return servers;
  throw new ApiError("NOT_FOUND", notFound(unknown.what, unknown.name, unknown.closest));
}

function notFound(what: string, name: string, closest: readonly string[]): string {
  return `No license server has or had a ${what} ${shown(name)}.${closestWords(closest)}`;
}

/** The servers named, in the order of the config; all when none are named. Throws NOT_FOUND on an unknown id. */
export function namedServers(snapshot: Snapshot, ids?: readonly string[] | null): readonly ServerPicture[] {
  if (ids === undefined || ids === null) return snapshot.servers;
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

/** A sentence, with a blank before it, that names what the client may have meant; empty when there is no such name. */
function closestWords(names: readonly string[]): string {
  if (names.length === 0) return "";
  const list = names.map(shown).join(", ");
  return names.length === 1 ? ` The closest name is ${list}.` : ` The closest names are ${list}.`;
}
