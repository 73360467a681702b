import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { nullable, words } from "../../domain/records.ts";
import type { HttpDeps } from "../deps.ts";
import { documented } from "../documented.ts";

const Bytes = nullable(Type.Integer({ minimum: 0 }));
const Port = Type.Integer({ minimum: 0, maximum: 65_535 });

const Network = Type.Object(
  {
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
  },
  { title: "Network" },
);

/** Interfaces, where we listen, and the members of the license servers as the last polls found them. */
export function networkRoutes({ host, live, settings }: Pick<HttpDeps, "host" | "live" | "settings">) {
  return new Elysia({ name: "routes/network" }).get(
    "/api/network",
    ({ server }) => {
      const configured = settings();
      return Response.json({
        interfaces: host.interfaces().map(({ name, addresses, receivedBytes, sentBytes }) => ({
          name,
          addresses: addresses.map(({ address, family, prefixLength }) => ({
            address,
            family,
            prefixLength,
          })),
          receivedBytes,
          sentBytes,
        })),
        listening: [{ host: configured.host, port: server?.port ?? configured.port }],
        members: live.snapshot().servers.flatMap(({ server: { id }, reachability }) =>
          reachability.map(({ host: name, port, addresses, reachable, connectMs, error }) => ({
            server: id,
            host: name,
            port,
            addresses,
            reachable,
            connectMs,
            error,
          })),
        ),
      });
    },
    documented({
      access: "read",
      tag: "Host",
      summary: "Interfaces and the way to the license servers",
      description: "Reachability is measured with each poll and served from the snapshot.",
      answers: { 200: { description: "Network", schema: Network } },
    }),
  );
}
