import { closestNames } from "../config/closest-word.ts";
import { ApiError } from "../domain/errors.ts";
import type { ServerPicture, Snapshot } from "../domain/picture.ts";
import { anonymousPicture } from "./anonymous/picture.ts";
import { perPicture } from "./answers/kept.ts";
import type { HttpDeps } from "./deps.ts";
import type { Exchange } from "./exchange.ts";
import type { NamesAsked, UnknownName } from "./history-answers/answers.ts";
import { shown } from "./shown.ts";

/** The snapshot as a caller may see it. Routes read the live picture through this alone. */
export type SnapshotFor = (exchange: Pick<Exchange, "caller">) => Snapshot;

/** What an anonymized key sees is made once a picture, when the first such key asks. */
export function createSnapshotFor({ live, pseudonyms }: Pick<HttpDeps, "live" | "pseudonyms">): SnapshotFor {
  const anonymous = perPicture((picture) => anonymousPicture(picture, pseudonyms));
  return ({ caller }) => {
    const snapshot = live.snapshot();
    return caller?.anonymize === true ? { ...snapshot, servers: snapshot.servers.map(anonymous) } : snapshot;
  };
}

/** The servers named, in the order of the config; all when none are named. Throws NOT_FOUND on an unknown id. */
export function namedServers(snapshot: Snapshot, ids?: readonly string[] | null): readonly ServerPicture[] {
  if (ids === undefined || ids === null) return snapshot.servers;
  for (const id of ids) knownServer(snapshot, id);
  return snapshot.servers.filter(({ server }) => ids.includes(server.id));
}

/** Throws NOT_FOUND when no server has the id. */
export function knownServer({ servers }: Snapshot, id: string): ServerPicture {
  const found = servers.find(({ server }) => server.id === id);
  if (found !== undefined) return found;
  const ids = servers.map(({ server }) => server.id);
  const closest = closestWords(closestNames(id, ids));
  throw new ApiError(
    "NOT_FOUND",
    `There is no server ${shown(id)}; /api/licenses/servers lists them.${closest}`,
  );
}

/** What a query names; all when absent. */
export interface Named {
  readonly server?: readonly string[];
  readonly daemon?: readonly string[];
  readonly feature?: readonly string[];
}

const namesOf = perPicture(({ daemons, features }) => ({
  daemons: new Set([...daemons.map(({ name }) => name), ...features.map(({ daemon }) => daemon)]),
  features: new Set(features.map(({ name }) => name)),
}));

/**
 * The servers that a query is about, in the order of the config. Throws NOT_FOUND for a server, daemon or feature that
 * was never seen (`unknownName` asks history): an empty list must not answer a typo. While one of these servers was
 * never read it may have it.
 */
export async function askedServers(
  snapshot: Snapshot,
  { server, daemon = [], feature = [] }: Named,
  unknownName: (names: NamesAsked) => Promise<UnknownName | null>,
): Promise<readonly ServerPicture[]> {
  const servers = namedServers(snapshot, server);
  const live = snapshot.servers.map(namesOf);
  const daemons = daemon.filter((name) => !live.some((known) => known.daemons.has(name)));
  const features = feature.filter((name) => !live.some((known) => known.features.has(name)));
  if (daemons.length + features.length === 0) return servers;
  if (servers.some(({ server: { enabled }, collectedAt }) => enabled && collectedAt === null)) return servers;
  const unknown = await unknownName({
    daemons,
    features,
    live: {
      daemons: live.flatMap((known) => [...known.daemons]),
      features: live.flatMap((known) => [...known.features]),
    },
  });
  if (unknown === null) return servers;
  const { what, name, closest } = unknown;
  throw new ApiError(
    "NOT_FOUND",
    `No license server has or had a ${what} ${shown(name)}.${closestWords(closest)}`,
  );
}

/** A sentence, with a blank before it, that names what the client may have meant; empty when there is no such name. */
function closestWords(names: readonly string[]): string {
  if (names.length === 0) return "";
  const list = names.map(shown).join(", ");
  return names.length === 1 ? ` The closest name is ${list}.` : ` The closest names are ${list}.`;
}
