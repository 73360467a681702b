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
/** A server of the site, by its id at the hub. */
export const atHub = (server: string): string => (SITE === null ? server : `${SITE}:${server}`);

/**
 * JSON of a hub with the ids that servers have at their site, as its pages show them. Quotes in strings are escaped, so that
 * no name can look like a field.
 */
export const ownIds = (json: string, site: string | null): string =>
  site === null
    ? json
    : json.replaceAll(`"server":"${site}:`, '"server":"').replaceAll(`"id":"${site}:`, '"id":"');

export const IS_FLEET = IS_HUB && SITE === null;
