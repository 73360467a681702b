import { readFileSync } from "node:fs";
import type { Server } from "bun";
import type { App } from "./app.ts";
import type { HttpSettings } from "./deps.ts";

/**
 * Bun refuses a longer body with a bare 413, before any of our code. It holds no byte of a body that nobody reads
 * (tried: 300 MB at an unread route, memory flat), so the cap that counts is the soft one, with its error body.
 */
const HARD_CAP_BYTES = Number.MAX_SAFE_INTEGER;
/** A silent connection is cut after this; requests that wait for polls and streams lift it for themselves. */
const IDLE_TIMEOUT_SECONDS = 30;

export interface Listening {
  readonly host: string;
  /** The real one, also when the settings said 0. */
  readonly port: number;
  /** Takes no new work, lets what runs finish for at most `graceMs`, then cuts it. */
  stop(graceMs: number): Promise<void>;
}

export interface ListenSettings extends Pick<HttpSettings, "host" | "port"> {
  /** Paths of the certificate chain and its key, PEM; null = plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string } | null;
}

/**
 * Opens the port. Throws an Error that names it and the fix when it cannot be had.
 * `reusePort` must stay off: Elysia turns it on, and two daemons would share a port in silence.
 */
export function listen(app: App, { host, port, tls = null }: ListenSettings): Listening {
  try {
    app.listen({
      hostname: host,
      port,
      reusePort: false,
      development: false,
      idleTimeout: IDLE_TIMEOUT_SECONDS,
      maxRequestBodySize: HARD_CAP_BYTES,
      ...(tls !== null && { tls: { cert: readPem(tls.cert), key: readPem(tls.key) } }),
    });
  } catch (error) {
    throw new Error(whyNot(error, host, port), { cause: error });
  }
  const server: Server<unknown> | null = app.server;
  if (server === null) throw new Error(`Nothing listens on ${host}:${port}`);
  return {
    host,
    port: server.port ?? port,
    async stop(graceMs) {
      const { promise: deadline, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, graceMs);
      await Promise.race([server.stop(false), deadline]);
      clearTimeout(timer);
      await server.stop(true);
    },
  };
}

/** Read here and not by Bun: it starts without a file that is not there and then fails every handshake. */
function readPem(path: string): string {
  return readFileSync(path, "utf8");
}

function whyNot(error: unknown, host: string, port: number): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const where = `${host}:${port}`;
  if (code === "EADDRINUSE") {
    return `Another program listens on ${where}. End it, or set http.port (LICMOND_HTTP_PORT) to a free one.`;
  }
  if (code === "EACCES")
    return `Not allowed to listen on ${where}: ports below 1024 need privileges. Set http.port.`;
  if (code === "EADDRNOTAVAIL")
    return `This host has no address ${host}. Set http.host to one it has, or to 0.0.0.0.`;
  return `Cannot listen on ${where}: ${error instanceof Error ? error.message : String(error)}`;
}
