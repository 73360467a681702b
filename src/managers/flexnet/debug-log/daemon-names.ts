/** A log names a handful; the bound is on what a stranger can feed us. */
const MAX_DAEMONS = 100;
const FORK = /^(.+)_\d+$/;

/** The vendor daemons of a log, by the names that its lines begin with. */
export interface DaemonNames {
  /** The daemon behind a printed name: `acmed_2` is a fork of `acmed`, though only of one that is known. */
  nameOf(printed: string): string;
  list(): string[];
}

export function createDaemonNames(known: readonly string[]): DaemonNames {
  const daemons = new Set(known);
  /** What was found out: plain names, and forks of known ones. */
  const names = new Map<string, string>();
  return {
    nameOf(printed) {
      const found = names.get(printed);
      if (found !== undefined) return found;
      const base = FORK.exec(printed)?.[1];
      const name = base !== undefined && daemons.has(base) ? base : printed;
      if (names.size < MAX_DAEMONS && (base === undefined || name === base)) names.set(printed, name);
      if (name === printed && daemons.size < MAX_DAEMONS) daemons.add(printed);
      return name;
    },
    list: () => [...daemons],
  };
}
