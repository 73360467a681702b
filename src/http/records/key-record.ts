import { type Static, Type } from "@sinclair/typebox";
import { KEY_STATES, type KeyRecord } from "../../domain/keys.ts";
import { nullable, Timestamp, words } from "../../domain/records.ts";
import { iso } from "../../domain/time/clock.ts";
import { ROLES } from "../../domain/words.ts";

/** Requests; null = no quota of its own. */
export const Quota = nullable(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }));

/** A key without its secret. */
export const KEY_FIELDS = {
  id: Type.String(),
  name: Type.String(),
  role: words(ROLES),
  state: words(KEY_STATES),
  anonymize: Type.Boolean(),
  createdAt: Timestamp,
  expiresAt: nullable(Timestamp),
  revokedAt: nullable(Timestamp),
  lastUsedAt: nullable(Timestamp),
  dailyQuota: Quota,
  monthlyQuota: Quota,
  requestsPerMinute: Quota,
};
export const Key = Type.Object(KEY_FIELDS, { title: "Key" });
export type Key = Static<typeof Key>;

/** A key as the API shows it, and `licmond keys list --json`. */
export function keyRecord(key: KeyRecord): Key {
  return {
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
  };
}
