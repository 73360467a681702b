import type { KnownHosts } from "../manager.ts";

/** An output that names more hosts than this in a row gains nothing by their being remembered twice. */
const MAX_SEEN = 8_192;

/**
 * The known hosts as one output teaches and asks them. Tens of thousands of lines name some hundred hosts: each is
 * taught once, under the spelling that the line has.
 */
export function createSeenHosts(hosts: KnownHosts): KnownHosts {
  const seen = new Set<string>();
  const remember = (host: string) => {
    if (seen.size >= MAX_SEEN) seen.clear();
    seen.add(host);
  };
  return {
    has(host) {
      if (seen.has(host)) return true;
      if (!hosts.has(host)) return false;
      remember(host);
      return true;
    },
    add(host) {
      if (seen.has(host)) return;
      hosts.add(host);
      remember(host);
    },
  };
}
