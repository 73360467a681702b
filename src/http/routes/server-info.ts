import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { nullable } from "../../domain/records.ts";
import type { HttpDeps } from "../deps.ts";
import { documented } from "../documented.ts";

const ServerInfo = Type.Object(
  {
    hostname: Type.String(),
    os: Type.String(),
    kernel: Type.String(),
    arch: Type.String(),
    cpu: Type.Object({ model: nullable(Type.String()), count: Type.Integer({ minimum: 1 }) }),
    memoryBytes: Type.Integer({ minimum: 0 }),
    timezone: Type.String({ description: "IANA zone", examples: ["Europe/Berlin"] }),
    bun: Type.String({ description: "Version of Bun inside" }),
    version: Type.String(),
    build: nullable(Type.String({ description: "Commit; null when run from source" })),
  },
  { title: "ServerInfo" },
);

/** The machine licmond runs on. */
export function serverInfoRoutes({ host, build, settings }: Pick<HttpDeps, "host" | "build" | "settings">) {
  return new Elysia({ name: "routes/server-info" }).get(
    "/api/server-info",
    () => {
      const { hostname, os, kernel, arch, cpuModel, cpuCount, memoryBytes } = host.info();
      return Response.json({
        hostname,
        os,
        kernel,
        arch,
        cpu: { model: cpuModel, count: cpuCount },
        memoryBytes,
        timezone: settings().timezone,
        bun: build.bun,
        version: build.version,
        build: build.commit,
      });
    },
    documented({
      access: "read",
      tag: "Host",
      summary: "The host and the binary",
      answers: { 200: { description: "Host and binary", schema: ServerInfo } },
    }),
  );
}
