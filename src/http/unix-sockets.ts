import { chmodSync, existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Server, WebSocketHandler } from "bun";
import type { AnyElysia } from "elysia";
import { websocket } from "elysia/ws";
import { messageOf } from "../domain/error-code.ts";
import type { KeyRecord } from "../domain/keys.ts";
import type { Log } from "../domain/log.ts";
import { SERVING, stopServers } from "./listen.ts";

/**
 * Who may open a socket has the rights of its role, and needs no key. Root opens every file, and the directory of the
 * sockets is closed to whoever is not in the service's group.
 */
const SOCKETS = [
  { name: "admin.sock", role: "admin", mode: 0o600 },
  { name: "viewer.sock", role: "viewer", mode: 0o660 },
] as const;

/** By which socket a request came. */
export interface Arrival {
  /** Stands for a key. */
  readonly caller: KeyRecord;
  readonly server: Server<unknown>;
}

const arrivals = new WeakMap<Request, Arrival>();

/** Null for a request that came by the port. */
export function arrivalOf(request: Request): Arrival | null {
  return arrivals.get(request) ?? null;
}

/** Ids of keys have no dash. */
const ID = /^socket-/;
export const isSocketCaller = (keyId: string) => ID.test(keyId);

function callerOf(role: (typeof SOCKETS)[number]["role"]): KeyRecord {
  return {
    id: `socket-${role}`,
    name: `socket (${role})`,
    role,
    state: "active",
    anonymize: false,
    createdAt: 0,
    expiresAt: null,
    revokedAt: null,
    lastUsedAt: null,
    dailyQuota: null,
    monthlyQuota: null,
    requestsPerMinute: null,
  };
}

/**
 * Serves the app on the sockets of a directory too. A directory that cannot be used is logged, and so is a socket behind
 * which another daemon answers: it stays as it is.
 */
export async function listenOnSockets(app: AnyElysia, directory: string, log: Log) {
  const open: { readonly path: string; readonly server: Server<unknown> }[] = [];
  for (const { name, role, mode } of SOCKETS) {
    const path = join(directory, name);
    try {
      if (await isAnswered(path))
        log.warn("Another program answers on the socket: it stays as it is", { path });
      else open.push({ path, server: openSocket(app, path, mode, callerOf(role)) });
    } catch (error) {
      const cause = { path, error: messageOf(error) };
      log.warn("A socket cannot be opened: commands on this host need a key", cause);
    }
  }
  return {
    /** Takes no new work, lets what runs finish for at most `graceMs`, then cuts it. */
    async stop(graceMs: number): Promise<void> {
      for (const { path } of open) rmSync(path, { force: true });
      await stopServers(
        open.map(({ server }) => server),
        graceMs,
      );
    },
  };
}

/** A crash leaves its sockets behind: nobody answers there. */
async function isAnswered(path: string): Promise<boolean> {
  if (!existsSync(path)) return false;
  try {
    (await Bun.connect({ unix: path, socket: { data() {} } })).end();
    return true;
  } catch {
    return false;
  }
}

/**
 * Made in a directory that nobody else can enter and moved to its place, so that nobody can connect before the mode is
 * right; the move takes the place of what a crash left.
 */
function openSocket(app: AnyElysia, path: string, mode: number, caller: KeyRecord): Server<unknown> {
  const closed = mkdtempSync(join(dirname(path), ".new-"));
  const made = join(closed, "s");
  let server: Server<unknown> | null = null;
  try {
    server = Bun.serve({
      ...SERVING,
      unix: made,
      fetch(request: Request, server: Server<unknown>) {
        arrivals.set(request, { caller, server });
        return app.fetch(request);
      },
      // Elysia's types of the runtime are older than the runtime's own.
      websocket: { ...app.config.websocket, ...websocket } as unknown as WebSocketHandler<unknown>,
    });
    chmodSync(made, mode);
    renameSync(made, path);
    return server;
  } catch (error) {
    void server?.stop(true);
    throw error;
  } finally {
    rmSync(closed, { recursive: true, force: true });
  }
}
