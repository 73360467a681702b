import type { AnyElysia } from "elysia";
import Memoirist from "memoirist";
import { PERMISSIONS, type Permission } from "../domain/keys.ts";

/** A route is open to everyone, or to keys with this permission. */
export type Access = "open" | Permission;

/** A path of the API with the gate's settings. */
export interface KnownRoute {
  readonly path: string;
  /** Access by method (HEAD as GET), in the order of `Allow`. */
  readonly access: Map<string, Access>;
  /** Takes the key as `?api_key=` too: streams, sockets and the calendar, whose clients cannot set headers. */
  keyInQuery: boolean;
  /** Some method of it takes a body. */
  takesBody: boolean;
  /** Its query names servers, and no sites. */
  isOfServers: boolean;
  /** Bytes of a body that it takes; null = as many as the config says. */
  maxBodyBytes: number | null;
}

/**
 * Finds the route of a sent path; null if unknown or not decodable. A trailing slash is allowed. The table
 * is built from Elysia's own routes with its router (https://github.com/SaltyAom/memoirist), so that a
 * permission is declared once and a route without one cannot be served. It is built at the first request,
 * after all routes are registered.
 */
export function createRouteTable(app: Pick<AnyElysia, "routes">): (path: string) => KnownRoute | null {
  let router: Memoirist<KnownRoute> | null = null;

  function build(): Memoirist<KnownRoute> {
    const routes = new Map<string, KnownRoute>();
    // Decoding throws for a part that is not percent-encoded UTF-8.
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

/** The value of the header `Allow`. */
export function allowOf({ access }: KnownRoute): string {
  return [...access.keys(), "OPTIONS"].join(", ");
}
