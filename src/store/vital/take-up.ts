import type { Database } from "bun:sqlite";
import { iso } from "../../domain/clock.ts";
import type { Log } from "../../domain/log.ts";
import { tableNames } from "../backup/untouched.ts";
import { StoreError } from "../store-error.ts";
import type { RunTransaction } from "../transaction.ts";
import type { Vital, VitalFile } from "./file.ts";
import { hasNews, mergeKeys } from "./keys.ts";

/** What it asks of the store. */
export interface VitalStore {
  readonly sqlite: Database;
  readonly transaction: RunTransaction;
  keepVital(): void;
}

/**
 * Compares the keys of a database that begins to be used with those of the side copy, and writes the copy anew: what was
 * revoked stays revoked, also when the database was exchanged by hand for an older one, or lost what it committed last.
 * `addMissing` = it surely lost something: keys that are gone come back. Throws StoreError.
 */
export function takeUpVital(store: VitalStore, vital: VitalFile, log: Log, addMissing: boolean): void {
  const { vital: copy, fault } = vital.read();
  if (fault !== null) log.warn("The side copy of the API keys is written anew", { reason: fault });
  if (copy !== null && tableNames(store.sqlite).includes("api_keys")) merge(store, copy, log, addMissing);
  try {
    store.keepVital();
  } catch (error) {
    // Another program has the database locked: it is written later.
    if (!(error instanceof StoreError) || error.code !== "BUSY") throw error;
  }
}

function merge(
  { sqlite, transaction }: VitalStore,
  { rows, writtenAt }: Vital,
  log: Log,
  addMissing: boolean,
) {
  const keys = rows.api_keys ?? [];
  if (!hasNews(sqlite, keys, addMissing)) return;
  const { added, revoked } = transaction(() => mergeKeys(sqlite, keys, addMissing), { durable: true });
  log.warn("The database had lost what was done to API keys: it was taken from the side copy", {
    revoked: revoked.join(", "),
    broughtBack: added.join(", "),
    sideCopy: iso(writtenAt),
  });
}
