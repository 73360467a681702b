import type { HistoryRead } from "../history/read.ts";

/** A name with its small id, for `session_names`. */
export interface NewName {
  readonly id: number;
  readonly name: string;
}

/** A server's feature with its small id, for `session_features`. */
export interface NewFeature extends NewName {
  readonly server: string;
}

/**
 * Small ids of names in sessions: those that are stored, and ones behind them for what comes beside. Hosts are in lower
 * case; 0 = none was told.
 */
export interface SessionNames {
  readonly names: readonly (string | undefined)[];
  readonly features: readonly (Omit<NewFeature, "id"> | undefined)[];
  nameId(name: string): number;
  hostId(host: string | null): number;
  featureId(server: string, name: string): number;
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
  function noteFeature({ id, server, name }: NewFeature): void {
    features[id] = { server, name };
    const ofServer = featureIds.get(server) ?? new Map<string, number>();
    featureIds.set(server, ofServer.set(name, id));
  }
  for (const row of read.all<NewName>("SELECT id, name FROM session_names")) note(row);
  for (const row of read.all<NewFeature>("SELECT id, server_id AS server, name FROM session_features"))
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
    ...{ names, features, nameId },
    hostId: (host) => (host === null ? 0 : nameId(host.toLowerCase())),
    featureId(server, name) {
      const known = featureIds.get(server)?.get(name);
      if (known !== undefined) return known;
      const id = Math.max(1, features.length);
      noteFeature({ id, server, name });
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
