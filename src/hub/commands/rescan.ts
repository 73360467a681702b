import type { RescanRow } from "../../collector/outcomes.ts";
import { ApiError } from "../../domain/errors.ts";
import { serverAt, siteOf } from "../../domain/server.ts";
import type { HttpDeps } from "../../http/deps.ts";
import type { Directory } from "../lists/directory.ts";
import { type Commands, errorCodeOf } from "./commands.ts";

/**
 * Polls servers through their sites: one command per site, all at once, with results in the requested order.
 * If a whole site fails, that is the error if it was the only site; otherwise each of its servers gets the
 * error.
 */
export function createRescan(
  commands: Pick<Commands, "ask">,
  directory: Pick<Directory, "snapshot">,
): HttpDeps["collector"]["rescan"] {
  return async (ids, timeoutMs, caller) => {
    const enabled = directory.snapshot().servers.filter(({ server }) => server.enabled);
    const wanted = ids ?? enabled.map(({ server }) => server.id);
    const bySite = Map.groupBy(wanted, siteOf);

    async function ofSite(site: string, servers: readonly string[]): Promise<RescanRow[]> {
      const own = ids === null ? null : servers.map((id) => id.slice(site.length + 1));
      try {
        const { results } = await commands.ask(site, { command: "rescan", servers: own }, caller, timeoutMs);
        return (results ?? []).map(({ server, status, durationMs, error }): RescanRow => {
          const id = serverAt(site, server);
          if (error === null)
            return { server: id, status: status === "ok" ? "ok" : "partial", durationMs, error };
          return { server: id, status: "failed", durationMs, error: failureOf(error.code, error.message) };
        });
      } catch (error) {
        if (bySite.size === 1 || !(error instanceof ApiError)) throw error;
        const failure = failureOf(error.code, error.message);
        return servers.map((id) => ({ server: id, status: "failed", durationMs: 0, error: failure }));
      }
    }

    const rows = await Promise.all([...bySite].map(([site, servers]) => ofSite(site, servers)));
    const place = new Map(wanted.map((id, index) => [id, index]));
    return rows.flat().sort((a, b) => (place.get(a.server) ?? 0) - (place.get(b.server) ?? 0));
  };
}

const failureOf = (code: string, message: string) => ({ code: errorCodeOf(code), message, details: null });
