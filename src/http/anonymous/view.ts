import type { ServerPicture, Snapshot } from "../../domain/picture.ts";
import { perPicture } from "../answers/fragments.ts";
import type { LiveView } from "../deps.ts";
import type { Exchange } from "../exchange.ts";
import { anonymousPicture } from "./picture.ts";
import type { Pseudonyms } from "./pseudonyms.ts";

/** The snapshot as a caller may see it. Routes read the live picture through this alone. */
export type SnapshotFor = (exchange: Pick<Exchange, "caller">) => Snapshot;

/** What an anonymized key sees is made once a picture, when the first such key asks. */
export function createSnapshotFor(live: LiveView, pseudonyms: Pseudonyms): SnapshotFor {
  const anonymous = perPicture((picture: ServerPicture) => anonymousPicture(picture, pseudonyms));
  let of: Snapshot | null = null;
  let made: Snapshot = { version: -1, servers: [] };
  return ({ caller }) => {
    const snapshot = live.snapshot();
    if (caller?.anonymize !== true) return snapshot;
    if (snapshot !== of) {
      made = { version: snapshot.version, servers: snapshot.servers.map(anonymous) };
      of = snapshot;
    }
    return made;
  };
}

/**
 * Something that keeps what it made, once for those who may see names and once for those who may not: nothing made
 * for the one can reach the other.
 */
export function perAudience<T>(make: () => T): (exchange: Pick<Exchange, "caller">) => T {
  const named = make();
  const anonymous = make();
  return ({ caller }) => (caller?.anonymize === true ? anonymous : named);
}
