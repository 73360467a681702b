import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { nullable, words } from "../../domain/records.ts";
import { documented, record } from "../docs/documented.ts";
import { pick } from "../records.ts";
import type { RouteDeps } from "./deps.ts";

const ServerInfo = record("ServerInfo", {
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
});

const Bytes = nullable(Type.Integer({ minimum: 0 }));
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
      receivedBytes: Bytes,
      sentBytes: Bytes,
    }),
  ),
  listening: Type.Array(Type.Object({ host: Type.String(), port: Port })),
  members: Type.Array(
    Type.Object({
      server: Type.String(),
      host: Type.String(),
      port: nullable(Port),
      addresses: Type.Array(Type.String()),
      reachable: nullable(Type.Boolean({ description: "Takes TCP connections, as of the last poll" })),
      connectMs: nullable(Type.Number({ minimum: 0 })),
      error: nullable(Type.String()),
    }),
  ),
});

/** The machine licmond runs on, and its way to the license servers as the last polls found it. */
export function hostRoutes({ host, build, live, settings }: RouteDeps) {
  return new Elysia({ name: "routes/host" })
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
      documented("read", "Host", "The host and the binary", {
        answers: { 200: { description: "Host and binary", schema: ServerInfo } },
      }),
    )
    .get(
      "/api/network",
      ({ server }) => {
        const configured = settings();
        return {
          interfaces: host.interfaces().map((one) => ({ ...one, addresses: [...one.addresses] })),
          listening: [{ host: configured.host, port: server?.port ?? configured.port }],
          members: live.snapshot().servers.flatMap(({ server: { id }, reachability }) =>
            reachability.map((member) => ({
              server: id,
              ...pick(member, "host", "port", "reachable", "connectMs", "error"),
              addresses: [...member.addresses],
            })),
          ),
        };
      },
      documented("read", "Host", "Interfaces and the way to the license servers", {
        description: "Reachability is measured with each poll and served from the snapshot.",
        answers: { 200: { description: "Network", schema: Network } },
      }),
    );
}
