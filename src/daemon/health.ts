import type { CollectorStatus } from "../collector/collector.ts";
import type { Snapshot } from "../domain/picture.ts";
import { clockMessage } from "../domain/time/clock.ts";
import type { HealthCheck, HealthChecks } from "../http/records.ts";
import type { DatabaseCheck } from "../store/database/database-file.ts";
import type { HostSample } from "../system/host-metrics.ts";

/** A schedule this late does not keep itself any more. */
const OVERDUE_MS = 5 * 60_000;
const DISK_FULL_PERCENT = 95;

export interface HealthView {
  readonly database: DatabaseCheck;
  readonly collector: Pick<CollectorStatus, "nextPollAt" | "servers" | "enabled" | "asked" | "runningPolls">;
  readonly snapshot: Snapshot;
  readonly sample: HostSample;
  /** As of `ClockWatch`. */
  readonly clockDoubtMs: number | null;
  /** Epoch ms. */
  readonly now: number;
}

/** What `/api/health` says of the parts. For everybody: no names of servers, no paths. */
export function healthOf({
  database,
  collector,
  snapshot,
  sample,
  clockDoubtMs,
  now,
}: HealthView): HealthChecks {
  return {
    database: { status: databaseStatus(database), message: database.message },
    collector: collectorHealth(collector, snapshot, now),
    disk: diskHealth(sample.disk),
    clock:
      clockDoubtMs === null
        ? { status: "healthy", message: "Nothing speaks against the clock" }
        : { status: "degraded", message: clockMessage(clockDoubtMs) },
  };
}

function databaseStatus({ ok, degraded }: DatabaseCheck): HealthCheck["status"] {
  if (!ok) return "unhealthy";
  return degraded === true ? "degraded" : "healthy";
}

function collectorHealth(
  { nextPollAt, servers: configured, enabled, asked, runningPolls }: HealthView["collector"],
  { servers }: Snapshot,
  now: number,
): HealthCheck {
  if (enabled === 0) {
    const message =
      configured === 0 ? "No server is configured" : `No server is enabled, ${configured} configured`;
    return { status: "healthy", message };
  }
  if (runningPolls === 0 && nextPollAt !== null && now - nextPollAt > OVERDUE_MS)
    return { status: "unhealthy", message: "Polls are overdue" };
  const polled = servers.filter(({ server, lastPollAt }) => server.enabled && lastPollAt !== null);
  const well = polled.filter(
    ({ state, status }) => state !== "stale" && state !== "failed" && status !== "down",
  );
  const message = `${well.length} of ${enabled} servers answer; ${configured} configured, ${asked} asked in the last interval`;
  return { status: well.length < polled.length ? "degraded" : "healthy", message };
}

function diskHealth(disk: number | null): HealthCheck {
  if (disk === null) return { status: "healthy", message: "The host does not tell" };
  const full = disk >= DISK_FULL_PERCENT;
  return { status: full ? "degraded" : "healthy", message: `${disk} % of the file system is used` };
}
