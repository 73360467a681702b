import type { PagePath } from "./words.ts";

/** Longer ones are refused by mail programs and browsers. */
const LONGEST = 2_000;

/**
 * The address of a page as people reach it: `base` is `http.public_url`, with the prefix of a proxy where it has one. Null
 * without it, and where the names in it make it too long. It is ASCII: names stand percent-encoded in it.
 */
export function pageLink(
  base: string | null,
  path: PagePath | "",
  query: Readonly<Record<string, string>> = {},
): string | null {
  if (base === null) return null;
  const { origin, pathname } = new URL(base);
  const search = new URLSearchParams(query).toString();
  const link = `${origin}${pathname.replace(/\/+$/, "")}/${path}${search === "" ? "" : `?${search}`}`;
  return link.length > LONGEST ? null : link;
}

/** Where what a feature, or else a server, is about is shown. */
export function placeLink(
  base: string | null,
  { server, daemon, feature }: Readonly<Record<"server" | "daemon" | "feature", string | null>>,
): string | null {
  if (server === null) return pageLink(base, "");
  if (feature === null || daemon === null) return pageLink(base, "server", { id: server });
  return pageLink(base, "feature", { server, daemon, name: feature });
}
