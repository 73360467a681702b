import { createExecutor } from "../collector/execute/executor.ts";
import { ApiError } from "../domain/errors.ts";
import type { HealthCheck } from "../domain/service/status.ts";
import type { HttpDeps } from "../http/deps.ts";
import { builtInManager, MANAGERS } from "../managers/registry.ts";
import type { Pool } from "./database/connect.ts";
import type { Directory } from "./lists/directory.ts";

/** Timeout of the health query. */
const PATIENCE_MS = 3_000;

/** Reports whether the database accepts writes; a standby or read-only database answers reads only. */
export async function databaseHealth(pool: Pool): Promise<HealthCheck> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error("late")), PATIENCE_MS);
  try {
    const [row] = await Promise.race([
      pool`SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' AS fixed`,
      late,
    ]);
    if (row.fixed) return { status: "unhealthy", message: "The database is read-only" };
    return { status: "healthy", message: "The database is responding" };
  } catch {
    // The log has the reason; this text is public.
    return { status: "unhealthy", message: "The database is not responding" };
  } finally {
    clearTimeout(timer);
  }
}

export function sitesHealth(directory: Directory): HealthCheck {
  const sites = directory.sites();
  if (sites.length === 0) return { status: "healthy", message: "No site has pushed yet" };
  const silent = sites.filter(({ site }) => directory.isSilent(site)).length;
  const message = `${sites.length - silent} of ${sites.length} sites push`;
  return { status: silent > 0 ? "degraded" : "healthy", message };
}

/** Error for actions that only sites can do. */
const atSites = (what: string) =>
  new ApiError("AUTH_INSUFFICIENT", `${what} is only possible at a site: a hub has no license servers.`);

/** A hub polls nothing itself. */
export function collectorPort(directory: Directory): Omit<HttpDeps["collector"], "rescan"> {
  return {
    raw: () => Promise.resolve(null),
    status() {
      const { servers } = directory.snapshot();
      const polled = servers.flatMap(({ lastPollAt }) => lastPollAt ?? []);
      return {
        servers: servers.length,
        enabled: servers.filter(({ server }) => server.enabled).length,
        runningPolls: 0,
        lastPollAt: polled.reduce<number | null>((last, at) => Math.max(last ?? at, at), null),
        nextPollAt: null,
        durationMs: { p50: null, p95: null },
      };
    },
  };
}

/**
 * Lists the built-in commands of license managers. Sites run them with their own catalogs, see
 * `commands/execute.ts`.
 */
export const executePort: HttpDeps["execute"] = createExecutor({
  findTool: () => {
    throw atSites("Running commands");
  },
  settings: () => ({ enabled: true, commands: [] }),
  managers: () => MANAGERS.flatMap((name) => builtInManager(name) ?? []),
  run: () => Promise.reject(atSites("Running commands")),
});
