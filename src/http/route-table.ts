import { PERMISSIONS, type Permission } from "../domain/keys.ts";

/** Who may use a route: everybody, or keys with this permission. */
export type Access = "open" | Permission;

/** One path of the API with what the gate must know of it. */
export interface KnownRoute {
  readonly path: string;
  /** Methods served, HEAD beside GET and OPTIONS included, in the order of `Allow`. */
  readonly allow: readonly string[];
  /** Access by method (HEAD as GET). */
  readonly access: ReadonlyMap<string, Access>;
  /** Takes the key as `?api_key=` too: streams, sockets and the calendar, whose clients cannot set headers. */
  readonly keyInQuery: boolean;
}

export interface RouteTable {
  /** The route of a path as sent, or null, also where it is not decodable. A trailing slash is tolerated. */
  find(path: string): KnownRoute | null;
}

/** What the table reads of the app's own routes. */
interface DeclaredRoute {
  readonly method: string;
  readonly path: string;
  readonly hooks: unknown;
}

/**
 * The table the gate goes by, made of the routes themselves, so that a permission is declared in one place
 * (`documented({ access })`) and a route without one cannot be served.
 * Built at the first request: by then every route is registered.
 */
export function createRouteTable(declared: () => readonly DeclaredRoute[]): RouteTable {
  let fixed: Map<string, KnownRoute> | null = null;
  let variable: { pattern: RegExp; route: KnownRoute }[] = [];

  function build(): Map<string, KnownRoute> {
    const byPath = new Map<string, { access: Map<string, Access>; keyInQuery: boolean }>();
    for (const { method, path, hooks } of declared()) {
      const { access, keyInQuery } = declarationOf(method, path, hooks);
      const known = byPath.get(path) ?? { access: new Map<string, Access>(), keyInQuery: false };
      known.access.set(method, access);
      if (method === "GET") known.access.set("HEAD", access);
      known.keyInQuery ||= keyInQuery;
      byPath.set(path, known);
    }
    const exact = new Map<string, KnownRoute>();
    variable = [];
    for (const [path, { access, keyInQuery }] of byPath) {
      const route: KnownRoute = { path, allow: [...access.keys(), "OPTIONS"], access, keyInQuery };
      if (path.includes(":")) variable.push({ pattern: patternOf(path), route });
      else exact.set(path, route);
    }
    return exact;
  }

  return {
    find(path) {
      fixed ??= build();
      const plain = path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
      const exact = fixed.get(plain);
      if (exact !== undefined) return exact;
      const found = variable.find(({ pattern }) => pattern.test(plain))?.route ?? null;
      return found !== null && isDecodable(plain) ? found : null;
    },
  };
}

/** Percent-encoded UTF-8 throughout: for anything else one router gives a route no parameter, the other a wrong one. */
function isDecodable(path: string): boolean {
  if (!path.includes("%")) return true;
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

function declarationOf(
  method: string,
  path: string,
  hooks: unknown,
): { access: Access; keyInQuery: boolean } {
  const detail = property(hooks, "detail");
  const declared = property(detail, "x-permission");
  const access = declared === "open" ? declared : PERMISSIONS.find((permission) => permission === declared);
  if (access === undefined) throw new Error(`${method} ${path} declares no permission`);
  return { access, keyInQuery: property(detail, "x-key-in-query") === true };
}

function property(of: unknown, name: string): unknown {
  return typeof of === "object" && of !== null ? (of as Record<string, unknown>)[name] : undefined;
}

function patternOf(path: string): RegExp {
  const segments = path.split("/").map((part) => (part.startsWith(":") ? "[^/]+" : RegExp.escape(part)));
  return new RegExp(`^${segments.join("/")}$`);
}
