import type { PagePath } from "../words.ts";

/** Maximum length of a link. Mail programs and browsers reject longer links. */
const LONGEST = 2_000;

/**
 * Returns the public address of a page. `base` is `http.public_url`, including a proxy's prefix. Returns
 * null without a `base`, or if names make the link too long. Names are percent-encoded.
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

/** Returns the link to a feature, else to a server, else to the overview. */
export function placeLink(
  base: string | null,
  { server, daemon, feature }: Readonly<Record<"server" | "daemon" | "feature", string | null>>,
): string | null {
  if (server === null) return pageLink(base, "");
  if (feature === null || daemon === null) return pageLink(base, "server", { id: server });
  return pageLink(base, "feature", { server, daemon, name: feature });
}
