import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { iso } from "../../domain/clock.ts";
import type { Snapshot } from "../../domain/picture.ts";
import { nullable, Timestamp, words } from "../../domain/records.ts";
import { type Summary, summarise } from "../../domain/summary.ts";
import { metricsFormat } from "../answers/format.ts";
import type { HttpDeps } from "../deps.ts";
import { documented } from "../documented.ts";
import type { RequestCounters } from "../request-counters.ts";
import { type Scrape, TEXT_CONTENT } from "./prometheus.ts";

const Count = Type.Integer({ minimum: 0 });
const Percent = nullable(Type.Number({ minimum: 0 }));

const Metrics = Type.Object(
  {
    type: words(["metrics"]),
    timestamp: Timestamp,
    cpu: Percent,
    memory: Percent,
    system: Type.Object({ cpu: Percent, memory: Percent, disk: Percent }),
    licenses: Type.Object({ total: nullable(Count), used: nullable(Count), utilization: Percent }),
    requests: Type.Object({
      total: Count,
      byStatus: Type.Record(Type.String(), Count, { description: "Requests answered since the start" }),
    }),
    polls: Type.Object({ ok: Count, partial: Count, failed: Count }),
    parseProblems: Type.Integer({ minimum: 0, description: "Lines that no rule knew" }),
    streamClients: Count,
    process: Type.Object({
      memoryBytes: Count,
      cpuSeconds: Type.Number({ minimum: 0 }),
      eventLoopLagMs: nullable(Type.Number({ minimum: 0 })),
    }),
  },
  { title: "Metrics" },
);

/** The metrics event of the streams, plus the daemon's own counters; or what Prometheus is told, by `Accept`. */
export function metricsRoutes(
  { clock, host, live, daemon }: Pick<HttpDeps, "clock" | "host" | "live" | "daemon">,
  requests: RequestCounters,
  scrape: Scrape,
) {
  const seats = seatsOf();
  return new Elysia({ name: "routes/metrics" }).get(
    "/api/metrics",
    ({ request }) => {
      const format = metricsFormat(request.headers.get("accept"));
      if (format !== "json") return scrape(request, format);
      const { cpu, memory, disk } = host.sample();
      const { total, used, utilization } = seats(live.snapshot());
      const { polls, parseProblems, streamClients, memoryBytes, cpuSeconds, eventLoopLagMs } =
        daemon.counters();
      const byStatus = requests.byStatus();
      return Response.json({
        type: "metrics",
        timestamp: iso(clock.now()),
        cpu,
        memory,
        system: { cpu, memory, disk },
        licenses: { total, used, utilization },
        requests: { total: Object.values(byStatus).reduce((sum, count) => sum + count, 0), byStatus },
        polls: { ok: polls.ok, partial: polls.partial, failed: polls.failed },
        parseProblems,
        streamClients,
        process: { memoryBytes, cpuSeconds, eventLoopLagMs },
      });
    },
    documented({
      access: "read",
      tag: "Service",
      summary: "Load, seats and the daemon's own counters",
      description:
        "As text for Prometheus where `Accept` names one of its formats: then it is what `/metrics` answers.",
      answers: { 200: { description: "One sample", schema: Metrics, content: TEXT_CONTENT } },
    }),
  );
}

/** Seats of all servers, counted once per snapshot. */
function seatsOf(): (snapshot: Snapshot) => Summary["seats"] & Pick<Summary, "utilization"> {
  let version = -1;
  let kept: Summary["seats"] & Pick<Summary, "utilization"> = {
    total: null,
    used: null,
    available: null,
    utilization: null,
  };
  return (snapshot) => {
    if (snapshot.version !== version) {
      const { seats, utilization } = summarise(snapshot);
      kept = { ...seats, utilization };
      version = snapshot.version;
    }
    return kept;
  };
}
