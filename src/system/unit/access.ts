/** A user as the kernel judges it. */
export interface Account {
  readonly uid: number;
  /** Own, primary and supplementary. */
  readonly groups: readonly number[];
}

/** One part of a path: `/`, `/opt`, `/opt/flexlm`, … */
export interface Place {
  readonly path: string;
  readonly uid: number;
  readonly gid: number;
  /** Permission bits. */
  readonly mode: number;
}

export interface Refusal {
  readonly place: Place;
  /** What is lacking there. */
  readonly lacking: "search" | "read" | "run" | "write";
  /** Members of the file's group would be let in. */
  readonly groupHelps: boolean;
}

const READ = 4;
const WRITE = 2;
const EXECUTE = 1;
const BITS = { read: READ, run: EXECUTE, write: WRITE | EXECUTE } as const;

/**
 * What keeps a user from a file, by owners and permission bits from the root directory down: the first place that does.
 * Access control lists, security modules and what a network file system thinks of it are not known here.
 */
export function refusalOf(
  account: Account,
  places: readonly Place[],
  access: keyof typeof BITS,
): Refusal | null {
  if (account.uid === 0) return null;
  for (const [index, place] of places.entries()) {
    const isLast = index === places.length - 1;
    const wanted = isLast ? BITS[access] : EXECUTE;
    if ((bitsFor(account, place) & wanted) === wanted) continue;
    const groupHelps = place.uid !== account.uid && ((place.mode >> 3) & wanted) === wanted;
    return { place, lacking: isLast ? access : "search", groupHelps };
  }
  return null;
}

/** The owner's bits hold for the owner alone, the group's for its members alone, the others' for the rest. */
function bitsFor({ uid, groups }: Account, place: Place): number {
  if (uid === place.uid) return (place.mode >> 6) & 7;
  return (groups.includes(place.gid) ? place.mode >> 3 : place.mode) & 7;
}
