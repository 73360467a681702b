import type { Store } from "./open.ts";

/** A feature that an old log tells of. */
interface Named {
  readonly daemon: string;
  readonly feature: string | null;
}

/**
 * Notes features that old logs tell of among those of history, so that one which no poll ever read is known by its name.
 * Runs in the caller's transaction.
 */
export function createImportedFeatures({
  sqlite,
}: Pick<Store, "sqlite">): (server: string, named: readonly Named[]) => void {
  const add = sqlite.query<null, [string, string, string]>(
    `INSERT INTO history_features (server_id, daemon, name) SELECT ?1, ?2, ?3
     WHERE NOT EXISTS (SELECT 1 FROM history_features WHERE server_id = ?1 AND daemon = ?2 AND name = ?3)`,
  );
  return (server, named) => {
    const done = new Set<string>();
    for (const { daemon, feature } of named) {
      const key = `${daemon}\0${feature}`;
      if (done.has(key)) continue;
      done.add(key);
      // Counters of a whole server are of no feature.
      if (feature !== null && feature !== "") add.run(server, daemon, feature);
    }
  };
}
