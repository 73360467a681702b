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
  const add = (host: string) => {
    const key = host.toLowerCase();
    if (young.has(key)) return;
    young.add(ownCopy(key));
    if (young.size < MAX_HOSTS / 2) return;
    old = young;
    young = new Set();
  };
  for (const host of initial) add(host);
  return {
    has(host) {
      const key = host.toLowerCase();
      return young.has(key) || old.has(key);
    },
    add,
    /** Oldest first: put in again in this order, they are as old as they were. */
    list: () => [...old].filter((host) => !young.has(host)).concat([...young]),
  };
}

/**
 * A slice of a line keeps the whole output in memory as long as it lives, and hosts live for months. What is put
 * together and sliced anew is a slice of itself alone, at a tenth of the cost of a buffer.
 */
function ownCopy(text: string): string {
  const joined = `|${text}`;
  // Reading a character makes one string of the parts.
  return joined.charCodeAt(0) === 0x7c ? joined.slice(1) : text;
}
