import type { KnownHosts } from "../manager.ts";

/**
 * The known hosts as one output teaches and asks them. Tens of thousands of lines name some hundred hosts: each is
 * taught once, under the spelling that the line has.
 */
export function createSeenHosts(hosts: KnownHosts): KnownHosts {
  const seen = new Set<string>();
  return {
    has(host) {
      if (seen.has(host)) return true;
      if (!hosts.has(host)) return false;
      seen.add(host);
      return true;
    },
    add(host) {
      if (seen.has(host)) return;
      hosts.add(host);
      seen.add(host);
    },
  };
}
