import type { KeyRecord } from "../domain/keys.ts";
import type { KeyCheck } from "../store/keys.ts";
import type { KnownRoute } from "./route-table.ts";

/** What the gate learns of one request on its way to the route: filled step by step, read by routes and errors. */
export interface Exchange {
  /** The request's id: the client's own or a UUIDv7. */
  readonly id: string;
  /** Path as sent (percent-encoded), without query. */
  readonly path: string;
  /** Query as sent, without `?`. May hold an `api_key`: never to be logged. */
  readonly query: string;
  /** Milliseconds of the monotonic clock. */
  readonly startedAt: number;
  /** Null when there is no such path. */
  readonly route: KnownRoute | null;
  /** What came of the presented key; null when none was, undefined while nobody has asked. */
  keyCheck: KeyCheck | null | undefined;
  /** The key that holds; null on open routes. */
  caller: KeyRecord | null;
  /** Headers of the answer, whatever it becomes; names in lower case. */
  readonly headers: Record<string, string>;
}

/** The exchanges under way, by their request. */
export interface Exchanges {
  open(request: Request, id: string): Exchange;
  /** The exchange of a request that came through the gate. */
  of(request: Request): Exchange;
  find(request: Request): Exchange | undefined;
}

export function createExchanges(
  findRoute: (path: string) => KnownRoute | null,
  onOpen: () => void = () => {},
): Exchanges {
  const underWay = new WeakMap<Request, Exchange>();
  return {
    open(request, id) {
      const { path, query } = splitUrl(request.url);
      const exchange: Exchange = {
        ...{ id, path, query, startedAt: performance.now() },
        route: findRoute(path),
        keyCheck: undefined,
        caller: null,
        headers: { "x-request-id": id },
      };
      underWay.set(request, exchange);
      onOpen();
      return exchange;
    },
    of(request) {
      const found = underWay.get(request);
      if (found === undefined) throw new Error("A request reached a route without passing the gate");
      return found;
    },
    find: (request) => underWay.get(request),
  };
}

/**
 * Path and query of a request's URL, as sent: no decoding, no normalising, so that the gate and the router see the
 * same. Bun gives it without scheme and host where the Host header is absent (HTTP/1.0) or none that it understands.
 */
export function splitUrl(url: string): { path: string; query: string } {
  const start = url.startsWith("/") ? 0 : url.indexOf("/", url.indexOf("://") + 3);
  if (start === -1) return { path: "/", query: "" };
  const hash = url.indexOf("#", start);
  const end = hash === -1 ? url.length : hash;
  const mark = url.indexOf("?", start);
  if (mark === -1 || mark > end) return { path: url.slice(start, end), query: "" };
  return { path: url.slice(start, mark), query: url.slice(mark + 1, end) };
}
