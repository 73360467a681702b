import { chmodSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Server, WebSocketHandler } from "bun";
import type { AnyElysia } from "elysia";
import { websocket } from "elysia/ws";
import { messageOf } from "../domain/error-code.ts";
import type { KeyRecord } from "../domain/keys.ts";
import type { Log } from "../domain/log.ts";
import { arrivedBySocket } from "./exchange.ts";
import { SERVING, stopServers } from "./listen.ts";
import { socketCaller } from "./without-key.ts";

/**
 * Opening a socket grants its role without a key. Only root and the service's group can enter the directory; only
 * root can open every file.
 */
const SOCKETS = [
  { name: "admin.sock", role: "admin", mode: 0o600 },
  { name: "viewer.sock", role: "viewer", mode: 0o660 },
] as const;

/** Serves the app on Unix sockets in a directory. An unusable directory is logged. */
export function listenOnSockets(app: AnyElysia, directory: string, log: Log) {
  const open = SOCKETS.flatMap(({ name, role, mode }) => {
    const path = join(directory, name);
    try {
      return [{ path, server: openSocket(app, path, mode, socketCaller(role)) }];
    } catch (error) {
      const cause = { path, error: messageOf(error) };
      log.warn("Cannot open a Unix socket; commands on this host need a key", cause);
      return [];
    }
  });
  return {
    async stop(graceMs: number): Promise<void> {
      for (const { path } of open) rmSync(path, { force: true });
      await stopServers(
        open.map(({ server }) => server),
        graceMs,
      );
    },
  };
}

/** The directory belongs to the service alone, so an existing file was left by a crash. */
function openSocket(app: AnyElysia, path: string, mode: number, caller: KeyRecord): Server<unknown> {
  rmSync(path, { force: true });
  // No other user can connect before the socket has its mode.
  const usual = process.umask(0o177);
  try {
    return Bun.serve({
      ...SERVING,
      unix: path,
      fetch(request: Request, server: Server<unknown>) {
        arrivedBySocket(request, { caller, server });
        return app.fetch(request);
      },
      // Elysia's types of Bun are older than Bun's own.
      websocket: { ...app.config.websocket, ...websocket } as unknown as WebSocketHandler<unknown>,
    });
  } finally {
    process.umask(usual);
    if (existsSync(path)) chmodSync(path, mode);
  }
}
