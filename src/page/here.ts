declare global {
  /** As first.ts finds it; undefined at a daemon. */
  var siteHere: string | null | undefined;
}

export const IS_HUB = globalThis.siteHere !== undefined;

/**
 * The site of a hub that these pages are of, by their address; null for all of them together, and at a daemon. It holds as
 * long as the document: a link to another site loads the document anew.
 */
export const SITE = globalThis.siteHere ?? null;
export const IS_FLEET = IS_HUB && SITE === null;
