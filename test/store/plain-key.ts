import type { NewKey } from "../../src/domain/keys.ts";

/** A key as the tests want one: each field open to change. */
export const plainKey = (change: Partial<NewKey> = {}): NewKey => ({
  name: "grafana",
  role: "viewer",
  expiresAt: null,
  anonymize: false,
  dailyQuota: null,
  monthlyQuota: null,
  requestsPerMinute: null,
  ...change,
});
