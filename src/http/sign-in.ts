import { ApiError } from "../domain/errors.ts";
import type { Exchange } from "./exchange.ts";
import { isFromOwnPage } from "./origins.ts";
import { shown } from "./query.ts";

/**
 * Returns the name of the sign-in cookie. The name contains the installation's id, because cookies ignore
 * ports: two daemons on one host must not overwrite each other's cookies. `__Host-` (RFC 6265bis 4.1.3.2)
 * keeps other hosts of the domain and pages over plain HTTP from setting it.
 */
export function cookieName(installationId: string, exchange: Exchange): string {
  return `${isSecure(exchange) ? "__Host-" : ""}licmond_${installationId}`;
}

function isSecure({ origin }: Exchange): boolean {
  return origin?.startsWith("https:") === true;
}

export function cookieOf({ headers }: Request, name: string): string | null {
  const sent = headers.get("cookie");
  return sent === null ? null : new Bun.CookieMap(sent).get(name);
}

/** Returns a `Set-Cookie` value. `maxAge`: seconds; null lasts until the browser closes. */
export function setCookie(
  installationId: string,
  exchange: Exchange,
  value: string,
  maxAge: number | null,
): string {
  const cookie = new Bun.Cookie(cookieName(installationId, exchange), value, {
    path: "/",
    httpOnly: true,
    sameSite: "strict",
    secure: isSecure(exchange),
    ...(maxAge !== null && { maxAge }),
  });
  return cookie.serialize();
}

export const endedCookie = (installationId: string, exchange: Exchange) =>
  setCookie(installationId, exchange, "", 0);

/**
 * Answer 204 to the page's first requests without a sign-in. It is not an error, because browsers log
 * errors to their console.
 */
export const NOBODY = { description: "Not signed in; only for requests with `X-Licmond: page`" };
export function isFirstRead({ request, route }: Exchange): boolean {
  const isEither = route?.path === "/api/me" || route?.path === "/api/picture";
  return isEither && request.headers.get("x-licmond") === "page";
}

/**
 * Protects against requests that another page makes the browser send, because SameSite does not stop pages
 * from other ports of this host. Changes need a header that forms cannot set, and that scripts of other
 * origins cannot set because no preflight allows it. Other requests must come from the daemon's own pages.
 * Throws AUTH_INSUFFICIENT.
 */
export function requirePage(exchange: Exchange, listed: readonly string[]): void {
  const { method, headers } = exchange.request;
  const isRead = method === "GET" || method === "HEAD";
  const changes = !isRead || new URLSearchParams(exchange.query).has("refresh");
  if (changes && headers.get("x-licmond") !== "page") {
    const message = "Signing in and changes by cookie require the header X-Licmond: page.";
    throw new ApiError("AUTH_INSUFFICIENT", message);
  }
  if (isFromOwnPage(exchange, changes ? listed : [])) return;
  const named = shown(headers.get("origin") ?? "");
  const seen = exchange.origin === null ? "not named by the request" : shown(exchange.origin);
  const remedy =
    "A proxy that uses plain HTTP must pass the Host header on (nginx: proxy_set_header Host $http_host;). " +
    "Over TLS, old browsers also need the proxy in http.trusted_proxies.";
  throw new ApiError(
    "AUTH_INSUFFICIENT",
    `Pages of the origin ${named} may not act for a browser that is signed in here: the origin of this daemon is ${seen}. ${remedy}`,
  );
}

const BROWSERS = [
  [/\bEdg(?:A|iOS)?\/(\d+)/, "Edge"],
  [/\bOPR\/(\d+)/, "Opera"],
  [/\b(?:Firefox|FxiOS)\/(\d+)/, "Firefox"],
  [/\b(?:Chrome|CriOS)\/(\d+)/, "Chrome"],
  [/\bVersion\/(\d+)[\d.]* (?:Mobile\/\w+ )?Safari\//, "Safari"],
] as const;
const SYSTEMS = [
  [/\bWindows\b/, "Windows"],
  [/\bAndroid\b/, "Android"],
  [/\biPhone|iPad\b/, "iOS"],
  [/\bMac OS X\b/, "macOS"],
  [/\bLinux\b|\bX11\b/, "Linux"],
] as const;

/** Returns the recognizable part of a User-Agent, e.g. `Firefox 140 on Linux`; null if unknown. */
export function browserOf({ headers }: Request): string | null {
  const sent = headers.get("user-agent")?.slice(0, 500) ?? "";
  const system = SYSTEMS.find(([form]) => form.test(sent))?.[1];
  for (const [form, name] of BROWSERS) {
    const version = form.exec(sent)?.[1];
    if (version !== undefined) return `${name} ${version.slice(0, 4)}${system ? ` on ${system}` : ""}`;
  }
  return null;
}
