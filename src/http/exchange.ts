import { Elysia } from "elysia";
import type { KeyRecord } from "../domain/keys.ts";
import type { LogFields } from "../domain/log.ts";
import type { KnownRoute } from "./route-table.ts";

/** What the gate knows of one request. It makes this before anything else, and hands it to the route. */
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
  /** The client's address, behind trusted proxies too; an IPv6 network instead of an address. */
  readonly address: string;
  /** The key that holds; null on open routes. */
  caller: KeyRecord | null;
  /** What the route is about to do: should it fail, the gate writes that into the audit trail. */
  acting: { readonly message: string; readonly fields: LogFields } | null;
  /** Headers of the answer, whatever it becomes; names in lower case. */
  readonly headers: Record<string, string>;
  /** True once the answer has its headers and is counted. */
  answered: boolean;
}

// The gate sets it before a route runs.
const unset = null as unknown as Exchange;
/** Routes `.use` this and get the typed `exchange`. */
export const gated = new Elysia({ name: "gated" }).decorate("exchange", unset);

/**
 * Path and query of a request's URL, as sent: no decoding, no normalising, so that the gate and the router see the
 * same. Bun gives a URL without scheme and host where the Host header is missing (HTTP/1.0) or invalid.
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
