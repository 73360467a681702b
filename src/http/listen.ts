import { chmodSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Server, WebSocketHandler } from "bun";
import type { AnyElysia } from "elysia";
import { websocket } from "elysia/ws";
import { codeOf, messageOf } from "../domain/error-code.ts";
import type { KeyRecord } from "../domain/keys.ts";
import type { Log } from "../domain/log.ts";
import type { HttpSettings } from "./deps.ts";
import { arrivedBySocket } from "./exchange.ts";
import type { TlsMaterial } from "./tls.ts";
import { socketCaller } from "./without-key.ts";

/**
 * Disables Bun's own limit, because Bun answers longer bodies with a bare 413. The configured limit applies
 * instead. Bun does not buffer unread bodies (tried: 300 MB, memory flat).
 */
const HARD_CAP_BYTES = Number.MAX_SAFE_INTEGER;
/**
 * Ciphers of TLS 1.2 with forward secrecy and authenticated encryption. Bun would also offer CBC and RSA
 * key exchange.
 */
const CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20";
/**
 * Time without traffic after which Bun closes a connection. Requests that wait for polls, and streams,
 * disable this limit.
 */
const IDLE_TIMEOUT_SECONDS = 30;

/**
 * HTTP/2 stays off: with Bun 1.4.5, a refusal before the body is read never arrives if the body exceeds the stream's
 * window of 64 KiB (tried: 413, 401).
 */
export const SERVING = { development: false, maxRequestBodySize: HARD_CAP_BYTES } as const;

export type Listening = ReturnType<typeof listen>;

interface ListenSettings extends Pick<HttpSettings, "host" | "port"> {
  /** Certificate and key; null means plain HTTP. */
  readonly tls?: Pick<TlsMaterial, "cert" | "key" | "clientCa"> | null;
}

/**
 * Opens the port. Throws an Error that names the port and the fix.
 * Elysia enables `reusePort`, with which two daemons would silently share a port. It is off without TLS.
 * With TLS it is on, because renewing a certificate opens the port twice; therefore the port is first tried
 * without `reusePort`.
 */
export function listen(app: AnyElysia, { host, port, tls = null }: ListenSettings) {
  const first = open(app, { host, port, tls }, tls !== null);
  const servers = [first];
  const real = first.port ?? port;
  return {
    host,
    /** The actual port if the settings say 0. */
    port: real,
    /**
     * Uses a new certificate for new connections. Must only be called for a port with TLS. Bun's reload
     * does not change TLS, so the port is opened again before the old listener closes. Open requests,
     * streams and sockets keep the old certificate; only a connection in its handshake may be reset.
     */
    renew(material: TlsMaterial): void {
      const next = open(app, { host, port: real, tls: material }, false);
      for (const server of servers) void server.stop(false);
      servers.push(next);
    },
    /** Stops accepting work, lets running work finish for at most `graceMs`, then cancels it. */
    stop: (graceMs: number): Promise<void> => stopServers(servers, graceMs),
  };
}

/** Lets running work finish for at most `graceMs`, then cancels it. */
export async function stopServers(servers: readonly Server<unknown>[], graceMs: number): Promise<void> {
  const { promise: deadline, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, graceMs);
  await Promise.race([Promise.all(servers.map((server) => server.stop(false))), deadline]);
  clearTimeout(timer);
  await Promise.all(servers.map((server) => server.stop(true)));
}

/** Opens the port. If `tries`, tests first whether the port is free. */
function open(
  app: AnyElysia,
  { host, port, tls }: Required<ListenSettings>,
  tries: boolean,
): Server<unknown> {
  const atExit = process.listeners("beforeExit");
  try {
    if (tries) Bun.listen({ hostname: host, port, socket: { data() {} } }).stop(true);
    app.listen({
      hostname: host,
      port,
      reusePort: tls !== null,
      ...SERVING,
      idleTimeout: IDLE_TIMEOUT_SECONDS,
      ...(tls !== null && { tls: tlsOf(tls) }),
    });
  } catch (error) {
    throw cannotListen(error, host, port);
  }
  // Elysia adds a listener each time, but the daemon ends the process itself.
  for (const listener of process.listeners("beforeExit")) {
    if (!atExit.includes(listener)) process.off("beforeExit", listener);
  }
  if (app.server === null) throw new Error(`Nothing listens on ${host}:${port}`);
  return app.server;
}

/** With client authorities, clients without a certificate are refused in the handshake, before any HTTP. */
function tlsOf({ cert, key, clientCa }: Pick<TlsMaterial, "cert" | "key" | "clientCa">) {
  const own = { cert, key, ciphers: CIPHERS };
  return clientCa === undefined ? own : { ...own, ca: clientCa, requestCert: true, rejectUnauthorized: true };
}

function cannotListen(cause: unknown, host: string, port: number): Error {
  const where = `${host}:${port}`;
  const why = {
    EADDRINUSE: `Another program listens on ${where}. Stop it, or set http.port (LICMOND_HTTP_PORT) to a free one.`,
    EACCES: `Not allowed to listen on ${where}: ports below 1024 need privileges. Set http.port.`,
    EADDRNOTAVAIL: `This host has no address ${host}. Set http.host to one of its addresses, or to 0.0.0.0.`,
  }[codeOf(cause)];
  return new Error(why ?? `Cannot listen on ${where}: ${messageOf(cause)}`, { cause });
}

/**
 * A client that can open a socket has its role without a key. Only root and the service's group can enter
 * the directory; only root can open every file.
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

/**
 * Opens a socket. Deletes an existing file, which only a crash can have left: the directory belongs to the
 * service alone.
 */
function openSocket(app: AnyElysia, path: string, mode: number, caller: KeyRecord): Server<unknown> {
  rmSync(path, { force: true });
  // Create the socket so that no other user can connect before its mode is set.
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
