import { type Static, Type } from "@sinclair/typebox";
import { Count, count, nullable, record, Timestamp, words } from "../records.ts";
import { AUDIENCES } from "../words.ts";

/** What the daemon says of itself. */

/** What a check says is for everyone: no names of servers, no paths. */
const HealthCheck = record("HealthCheck", {
  status: words(["healthy", "degraded", "unhealthy"]),
  message: Type.String(),
});
export type HealthCheck = Static<typeof HealthCheck>;

export const HealthChecks = Type.Object({
  database: HealthCheck,
  collector: HealthCheck,
  disk: HealthCheck,
  clock: HealthCheck,
});
export type HealthChecks = Static<typeof HealthChecks>;

/** Whether the daemon works, for everybody who asks. */
export const HealthRecord = record("Health", {
  status: words(["healthy", "degraded"], "degraded: a license server is down or stale, or a check says so"),
  version: Type.String(),
  uptimeSeconds: Count,
  timestamp: Timestamp,
  checks: HealthChecks,
});
export type HealthRecord = Static<typeof HealthRecord>;

/** What came of reading the config again. */
export const Reloaded = record("Reloaded", {
  outcome: words(["applied"]),
  needRestart: Type.Array(Type.String(), {
    description: "Settings that differ from the running ones and hold only after a restart",
  }),
});
export type Reloaded = Static<typeof Reloaded>;

const Amount = nullable(Type.Number({ minimum: 0 }));

/** How a site stands to the hub of its fleet. */
export const FleetStatus = record("FleetStatus", {
  site: Type.String(),
  hub: Type.String({ description: "Origin of the hub's URL" }),
  state: words(
    ["waiting", "connected", "unreachable", "refused", "conflict"],
    "waiting: it has not answered since the start; conflict: another licmond pushes for the same site",
  ),
  problem: nullable(Type.String({ description: "Why it is not connected" })),
  lastContactAt: nullable(Timestamp),
  waitingFacts: count("Facts that the hub does not have yet"),
  waitingBytes: count("What they take on the disk, about"),
  outboxBytes: count("What they may take"),
  dropped: Type.Boolean({ description: "More waited, and was dropped; the hub has not answered since" }),
  waitingSince: nullable({ ...Timestamp, description: "When none waited last" } as typeof Timestamp),
  daysLeft: count("Days of the past that the hub does not have yet"),
  sentFacts: count("Since the start"),
  sentBytes: count("Since the start, compressed"),
  failures: count("Pushes that were not taken, since the start"),
  people: words(AUDIENCES),
  notify: words(["site", "hub"]),
});
export type FleetStatus = Static<typeof FleetStatus>;

export const Status = record("Status", {
  version: Type.String(),
  timestamp: Timestamp,
  startedAt: Timestamp,
  uptimeSeconds: Count,
  configFile: nullable(Type.String({ description: "null when the defaults run" })),
  lastReload: nullable(
    Type.Object({ at: Timestamp, outcome: words(["applied", "refused"]), message: nullable(Type.String()) }),
  ),
  keys: Count,
  collector: Type.Object({
    servers: Count,
    enabled: Count,
    runningPolls: Count,
    lastPollAt: nullable(Timestamp),
    nextPollAt: nullable(Timestamp),
    durationMs: Type.Object({ p50: Amount, p95: Amount }),
  }),
  streams: Type.Object({ sse: Count, websocket: Count }),
  database: Type.Object({
    sizeBytes: nullable(Count),
    schemaVersion: nullable(Count),
    oldestSampleAt: nullable(Timestamp),
    backups: Type.Object(
      { state: nullable(Timestamp), history: nullable(Timestamp) },
      { description: "When the newest daily backup of each was made; null: there is none" },
    ),
  }),
  eventLoopLagMs: Amount,
  fleet: Type.Optional(FleetStatus),
});
export type Status = Static<typeof Status>;

export const Metrics = record("Metrics", {
  type: words(["metrics"]),
  timestamp: Timestamp,
  cpu: Amount,
  memory: Amount,
  system: Type.Object({ cpu: Amount, memory: Amount, disk: Amount }),
  licenses: Type.Object({ total: nullable(Count), used: nullable(Count), utilization: Amount }),
  requests: Type.Object({
    total: Count,
    byStatus: Type.Record(Type.String(), Count, { description: "Requests answered since the start" }),
  }),
  polls: Type.Object({ ok: Count, partial: Count, failed: Count }),
  parseProblems: count("Lines that no rule knew"),
  streamClients: Count,
  process: Type.Object({
    memoryBytes: Count,
    cpuSeconds: Type.Number({ minimum: 0 }),
    eventLoopLagMs: Amount,
  }),
});
export type Metrics = Static<typeof Metrics>;
