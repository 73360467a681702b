import type { KnownHosts } from "./manager.ts";

/** Enough for the largest sites seen (some 10,000 workstations) and still a bound on what a stranger can feed us. */
export const MAX_HOSTS = 50_000;

/** Hosts that wait to be learnt together: joining and splitting them costs half of a copy for each. */
const MAX_WAITING = 32;

/**
 * A bounded set of client hosts. Two generations instead of one ordered set, because taking the oldest out of a full
 * set again and again costs more with every one that is gone: when the young are half of the bound they become the
 * old, and the old of before that were not seen meanwhile are forgotten.
 */
export function createKnownHosts(initial: Iterable<string> = []): KnownHosts & { list(): string[] } {
  let young = new Set<string>();
  let old = new Set<string>();
  let waiting: string[] = [];

  /**
   * A slice of a line keeps the whole output in memory as long as it lives, and hosts live for months: the joined
   * text holds hosts alone.
   */
  function learn(): void {
    if (waiting.length === 0) return;
    const hosts = waiting.join("\n").toLowerCase().split("\n");
    waiting = [];
    for (const host of hosts) {
      young.add(host);
      if (young.size < MAX_HOSTS / 2) continue;
      old = young;
      young = new Set();
    }
  }

  const hosts = {
    has(host: string) {
      learn();
      const key = host.toLowerCase();
      return young.has(key) || old.has(key);
    },
    add(host: string) {
      waiting.push(host);
      if (waiting.length >= MAX_WAITING) learn();
    },
    /** Oldest first: put in again in this order, they are as old as they were. */
    list() {
      learn();
      return [...old].filter((host) => !young.has(host)).concat([...young]);
    },
  };
  for (const host of initial) hosts.add(host);
  return hosts;
}
