import type { Patch, PictureServer } from "../live-picture.ts";
import { FEATURE_COLUMNS, type RowValues } from "../picture.ts";
import type { FeatureRecord } from "../records.ts";

export type PictureFeature = Pick<FeatureRecord, (typeof FEATURE_COLUMNS)[number]>;

/** A server's picture at a client. */
export interface KeptServer extends Omit<PictureServer, "features" | "rows"> {
  readonly features: Map<string, PictureFeature>;
  readonly rows: Map<string, RowValues>;
}

export function keptServer(server: PictureServer): KeptServer {
  return put({ ...server, features: new Map(), rows: new Map() }, server);
}

function put(kept: KeptServer, { features, rows }: Pick<PictureServer, "features" | "rows">): KeptServer {
  for (const values of features) {
    // Written out, because Object.fromEntries takes four times as long (5,000 features on a phone).
    const named: Partial<Record<keyof PictureFeature, unknown>> = {};
    for (const [index, name] of FEATURE_COLUMNS.entries()) named[name] = values[index + 1];
    kept.features.set(values[0], named as PictureFeature);
  }
  for (const values of rows) kept.rows.set(values[0], values);
  return kept;
}

/**
 * Applies a patch, changing the maps in place. Returns null if the server is no longer configured. Returns
 * `refetch` if a patch was missed; the caller must then get the whole picture from `GET
 * /api/picture?server=`. Ignores patches that are not newer than the picture.
 */
export function applyPatch(kept: KeptServer | null, patch: Patch): KeptServer | null | "refetch" {
  const { to, changed, gone } = patch;
  if (to === null) return null;
  if (kept !== null && to <= kept.snapshot) return kept;
  if (kept === null || patch.from !== kept.snapshot) return "refetch";
  for (const key of gone.features) kept.features.delete(key);
  for (const key of gone.rows) kept.rows.delete(key);
  return { ...put(kept, patch), ...changed, snapshot: to };
}
