import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { ApiError } from "../../domain/errors.ts";
import type { Audit } from "../audit.ts";
import type { HttpDeps } from "../deps.ts";
import { documented } from "../documented.ts";
import { gated } from "../exchange.ts";

const Reloaded = Type.Object({
  outcome: Type.String({ enum: ["applied"] }),
  needRestart: Type.Array(Type.String(), {
    description: "Settings that differ from the running ones and hold only after a restart",
  }),
});

/** Reads the config again, as SIGHUP does. */
export function reloadRoutes({ daemon }: Pick<HttpDeps, "daemon">, audit: Audit) {
  return new Elysia({ name: "routes/reload" }).use(gated).post(
    "/api/reload",
    ({ exchange }) => {
      try {
        const { outcome, problems, needRestart } = daemon.reload();
        if (outcome === "refused") {
          throw new ApiError("CONFLICT", "The config has problems and was refused; the running one stays.", {
            details: problems.join("\n"),
          });
        }
        audit.done(exchange, "Config reload", { needRestart: needRestart.join(", ") });
        return Response.json({ outcome, needRestart });
      } catch (error) {
        audit.refused(exchange, "Config reload", error);
        throw error;
      }
    },
    documented({
      access: "reload",
      tag: "Service",
      summary: "Read the config again",
      description:
        "As SIGHUP. A config with problems is refused with CONFLICT, the problems in details, and the running one stays.",
      answers: { 200: { description: "The new config holds", schema: Reloaded } },
      errors: ["CONFLICT"],
    }),
  );
}
