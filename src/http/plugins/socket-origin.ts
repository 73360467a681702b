import { Elysia } from "elysia";
import { ApiError } from "../../domain/errors.ts";
import type { Exchanges } from "../exchange.ts";
import type { ClientAddress } from "../limits/client-address.ts";
import { shown } from "../shown.ts";

export interface SocketOriginDeps {
  readonly origins: () => readonly string[];
  readonly isTls: () => boolean;
  readonly address: Pick<ClientAddress, "behindProxy">;
}

/**
 * Step 6, for sockets: CORS does not hold them, a page of any site may open one. A browser says whose page it is
 * (`Origin`, RFC 6455 10.2): it must be the daemon's own, or one that `http.cors_origins` lists. Programs say nothing.
 */
export function socketOrigin(exchanges: Exchanges, { origins, isTls, address }: SocketOriginDeps) {
  return new Elysia({ name: "socket-origin" }).onRequest(({ request }) => {
    const origin = request.headers.get("origin");
    if (origin === null || !exchanges.of(request).path.startsWith("/ws/")) return;
    if (origins().includes(origin) || origin === ownOrigin(request)) return;
    throw new ApiError(
      "AUTH_INSUFFICIENT",
      `Pages of the origin ${shown(origin)} may not open a WebSocket here: http.cors_origins does not list it.`,
    );
  });

  /** Scheme, host and port as the client sees them: a trusted proxy may have taken TLS off. */
  function ownOrigin(request: Request): string | null {
    const told = address.behindProxy(request) ? request.headers.get("x-forwarded-proto") : null;
    const isHttps = told === null ? isTls() : told.trim().toLowerCase() === "https";
    const url = `${isHttps ? "https" : "http"}://${request.headers.get("host") ?? ""}`;
    return URL.canParse(url) ? new URL(url).origin : null;
  }
}
