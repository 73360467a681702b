import { type Static, Type } from "@sinclair/typebox";
import { words } from "../../domain/records.ts";

/** What a check says is for everyone: no names of servers, no paths. */
const HealthCheck = Type.Object(
  {
    status: words(["healthy", "degraded", "unhealthy"]),
    message: Type.String(),
  },
  { title: "HealthCheck" },
);
export type HealthCheck = Static<typeof HealthCheck>;

export const HealthChecks = Type.Object({
  database: HealthCheck,
  collector: HealthCheck,
  disk: HealthCheck,
  clock: HealthCheck,
});
export type HealthChecks = Static<typeof HealthChecks>;
