import type { Server } from "bun";
import type { AnyElysia } from "elysia";
import { codeOf, messageOf } from "../domain/error-code.ts";
import type { HttpSettings } from "./deps.ts";
import type { TlsMaterial } from "./tls.ts";

/**
 * Bun refuses a longer body with a bare 413, before any of our code. It holds no byte of a body that is not read
 * (tried: 300 MB at an unread route, memory flat), so the cap that counts is the soft one, with its error body.
 */
const HARD_CAP_BYTES = Number.MAX_SAFE_INTEGER;
/** TLS 1.2 with forward secrecy and authenticated encryption alone; Bun offers CBC and RSA key exchange too. TLS 1.3 has no other. */
const CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20";
/** A silent connection is cut after this; requests that wait for polls and streams lift it for themselves. */
const IDLE_TIMEOUT_SECONDS = 30;

/**
 * However clients come. HTTP/2 stays off: streams work over Bun 1.4.5's, but a request that is refused before its body is
 * read gets no answer where the body is longer than the stream's window of 64 KiB (tried: 413, 401), only a closed stream.
 */
export const SERVING = { development: false, maxRequestBodySize: HARD_CAP_BYTES } as const;

export type Listening = ReturnType<typeof listen>;

export interface ListenSettings extends Pick<HttpSettings, "host" | "port"> {
  /** Null = plain HTTP. */
  readonly tls?: Pick<TlsMaterial, "cert" | "key" | "clientCa"> | null;
}

/**
 * Opens the port. Throws an Error that names it and the fix when it cannot be had.
 *
 * Elysia turns `reusePort` on, with which two daemons would share a port in silence: it is off. With TLS the port
 * must be opened twice at times, so there it is on, and whether the port is free is tried before.
 */
export function listen(app: AnyElysia, { host, port, tls = null }: ListenSettings) {
  const first = open(app, { host, port, tls }, tls !== null);
  const servers = [first];
  const real = first.port ?? port;
  return {
    host,
    /** The real one, also when the settings said 0. */
    port: real,
    /**
     * Uses a new certificate for new connections; only for a port that already listened with TLS. Bun's
     * reload does not change TLS, so the port is opened again before the old listener closes. Open
     * requests, streams and sockets keep the old certificate, and idle connections close in order; only a
     * connection that is being made may be reset.
     */
    renew(material: TlsMaterial): void {
      const next = open(app, { host, port: real, tls: material }, false);
      // They take no connections from now on; stop() waits for the requests that still run.
      for (const server of servers) void server.stop(false);
      servers.push(next);
    },
    /** Stops accepting work, lets running work finish for at most `graceMs`, then cancels it. */
    stop: (graceMs: number): Promise<void> => stopServers(servers, graceMs),
  };
}

/** Stops accepting work, lets running work finish for at most `graceMs`, then cancels it. */
export async function stopServers(servers: readonly Server<unknown>[], graceMs: number): Promise<void> {
  const { promise: deadline, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, graceMs);
  await Promise.race([Promise.all(servers.map((server) => server.stop(false))), deadline]);
  clearTimeout(timer);
  await Promise.all(servers.map((server) => server.stop(true)));
}

/** `tries`: whether the port is free is tried before. */
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
  // Elysia leaves one each time; the end of the daemon is the daemon's.
  for (const listener of process.listeners("beforeExit")) {
    if (!atExit.includes(listener)) process.off("beforeExit", listener);
  }
  if (app.server === null) throw new Error(`Nothing listens on ${host}:${port}`);
  return app.server;
}

/** With authorities of clients, one without a certificate of theirs is refused in the handshake, before a byte of HTTP. */
function tlsOf({ cert, key, clientCa }: Pick<TlsMaterial, "cert" | "key" | "clientCa">) {
  const own = { cert, key, ciphers: CIPHERS };
  return clientCa === undefined ? own : { ...own, ca: clientCa, requestCert: true, rejectUnauthorized: true };
}

function cannotListen(cause: unknown, host: string, port: number): Error {
  const where = `${host}:${port}`;
  const why = {
    EADDRINUSE: `Another program listens on ${where}. End it, or set http.port (LICMOND_HTTP_PORT) to a free one.`,
    EACCES: `Not allowed to listen on ${where}: ports below 1024 need privileges. Set http.port.`,
    EADDRNOTAVAIL: `This host has no address ${host}. Set http.host to one it has, or to 0.0.0.0.`,
  }[codeOf(cause)];
  return new Error(why ?? `Cannot listen on ${where}: ${messageOf(cause)}`, { cause });
}
