import { ApiError } from "../domain/errors.ts";
import type { Exchange } from "./exchange.ts";
import { isFromOwnPage } from "./origins.ts";
import { shown } from "./query.ts";

/**
 * Returns the name of a signed-in browser's cookie. It contains the installation's id, because cookies
 * ignore ports: two daemons on one host must not overwrite each other's. `__Host-` (RFC 6265bis 4.1.3.2)
 * keeps other hosts of the domain and plain pages from setting it.
 */
export function cookieName(installationId: string, exchange: Exchange): string {
  return `${isSecure(exchange) ? "__Host-" : ""}licmond_${installationId}`;
}

function isSecure({ origin }: Exchange): boolean {
  return origin?.startsWith("https:") === true;
}

/** The value of a cookie that a request brings; null when it brings none. */
export function cookieOf({ headers }: Request, name: string): string | null {
  const sent = headers.get("cookie");
  return sent === null ? null : new Bun.CookieMap(sent).get(name);
}

/** The value of `Set-Cookie`. `maxAge`: seconds; null = until the browser is closed. */
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

/** The same, to have the browser forget it. */
export const endedCookie = (installationId: string, exchange: Exchange) =>
  setCookie(installationId, exchange, "", 0);

/** The page's first requests answer 204 without a sign-in: browsers write errors to their console. */
export const NOBODY = { description: "Nobody is signed in: to a request with `X-Licmond: page`" };
export function isFirstRead({ request, route }: Exchange): boolean {
  const isEither = route?.path === "/api/me" || route?.path === "/api/picture";
  return isEither && request.headers.get("x-licmond") === "page";
}

/**
 * Browsers send the cookie by themselves, also for pages on other ports of this host, which SameSite
 * allows. Changes therefore need a header that a form cannot send and a script of another origin may not
 * (no preflight allows it). Other requests by cookie must come from the daemon's own pages. Throws
 * AUTH_INSUFFICIENT.
 */
export function requirePage(exchange: Exchange, listed: readonly string[]): void {
  const { method, headers } = exchange.request;
  const isRead = method === "GET" || method === "HEAD";
  const changes = !isRead || new URLSearchParams(exchange.query).has("refresh");
  if (changes && headers.get("x-licmond") !== "page") {
    const message = "Signing in and changes by cookie need the header X-Licmond: page.";
    throw new ApiError("AUTH_INSUFFICIENT", message);
  }
  if (isFromOwnPage(exchange, changes ? listed : [])) return;
  const named = shown(headers.get("origin") ?? "");
  const seen = exchange.origin === null ? "no name" : shown(exchange.origin);
  const remedy =
    "A proxy that speaks plain HTTP must hand on the Host (nginx: proxy_set_header Host $http_host;). " +
    "Over TLS current browsers need nothing; for others the proxy must also be in http.trusted_proxies.";
  throw new ApiError(
    "AUTH_INSUFFICIENT",
    `Pages of the origin ${named} may not act for a browser that is signed in here: this is ${seen}. ${remedy}`,
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

/**
 * Returns the recognizable part of a User-Agent: `Firefox 140 on Linux`, our own words and a number; null
 * if unknown.
 */
export function browserOf({ headers }: Request): string | null {
  const sent = headers.get("user-agent")?.slice(0, 500) ?? "";
  const system = SYSTEMS.find(([form]) => form.test(sent))?.[1];
  for (const [form, name] of BROWSERS) {
    const version = form.exec(sent)?.[1];
    if (version !== undefined) return `${name} ${version.slice(0, 4)}${system ? ` on ${system}` : ""}`;
  }
  return null;
}
