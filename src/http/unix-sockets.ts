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
 * A client that can open a socket has the role of that socket and needs no key. Root can open every file; only root and the
 * service's group can enter the directory.
 */
const SOCKETS = [
  { name: "admin.sock", role: "admin", mode: 0o600 },
  { name: "viewer.sock", role: "viewer", mode: 0o660 },
] as const;

/** Serves the app on the sockets of a directory too. A directory that cannot be used is logged. */
export function listenOnSockets(app: AnyElysia, directory: string, log: Log) {
  const open = SOCKETS.flatMap(({ name, role, mode }) => {
    const path = join(directory, name);
    try {
      return [{ path, server: openSocket(app, path, mode, socketCaller(role)) }];
    } catch (error) {
      const cause = { path, error: messageOf(error) };
      log.warn("A socket cannot be opened: commands on this host need a key", cause);
      return [];
    }
  });
  return {
    /** Stops accepting work, lets running work finish for at most `graceMs`, then cancels it. */
    async stop(graceMs: number): Promise<void> {
      for (const { path } of open) rmSync(path, { force: true });
      await stopServers(
        open.map(({ server }) => server),
        graceMs,
      );
    },
  };
}

/** The directory belongs to the service alone: a file that is there was left by a crash. */
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
      // Elysia's types of the runtime are older than the runtime's own.
      websocket: { ...app.config.websocket, ...websocket } as unknown as WebSocketHandler<unknown>,
    });
  } finally {
    process.umask(usual);
    if (existsSync(path)) chmodSync(path, mode);
  }
}
