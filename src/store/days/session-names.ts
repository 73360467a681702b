import type { HistoryRead } from "../history/read.ts";

/** A name with its small id, for `session_names`. */
export interface NewName {
  readonly id: number;
  readonly name: string;
}

/** A feature with its small id, for `session_features`. */
export interface NewFeature extends NewName {
  readonly server: string;
  readonly daemon: string;
}

/**
 * Small ids of names in sessions: those that are stored, and ones behind them for what comes beside. Hosts are as the
 * tool printed them; 0 = the tool printed none.
 */
export interface SessionNames {
  readonly names: readonly (string | undefined)[];
  readonly features: readonly (Omit<NewFeature, "id"> | undefined)[];
  nameId(name: string): number;
  hostId(host: string | null): number;
  featureId(server: string, daemon: string, name: string): number;
  /** Those that are not stored. */
  fresh(): { readonly names: readonly NewName[]; readonly features: readonly NewFeature[] };
}

export function loadSessionNames(read: Pick<HistoryRead, "all">): SessionNames {
  const names: (string | undefined)[] = [];
  const features: (Omit<NewFeature, "id"> | undefined)[] = [];
  const ids = new Map<string, number>();
  const featureIds = new Map<string, Map<string, number>>();

  function note({ id, name }: NewName): void {
    names[id] = name;
    ids.set(name, id);
  }
  function noteFeature({ id, server, daemon, name }: NewFeature): void {
    features[id] = { server, daemon, name };
    const key = `${server}\0${daemon}`;
    const ofDaemon = featureIds.get(key) ?? new Map<string, number>();
    featureIds.set(key, ofDaemon.set(name, id));
  }
  for (const row of read.all<NewName>("SELECT id, name FROM session_names")) note(row);
  for (const row of read.all<NewFeature>(
    "SELECT id, server_id AS server, daemon, name FROM session_features",
  ))
    noteFeature(row);
  const [firstName, firstFeature] = [Math.max(1, names.length), Math.max(1, features.length)];

  function nameId(name: string): number {
    const known = ids.get(name);
    if (known !== undefined) return known;
    const id = Math.max(1, names.length);
    note({ id, name });
    return id;
  }
  return {
    names,
    features,
    nameId,
    hostId: (host) => (host === null ? 0 : nameId(host)),
    featureId(server, daemon, name) {
      const known = featureIds.get(`${server}\0${daemon}`)?.get(name);
      if (known !== undefined) return known;
      const id = Math.max(1, features.length);
      noteFeature({ id, server, daemon, name });
      return id;
    },
    fresh: () => ({
      names: names.flatMap((name, id) => (name === undefined || id < firstName ? [] : [{ id, name }])),
      features: features.flatMap((one, id) =>
        one === undefined || id < firstFeature ? [] : [{ id, ...one }],
      ),
    }),
  };
}
