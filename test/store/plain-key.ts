import type { NewKey } from "../../src/domain/keys.ts";

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
