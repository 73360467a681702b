import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { ApiError } from "../../domain/errors.ts";
import type { Snapshot } from "../../domain/picture.ts";
import { Count, nullable, OfSite, record, Timestamp, textOrNull, words } from "../../domain/records.ts";
import { HealthRecord, Reloaded, Status } from "../../domain/service/status.ts";
import { iso } from "../../domain/time/clock.ts";
import { withSite } from "../answers/list.ts";
import { documented } from "../docs/documented.ts";
import { gated } from "../exchange.ts";
import { pick } from "../records.ts";
import type { RouteDeps } from "./deps.ts";

const CHECK_MS = 1000;

const Pong = Type.Object({
  message: words(["pong"]),
  timestamp: Timestamp,
  instance: Type.String({
    pattern: "^[0-9a-f]{8}$",
    description: "Identifies the installation that answers",
  }),
});

/** Health is for load balancers and probes: it needs no key, so it names no server. */
export function serviceRoutes(deps: RouteDeps) {
  const { clock, build, daemon, collector, keys, health, host, settings, live, audit, installationId } = deps;
  let last: { readonly at: number; readonly checks: ReturnType<typeof health> } | null = null;

  function checksNow() {
    const now = clock.now();
    if (last === null || Math.abs(now - last.at) >= CHECK_MS) last = { at: now, checks: health() };
    return last.checks;
  }

  return new Elysia({ name: "routes/service" })
    .use(gated)
    .get(
      "/api/health",
      async () => {
        const checks = await checksNow();
        const failing = Object.entries(checks).filter(([, { status }]) => status === "unhealthy");
        if (failing.length > 0) {
          const unhealthy = "licmond is unhealthy: an essential part does not work.";
          const details = failing.map(([name, { message }]) => `${name}: ${message}`).join("; ");
          throw new ApiError("SERVICE_UNAVAILABLE", unhealthy, { details, retryAfterSeconds: 5 });
        }
        const degraded =
          Object.values(checks).some(({ status }) => status === "degraded") || anyTrouble(live.snapshot());
        return {
          status: degraded ? ("degraded" as const) : ("healthy" as const),
          version: build.version,
          uptimeSeconds: daemon.status().uptimeSeconds,
          timestamp: iso(clock.now()),
          checks,
        };
      },
      documented("open", "Service", "Health of the daemon", {
        description:
          "Needs no key. If the database or the collector does not work, the answer is 503 with the error body.",
        answers: { 200: { description: "Healthy or degraded", schema: HealthRecord } },
        errors: ["SERVICE_UNAVAILABLE"],
      }),
    )
    .get(
      "/api/ping",
      () => ({ message: "pong" as const, timestamp: iso(clock.now()), instance: installationId }),
      documented("open", "Service", "Check that the daemon answers", {
        answers: { 200: { description: "The daemon answers", schema: Pong } },
      }),
    )
    .get(
      "/api/status",
      () => {
        const { startedAt, lastReload, database, fleet, ...status } = daemon.status();
        const polls = collector.status();
        return {
          version: build.version,
          timestamp: iso(clock.now()),
          startedAt: iso(startedAt),
          ...status,
          lastReload: lastReload && { ...lastReload, at: iso(lastReload.at) },
          keys: keys.count(),
          collector: {
            ...pick(polls, "servers", "enabled", "runningPolls", "durationMs"),
            lastPollAt: iso(polls.lastPollAt),
            nextPollAt: iso(polls.nextPollAt),
          },
          database: {
            ...database,
            oldestSampleAt: iso(database.oldestSampleAt),
            backups: { state: iso(database.backups.state), history: iso(database.backups.history) },
          },
          ...(fleet !== null && { fleet }),
        };
      },
      documented("details", "Service", "Status of the daemon", {
        answers: { 200: { description: "State of the daemon", schema: Status } },
      }),
    )
    .post(
      "/api/reload",
      ({ exchange }) => {
        exchange.acting = { message: "Config reload", fields: {} };
        const { outcome, problems, needRestart } = daemon.reload();
        if (outcome === "refused") {
          throw new ApiError("CONFLICT", "The config has problems and was not applied.", {
            details: problems.join("\n"),
          });
        }
        audit.done(exchange, "Config reload", { needRestart: needRestart.join(", ") });
        return { outcome, needRestart: [...needRestart] };
      },
      documented("reload", "Service", "Reload the config", {
        description:
          "Like SIGHUP. A config with problems is not applied; the answer is CONFLICT with the problems in details.",
        answers: { 200: { description: "The new config was applied", schema: Reloaded } },
        errors: ["CONFLICT"],
      }),
    )
    .get(
      "/api/server-info",
      () => {
        const { cpuModel, cpuCount, ...info } = host.info();
        return {
          ...pick(info, "hostname", "os", "kernel", "arch", "memoryBytes"),
          cpu: { model: cpuModel, count: cpuCount },
          timezone: settings().timezone,
          bun: build.bun,
          version: build.version,
          build: build.commit,
        };
      },
      documented("details", "Host", "The host and the binary", {
        answers: { 200: { description: "Host and binary", schema: ServerInfo } },
      }),
    )
    .get(
      "/api/network",
      ({ server, exchange }) => {
        const configured = settings();
        const { servers } = live.snapshot();
        return {
          interfaces: host.interfaces().map((one) => ({ ...one, addresses: [...one.addresses] })),
          listening: [{ host: configured.host, port: server?.port ?? configured.port }],
          members: servers.flatMap(({ server: { id }, reachability }) =>
            reachability.map((member) => {
              const of = pick(member, "host", "port", "reachable", "connectMs", "error");
              return withSite({ server: id, ...of, addresses: [...member.addresses] }, exchange.ofSite);
            }),
          ),
        };
      },
      documented("details", "Host", "Network interfaces, and reachability of the license servers", {
        description: "Reachability is measured at each poll.",
        answers: { 200: { description: "Network", schema: Network } },
      }),
    );
}

/** Reports whether a server is down or stale; servers that were not polled yet do not count. */
function anyTrouble({ servers }: Snapshot): boolean {
  return servers.some(
    ({ server, status, state, lastPollAt }) =>
      server.enabled &&
      (status === "down" || state === "stale" || (state === "failed" && lastPollAt !== null)),
  );
}

const ServerInfo = record("ServerInfo", {
  hostname: Type.String(),
  os: Type.String(),
  kernel: Type.String(),
  arch: Type.String(),
  cpu: Type.Object({ model: nullable(Type.String()), count: Type.Integer({ minimum: 1 }) }),
  memoryBytes: Count,
  timezone: Type.String({ description: "IANA zone", examples: ["Europe/Berlin"] }),
  bun: Type.String({ description: "Version of the built-in Bun" }),
  version: Type.String(),
  build: textOrNull("Commit; null when run from source"),
});

const Port = Type.Integer({ minimum: 0, maximum: 65_535 });
const Network = record("Network", {
  interfaces: Type.Array(
    Type.Object({
      name: Type.String(),
      addresses: Type.Array(
        Type.Object({
          address: Type.String(),
          family: words(["IPv4", "IPv6"]),
          prefixLength: nullable(Type.Integer({ minimum: 0, maximum: 128 })),
        }),
      ),
      receivedBytes: nullable(Count),
      sentBytes: nullable(Count),
    }),
  ),
  listening: Type.Array(Type.Object({ host: Type.String(), port: Port })),
  members: Type.Array(
    Type.Object({
      ...OfSite,
      server: Type.String(),
      host: Type.String(),
      port: nullable(Port),
      addresses: Type.Array(Type.String()),
      reachable: nullable(Type.Boolean({ description: "Accepted a TCP connection at the last poll" })),
      connectMs: nullable(Type.Number({ minimum: 0 })),
      error: nullable(Type.String()),
    }),
  ),
});
