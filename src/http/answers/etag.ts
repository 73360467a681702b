/** Tags of answers made from a snapshot: equal within one process exactly when snapshot, query and format are. */
export interface Tags {
  of(snapshotVersion: number, what: string): string;
}

/** Versions start anew with each process, so a random part keeps tags of different runs apart. */
export function createTags(run: string = Bun.randomUUIDv7().slice(-12)): Tags {
  return { of: (version, what) => `"${run}-${version}-${Bun.hash(what).toString(36)}"` };
}

/** True when `If-None-Match` holds the tag (weak comparison, RFC 9110 13.1.2). */
export function matches(ifNoneMatch: string | null, tag: string): boolean {
  if (ifNoneMatch === null) return false;
  return ifNoneMatch.split(",").some((part) => {
    const given = part.trim();
    return given === "*" || given === tag || given === `W/${tag}`;
  });
}
