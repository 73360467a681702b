import type { Database } from "bun:sqlite";
import type { VitalRows } from "../vital/rows.ts";
import { continueEventIds, highestEventId } from "./event-ids.ts";
import { tableNames } from "./untouched.ts";

/** What must not be undone by going back to an older state. */
export interface Carried {
  readonly highestEventId: number | null;
  /** Keys of the database that is replaced: id, name, and when it was revoked (epoch ms) or null. */
  readonly keys: readonly { readonly id: string; readonly name: string; readonly revokedAt: number | null }[];
}

export interface CarriedOver {
  /** Names of keys that were active in the backup and have been revoked since: they stay revoked. */
  readonly revoked: readonly string[];
  /** Names of active keys that the backup does not know: they end to work. */
  readonly lost: readonly string[];
}

/** Nothing of the other database could be read. */
export const NOTHING_CARRIED: Carried = { highestEventId: null, keys: [] };

/** Reads it from the database that is about to be replaced. Throws what SQLite throws. */
export function readCarried(sqlite: Database, now: number): Carried {
  const keys = tableNames(sqlite).includes("api_keys")
    ? sqlite
        .query<Carried["keys"][number], []>("SELECT id, name, revoked_at AS revokedAt FROM api_keys")
        .all()
    : [];
  return { highestEventId: highestEventId(sqlite, now), keys };
}

/** The same from the side copy, where the database is too damaged to be read. */
export function carriedIn(rows: VitalRows, now: number): Carried {
  const keys = (rows.api_keys ?? []).map(({ id, name, revoked_at: revokedAt }) => ({
    id: String(id),
    name: String(name),
    revokedAt: typeof revokedAt === "number" ? revokedAt : null,
  }));
  const reserved = rows.event_marks?.find(({ name }) => name === "reserved")?.value;
  // It is a little older than the database was: ids given since then are not above the present time.
  return { highestEventId: typeof reserved === "number" ? Math.max(reserved, now) : null, keys };
}

/**
 * Writes it into the restored database, in one transaction: ids of events are not given twice, and a key that was
 * revoked does not open anything again because the backup is older than its revocation.
 */
export function carryOver(
  sqlite: Database,
  { highestEventId: highest, keys }: Carried,
  now: number,
): CarriedOver {
  const work = sqlite.transaction((): CarriedOver => {
    continueEventIds(sqlite, highest, now);
    if (!tableNames(sqlite).includes("api_keys")) return { revoked: [], lost: namesOf(keys) };
    const known = sqlite
      .query<{ id: string; revokedAt: number | null }, []>("SELECT id, revoked_at AS revokedAt FROM api_keys")
      .all();
    const isActive = new Map(known.map(({ id, revokedAt }) => [id, revokedAt === null]));
    const revoke = sqlite.query("UPDATE api_keys SET revoked_at = ? WHERE id = ?");
    const revoked = keys.filter(({ id, revokedAt }) => revokedAt !== null && isActive.get(id) === true);
    for (const { id, revokedAt } of revoked) revoke.run(revokedAt, id);
    return {
      revoked: revoked.map(({ name }) => name),
      lost: namesOf(keys.filter(({ id }) => !isActive.has(id))),
    };
  });
  return work.immediate();
}

function namesOf(keys: Carried["keys"]): string[] {
  return keys.filter(({ revokedAt }) => revokedAt === null).map(({ name }) => name);
}
