import { iso } from "../domain/clock.ts";
import type { KeyRecord } from "../domain/keys.ts";
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
  const records = keys.map((key) => ({
    id: key.id,
    name: key.name,
    role: key.role,
    state: key.state,
    anonymize: key.anonymize,
    createdAt: iso(key.createdAt),
    expiresAt: iso(key.expiresAt),
    revokedAt: iso(key.revokedAt),
    lastUsedAt: iso(key.lastUsedAt),
    dailyQuota: key.dailyQuota,
    monthlyQuota: key.monthlyQuota,
    requestsPerMinute: key.requestsPerMinute,
  }));
  return `${JSON.stringify({ keys: records }, null, 2)}\n`;
}

/** `2026-01-31 08:15 UTC` */
function minute(at: number): string {
  return `${iso(at).slice(0, 16).replace("T", " ")} UTC`;
}
