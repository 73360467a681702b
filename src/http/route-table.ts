import type { AnyElysia } from "elysia";
import Memoirist from "memoirist";
import { PERMISSIONS, type Permission } from "../domain/keys.ts";

/** Access to a route: for everyone, or for keys with this permission. */
export type Access = "open" | Permission;

/** A path with the gate's settings. */
export interface KnownRoute {
  readonly path: string;
  /** Access by method (HEAD as GET), in the order of the header `Allow`. */
  readonly access: Map<string, Access>;
  /** Whether `?api_key=` is accepted, for clients of streams and calendars that cannot set headers. */
  keyInQuery: boolean;
  takesBody: boolean;
  /** Whether the query has `server` but no `site`. */
  isOfServers: boolean;
  /** Maximum size of the body; null means the configured limit. */
  maxBodyBytes: number | null;
}

/**
 * Finds the route of a path; null if unknown or not decodable. A trailing slash is allowed. Uses Elysia's own routes
 * and router (https://github.com/SaltyAom/memoirist), so a permission is declared once and a route without one
 * cannot be served. Built at the first request, after all routes are registered.
 */
export function createRouteTable(app: Pick<AnyElysia, "routes">): (path: string) => KnownRoute | null {
  let router: Memoirist<KnownRoute> | null = null;

  function build(): Memoirist<KnownRoute> {
    const routes = new Map<string, KnownRoute>();
    // Decoding throws for invalid percent-encoding.
    const made = new Memoirist<KnownRoute>({ onParam: decodeURIComponent });
    for (const { method, path, hooks } of app.routes) {
      const {
        "x-permission": declaredAccess,
        "x-key-in-query": keyInQuery,
        "x-max-body-bytes": own,
      } = hooks.detail ?? {};
      const access = (["open", ...PERMISSIONS] as const).find((each) => each === declaredAccess);
      if (access === undefined) throw new Error(`${method} ${path} declares no permission`);
      const { parameters = [] } = hooks.detail ?? {};
      const takes = (name: string) => parameters.some((one: { name?: string }) => one.name === name);
      const known = routes.get(path) ?? {
        path,
        access: new Map(),
        keyInQuery: false,
        takesBody: false,
        isOfServers: takes("server") && !takes("site"),
        maxBodyBytes: typeof own === "number" ? own : null,
      };
      known.access.set(method, access);
      if (method === "GET") known.access.set("HEAD", access);
      known.keyInQuery ||= keyInQuery === true;
      known.takesBody ||= hooks.body !== undefined;
      if (!routes.has(path)) made.add("", path, known);
      routes.set(path, known);
    }
    return made;
  }

  return (path) => {
    router ??= build();
    try {
      return router.find("", path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path)?.store ?? null;
    } catch {
      return null;
    }
  };
}

/** Returns the value of the header `Allow`. */
export function allowOf({ access }: KnownRoute): string {
  return [...access.keys(), "OPTIONS"].join(", ");
}
