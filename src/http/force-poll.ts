import { ApiError } from "../domain/errors.ts";
import { knownServer } from "./answers/known-servers.ts";
import type { Audit } from "./audit.ts";
import type { HttpDeps, RescanRow } from "./deps.ts";
import type { Exchange } from "./exchange.ts";
import { shown } from "./shown.ts";

/** Polls now and waits; null = every enabled server. For `rescan` and `refresh=true` alike. */
export type ForcePoll = (
  exchange: Exchange,
  named: readonly string[] | null,
) => Promise<readonly RescanRow[]>;

/**
 * Throws NOT_FOUND for an unknown id, CONFLICT for a disabled one, the poll's own error when the one server that
 * was named failed, UPSTREAM_ERROR when several (or all) were asked for and every poll failed.
 */
export function createForcePoll(
  { live, collector, settings }: Pick<HttpDeps, "live" | "collector" | "settings">,
  audit: Audit,
): ForcePoll {
  return async (exchange, named) => {
    const ids = named === null ? null : [...new Set(named)];
    const servers = ids?.join(", ").slice(0, 500) ?? "all";
    try {
      const rows = await forced(ids);
      const failed = rows.filter(({ error }) => error !== null).length;
      audit.done(exchange, "Rescan", { servers, polled: rows.length, failed });
      return rows;
    } catch (error) {
      audit.refused(exchange, "Rescan", error, { servers });
      throw error;
    }
  };

  async function forced(ids: readonly string[] | null): Promise<readonly RescanRow[]> {
    const snapshot = live.snapshot();
    for (const picture of ids?.map((id) => knownServer(snapshot, id)) ?? []) {
      if (picture.server.enabled) continue;
      throw new ApiError(
        "CONFLICT",
        `Server ${shown(picture.server.id)} is disabled in the config and is not polled.`,
      );
    }
    const rows = await collector.rescan(ids, settings().rescanTimeoutMs);
    const failed = rows.flatMap(({ server, error }) => (error === null ? [] : [{ server, error }]));
    const only = failed[0];
    if (only === undefined || failed.length < rows.length) return rows;
    if (ids?.length === 1) {
      throw new ApiError(only.error.code, only.error.message, { details: only.error.details ?? undefined });
    }
    throw new ApiError("UPSTREAM_ERROR", `Every poll failed (${failed.length} of ${rows.length} servers).`, {
      details: failed.map(({ server, error }) => `${server}: ${error.code}`).join("; "),
    });
  }
}
