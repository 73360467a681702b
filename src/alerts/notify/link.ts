import type { Alert } from "../../domain/alerts.ts";

/** The address at which people see more of an alert; null where there is none. */
export type LinkTo = (alert: Pick<Alert, "server" | "daemon" | "feature">) => string | null;

/**
 * The links of messages: the only place that makes them. `publicUrl` is `http.public_url`. The binary serves no page yet
 * that they could lead to, so none is made; `/feature?server&daemon&name` and `/server?id` below `publicUrl` will be it.
 */
export function createLinks(_publicUrl: string | null): LinkTo {
  return () => null;
}
