import { ApiError } from "../domain/errors.ts";
import type { Exchange } from "./exchange.ts";
import { isFromOwnPage } from "./origins.ts";
import { shown } from "./query.ts";

/**
 * The cookie of a browser that is signed in. Its name carries the installation, because cookies know no ports: two
 * daemons of one host must not overwrite each other's. `__Host-` (RFC 6265bis 4.1.3.2) keeps other hosts of the domain and
 * plain pages from setting it.
 */
export function cookieName(installationId: string, isSecure: boolean): string {
  return `${isSecure ? "__Host-" : ""}licmond_${installationId}`;
}

/** The value of a cookie that a request brings; null when it brings none. */
export function cookieOf({ headers }: Request, name: string): string | null {
  const sent = headers.get("cookie");
  return sent === null ? null : new Bun.CookieMap(sent).get(name);
}

/** The value of `Set-Cookie`. `maxAge`: seconds; null = until the browser is closed. */
export function setCookie(name: string, value: string, isSecure: boolean, maxAge: number | null): string {
  const cookie = new Bun.Cookie(name, value, {
    path: "/",
    httpOnly: true,
    sameSite: "strict",
    secure: isSecure,
    ...(maxAge !== null && { maxAge }),
  });
  return cookie.serialize();
}

/**
 * Browsers send the cookie by themselves, also for pages of other ports of this host, which SameSite lets through. So what
 * changes something needs a header that a form cannot send, and that a script of another origin may not (it is in no
 * preflight's answer). All else by cookie is for the daemon's own pages alone. Throws AUTH_INSUFFICIENT.
 */
export function requirePage(exchange: Exchange, listed: readonly string[]): void {
  const { method, headers } = exchange.request;
  const isRead = method === "GET" || method === "HEAD";
  const changes = !isRead || new URLSearchParams(exchange.query).has("refresh");
  if (changes && headers.get("x-licmond") !== "page") {
    const message = "Signing in, and what is changed by cookie, needs the header X-Licmond: page.";
    throw new ApiError("AUTH_INSUFFICIENT", message);
  }
  if (isFromOwnPage(exchange, changes ? listed : [])) return;
  const named = shown(headers.get("origin") ?? "");
  const proxy = "A proxy must hand on the Host, and over TLS be in http.trusted_proxies.";
  const message = `Pages of the origin ${named} may not act for a browser that is signed in here. ${proxy}`;
  throw new ApiError("AUTH_INSUFFICIENT", message);
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

/** What a person recognises of a User-Agent: `Firefox 140 on Linux`. Words of ours and a number alone; null when none fits. */
export function browserOf({ headers }: Request): string | null {
  const sent = headers.get("user-agent")?.slice(0, 500) ?? "";
  const system = SYSTEMS.find(([form]) => form.test(sent))?.[1];
  for (const [form, name] of BROWSERS) {
    const version = form.exec(sent)?.[1];
    if (version !== undefined) return `${name} ${version.slice(0, 4)}${system ? ` on ${system}` : ""}`;
  }
  return null;
}
