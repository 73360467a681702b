import type { Database } from "bun:sqlite";
import { insertRow } from "./insert-row.ts";
import type { VitalRow } from "./rows.ts";

/** What the keys of the side copy changed in a database; names of keys. */
export interface KeysMerged {
  /** The database had lost them. */
  readonly added: readonly string[];
  /** Revoked, which the database did not know. */
  readonly revoked: readonly string[];
}

/**
 * Brings the keys of the side copy into a database. One that either of the two knows as revoked is revoked: the copy is
 * written before a revocation is answered, the database may have lost what it committed last. `addMissing` = keys that
 * the database does not have are brought back too, and what the copy says of the others holds: its hash is right.
 * Runs in the caller's transaction.
 */
export function mergeKeys(sqlite: Database, copied: readonly VitalRow[], addMissing: boolean): KeysMerged {
  const known = keysIn(sqlite);
  const revoke = sqlite.query("UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL");
  const [added, revoked]: [string[], string[]] = [[], []];
  for (const row of copied) {
    const own = known.get(row.id ?? null);
    const name = String(row.name);
    if (own === undefined) {
      if (addMissing && insertRow(sqlite, "api_keys", row, "IGNORE")) added.push(name);
      continue;
    }
    const isNews = isRevokedOnlyIn(row, own);
    if (isNews) revoked.push(name);
    if (addMissing) {
      const lastUsed = Math.max(Number(own.last_used_at ?? 0), Number(row.last_used_at ?? 0));
      const merged = {
        ...row,
        revoked_at: own.revoked_at ?? row.revoked_at ?? null,
        last_used_at: lastUsed === 0 ? null : lastUsed,
      };
      insertRow(sqlite, "api_keys", merged, "REPLACE");
    } else if (isNews) revoke.run(row.revoked_at ?? null, row.id ?? null);
  }
  return { added, revoked };
}

/** Whether {@link mergeKeys} would find anything to do. */
export function hasNews(sqlite: Database, copied: readonly VitalRow[], addMissing: boolean): boolean {
  const known = keysIn(sqlite);
  return copied.some((row) => {
    const own = known.get(row.id ?? null);
    return own === undefined ? addMissing : isRevokedOnlyIn(row, own);
  });
}

function isRevokedOnlyIn(copied: VitalRow, own: VitalRow): boolean {
  return typeof copied.revoked_at === "number" && own.revoked_at === null;
}

function keysIn(sqlite: Database): ReadonlyMap<unknown, VitalRow> {
  const rows = sqlite.query<VitalRow, []>("SELECT * FROM api_keys").all();
  return new Map(rows.map((row) => [row.id, row]));
}
