import { type Static, Type } from "@sinclair/typebox";
import { Count, count, nullable, record, Timestamp, textOrNull, timeOrNull, words } from "../records.ts";
import { AUDIENCES } from "../words.ts";

/** Everyone may see these, so messages contain no server names and no paths. */
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

/** Readable without a key. */
export const HealthRecord = record("Health", {
  status: words(["healthy", "degraded"], "degraded: a license server is down or stale, or a check fails"),
  version: Type.String(),
  uptimeSeconds: Count,
  timestamp: Timestamp,
  checks: HealthChecks,
});
export type HealthRecord = Static<typeof HealthRecord>;

export const Reloaded = record("Reloaded", {
  outcome: words(["applied"]),
  needRestart: Type.Array(Type.String(), {
    description: "Changed settings that take effect only after a restart",
  }),
});
export type Reloaded = Static<typeof Reloaded>;

const Amount = nullable(Type.Number({ minimum: 0 }));

export const FleetStatus = record("FleetStatus", {
  site: Type.String(),
  hub: Type.String({ description: "Origin of the hub's URL" }),
  state: words(
    ["waiting", "connected", "unreachable", "refused", "conflict"],
    "waiting: no answer since the start; conflict: another licmond pushes for the same site",
  ),
  problem: textOrNull("Why the site is not connected"),
  lastContactAt: nullable(Timestamp),
  waitingFacts: count("Facts that the hub does not have yet"),
  waitingBytes: count("Approximate size of the waiting facts on disk"),
  outboxBytes: count("Maximum size on disk"),
  dropped: Type.Boolean({ description: "Facts were dropped, and the hub has not answered since" }),
  waitingSince: timeOrNull("When facts began to wait"),
  daysLeft: count("Days of the past that the hub does not have yet"),
  sentFacts: count("Since the start"),
  sentBytes: count("Since the start, compressed"),
  failures: count("Failed pushes since the start"),
  people: words(AUDIENCES),
  notify: words(["site", "hub"]),
});
export type FleetStatus = Static<typeof FleetStatus>;

export const Status = record("Status", {
  version: Type.String(),
  timestamp: Timestamp,
  startedAt: Timestamp,
  uptimeSeconds: Count,
  configFile: textOrNull("Null if there is no file and the defaults apply"),
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
      { description: "Time of the newest daily backup of each; null: no backup" },
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
  parseProblems: count("Unrecognized lines"),
  streamClients: Count,
  process: Type.Object({
    memoryBytes: Count,
    cpuSeconds: Type.Number({ minimum: 0 }),
    eventLoopLagMs: Amount,
  }),
});
export type Metrics = Static<typeof Metrics>;
