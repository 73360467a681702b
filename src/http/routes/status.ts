import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { iso } from "../../domain/clock.ts";
import { nullable, Timestamp, words } from "../../domain/records.ts";
import type { HttpDeps } from "../deps.ts";
import { documented } from "../documented.ts";

const Count = Type.Integer({ minimum: 0 });
const Milliseconds = nullable(Type.Number({ minimum: 0 }));

const Status = Type.Object(
  {
    version: Type.String(),
    timestamp: Timestamp,
    startedAt: Timestamp,
    uptimeSeconds: Count,
    configFile: nullable(Type.String({ description: "null when the defaults run" })),
    lastReload: nullable(
      Type.Object({
        at: Timestamp,
        outcome: words(["applied", "refused"]),
        message: nullable(Type.String()),
      }),
    ),
    keys: Count,
    collector: Type.Object({
      servers: Count,
      enabled: Count,
      runningPolls: Count,
      lastPollAt: nullable(Timestamp),
      nextPollAt: nullable(Timestamp),
      durationMs: Type.Object({ p50: Milliseconds, p95: Milliseconds }),
    }),
    streams: Type.Object({ sse: Count, websocket: Count }),
    database: Type.Object({
      sizeBytes: nullable(Count),
      schemaVersion: nullable(Count),
      oldestSampleAt: nullable(Timestamp),
    }),
    eventLoopLagMs: Milliseconds,
  },
  { title: "Status" },
);

export function statusRoutes({
  clock,
  build,
  daemon,
  collector,
  keys,
}: Pick<HttpDeps, "clock" | "build" | "daemon" | "collector" | "keys">) {
  return new Elysia({ name: "routes/status" }).get(
    "/api/status",
    () => {
      const now = clock.now();
      const { startedAt, uptimeSeconds, configFile, lastReload, streams, database, eventLoopLagMs } =
        daemon.status();
      const { servers, enabled, runningPolls, lastPollAt, nextPollAt, durationMs } = collector.status();
      return Response.json({
        version: build.version,
        timestamp: iso(now),
        startedAt: iso(startedAt),
        uptimeSeconds,
        configFile,
        lastReload: lastReload && { ...lastReload, at: iso(lastReload.at) },
        keys: keys.count(),
        collector: {
          servers,
          enabled,
          runningPolls,
          lastPollAt: iso(lastPollAt),
          nextPollAt: iso(nextPollAt),
          durationMs: { p50: durationMs.p50, p95: durationMs.p95 },
        },
        streams: { sse: streams.sse, websocket: streams.websocket },
        database: {
          sizeBytes: database.sizeBytes,
          schemaVersion: database.schemaVersion,
          oldestSampleAt: iso(database.oldestSampleAt),
        },
        eventLoopLagMs,
      });
    },
    documented({
      access: "read",
      tag: "Service",
      summary: "Status of the daemon",
      answers: { 200: { description: "What the daemon is doing", schema: Status } },
    }),
  );
}
