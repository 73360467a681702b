declare global {
  /** Set by first.ts; undefined at a daemon. */
  var siteHere: string | null | undefined;
}

export const IS_HUB = globalThis.siteHere !== undefined;

/**
 * The site of a hub that this document shows, taken from the address; null on pages of all sites, and at a
 * daemon. A link to another site loads the document again.
 */
export const SITE = globalThis.siteHere ?? null;
/** Returns the hub's id of a server of the site. */
export const atHub = (server: string): string => (SITE === null ? server : `${SITE}:${server}`);

/**
 * Replaces the hub's server ids in JSON with the site's own ids. Quotes inside strings are escaped, so a
 * name cannot look like a field.
 */
export const ownIds = (json: string, site: string | null): string =>
  site === null
    ? json
    : json.replaceAll(`"server":"${site}:`, '"server":"').replaceAll(`"id":"${site}:`, '"id":"');

export const IS_FLEET = IS_HUB && SITE === null;
