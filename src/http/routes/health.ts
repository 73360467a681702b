import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { iso } from "../../domain/clock.ts";
import { ApiError } from "../../domain/errors.ts";
import type { Snapshot } from "../../domain/picture.ts";
import { Timestamp, words } from "../../domain/records.ts";
import type { HealthChecks, HttpDeps } from "../deps.ts";
import { documented } from "../documented.ts";

const CHECK_MS = 1000;
const RETRY_AFTER_SECONDS = 5;

const Check = Type.Object(
  {
    status: words(["healthy", "degraded", "unhealthy"]),
    message: Type.String(),
  },
  { title: "HealthCheck" },
);
const Health = Type.Object(
  {
    status: words(["healthy", "degraded"], "degraded: a license server is down or stale, or a check says so"),
    version: Type.String(),
    uptimeSeconds: Type.Integer({ minimum: 0 }),
    timestamp: Timestamp,
    checks: Type.Object({ database: Check, collector: Check, disk: Check, clock: Check }),
  },
  { title: "Health" },
);

/** For load balancers and probes: needs no key, so it names no server. */
export function healthRoutes({
  clock,
  build,
  daemon,
  health,
  live,
}: Pick<HttpDeps, "clock" | "build" | "daemon" | "health" | "live">) {
  let last: { readonly at: number; readonly checks: HealthChecks | Promise<HealthChecks> } | null = null;

  function checksNow(): HealthChecks | Promise<HealthChecks> {
    const now = clock.now();
    if (last === null || now - last.at >= CHECK_MS || now < last.at) last = { at: now, checks: health() };
    return last.checks;
  }

  return new Elysia({ name: "routes/health" }).get(
    "/api/health",
    async () => {
      const checks = await checksNow();
      const failing = Object.entries(checks).filter(([, { status }]) => status === "unhealthy");
      if (failing.length > 0) {
        throw new ApiError(
          "SERVICE_UNAVAILABLE",
          "licmond is unhealthy: a part it cannot do without does not work.",
          {
            details: failing.map(([name, { message }]) => `${name}: ${message}`).join("; "),
            retryAfterSeconds: RETRY_AFTER_SECONDS,
          },
        );
      }
      const degraded =
        Object.values(checks).some(({ status }) => status === "degraded") || anyTrouble(live.snapshot());
      const now = clock.now();
      return Response.json({
        status: degraded ? "degraded" : "healthy",
        version: build.version,
        uptimeSeconds: daemon.status().uptimeSeconds,
        timestamp: iso(now),
        checks,
      });
    },
    documented({
      access: "open",
      tag: "Service",
      summary: "Health of the daemon",
      description:
        "Needs no key. Unhealthy (the database or the collector does not work) is 503 with the error body.",
      answers: { 200: { description: "Healthy or degraded", schema: Health } },
      errors: ["SERVICE_UNAVAILABLE"],
    }),
  );
}

/** A server that is down, or whose numbers are not those of its last poll. One not polled yet is no trouble. */
function anyTrouble({ servers }: Snapshot): boolean {
  return servers.some(
    ({ server, status, state, lastPollAt }) =>
      server.enabled &&
      (status === "down" || state === "stale" || (state === "failed" && lastPollAt !== null)),
  );
}
