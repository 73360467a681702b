import type { KnownHosts } from "./manager.ts";

/** Enough for the largest sites seen (some 10,000 workstations) and still a bound on what a stranger can feed us. */
export const MAX_HOSTS = 50_000;

/**
 * A bounded set of client hosts. Two generations instead of one ordered set, because taking the oldest out of a full
 * set again and again costs more with every one that is gone: when the young are half of the bound they become the
 * old, and the old of before that were not seen meanwhile are forgotten.
 */
export function createKnownHosts(initial: Iterable<string> = []): KnownHosts & { list(): string[] } {
  let young = new Set<string>();
  let old = new Set<string>();
  const hosts = {
    has(host: string) {
      const key = host.toLowerCase();
      return young.has(key) || old.has(key);
    },
    add(host: string) {
      // Most are in lower case, and known: a large site's output adds 57,000 times.
      if (young.has(host)) return;
      const key = host.toLowerCase();
      if (young.has(key)) return;
      // A slice of a line keeps its whole output in memory as long as it lives, and hosts live for months.
      young.add(Buffer.from(key).toString());
      if (young.size < MAX_HOSTS / 2) return;
      old = young;
      young = new Set();
    },
    /** Oldest first: put in again in this order, they are as old as they were. */
    list: () => [...old.difference(young), ...young],
  };
  for (const host of initial) hosts.add(host);
  return hosts;
}
