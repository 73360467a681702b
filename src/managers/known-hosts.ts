import type { KnownHosts } from "./manager.ts";

/** Enough for the largest sites seen (some 10,000 workstations) and still a bound on what a stranger can feed us. */
const MAX_HOSTS = 50_000;

/** A bounded set of client hosts: the oldest learnt is forgotten first, a host seen again counts as new. */
export function createKnownHosts(initial: Iterable<string> = []): KnownHosts & { list(): string[] } {
  const hosts = new Set<string>();
  const add = (host: string) => {
    const key = host.toLowerCase();
    if (hosts.delete(key)) {
      hosts.add(key);
      return;
    }
    if (hosts.size >= MAX_HOSTS) {
      for (const oldest of hosts) {
        hosts.delete(oldest);
        break;
      }
    }
    hosts.add(ownCopy(key));
  };
  for (const host of initial) add(host);
  return { has: (host) => hosts.has(host.toLowerCase()), add, list: () => [...hosts] };
}

/** A slice of a line keeps the whole output in memory as long as it lives, and hosts live for months. */
function ownCopy(text: string): string {
  return Buffer.from(text, "utf16le").toString("utf16le");
}
