import { iso } from "../domain/clock.ts";
import type { KeyRecord } from "../domain/keys.ts";
import { keyRecord } from "../http/records/key-record.ts";
import { printTable } from "./table.ts";

/** Keys for people. */
export function printKeys(keys: readonly KeyRecord[]): string {
  if (keys.length === 0)
    return "There is no key yet. licmond keys create --name NAME --role admin makes one.\n";
  return printTable(
    ["id", "name", "role", "state", "created", "expires", "last used"],
    keys.map(({ id, name, role, anonymize, state, createdAt, expiresAt, lastUsedAt }) => [
      id,
      name,
      anonymize ? `${role} (anonymized)` : role,
      state,
      minute(createdAt),
      expiresAt === null ? "never" : minute(expiresAt),
      lastUsedAt === null ? "never" : minute(lastUsedAt),
    ]),
  );
}

/** Keys as the API's records. */
export function printKeyRecords(keys: readonly KeyRecord[]): string {
  return `${JSON.stringify({ keys: keys.map(keyRecord) }, null, 2)}\n`;
}

/** `2026-01-31 08:15 UTC` */
function minute(at: number): string {
  return `${iso(at).slice(0, 16).replace("T", " ")} UTC`;
}
