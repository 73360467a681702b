import type { CountedFeature } from "../domain/history.ts";
import { DAY_MS, HOUR_MS } from "../domain/time/clock.ts";
import type { Store } from "../store/open/open.ts";

export interface KnownFeature extends CountedFeature {
  readonly id: number;
}

/**
 * Kinds of packed rows, in the order of their keys. A row of `held` or `site` combines all features of a
 * day; the other kinds have one row per day and feature.
 */
export const PACKED_KINDS = ["samples", "hours", "rollups", "held", "site"] as const;
export type PackedKind = (typeof PACKED_KINDS)[number];

/** Upper limits of feature ids and of days since 1970-01-01 UTC, chosen so that a key is one safe integer. */
const FEATURES = 2 ** 24;
const DAYS = 2 ** 26;

/** Returns the key of a packed day. The keys of a kind ascend by day, then by feature. */
export function packedKey(kind: PackedKind, day: number, featureId = 0): number {
  return (PACKED_KINDS.indexOf(kind) * DAYS + day) * FEATURES + featureId;
}

/** Returns the first key of some days, and the first key after these days. */
export function packedKeys(kind: PackedKind, first: number, behind = DAYS): [number, number] {
  return [packedKey(kind, first), packedKey(kind, behind)];
}

export function featureOfKey(key: number): number {
  return key % FEATURES;
}

export function createPackedDays({ sqlite }: Pick<Store, "sqlite">) {
  const get = sqlite.query<{ data: Uint8Array }, [number]>("SELECT data FROM packed_days WHERE key = ?");
  const put = sqlite.query<null, [number, Uint8Array]>(
    "INSERT INTO packed_days (key, data) VALUES (?, ?) ON CONFLICT DO UPDATE SET data = excluded.data",
  );
  const remove = sqlite.query<null, [number]>("DELETE FROM packed_days WHERE key = ?");
  return {
    get: (key: number) => get.get(key)?.data ?? null,
    put: (key: number, data: Uint8Array): void =>
      void (data.length > 0 ? put.run(key, data) : remove.run(key)),
  };
}

export function dayOf(at: number): number {
  return Math.floor(at / DAY_MS);
}

export function hourStart(at: number): number {
  return Math.floor(at / HOUR_MS) * HOUR_MS;
}

export function hourEnd(at: number): number {
  return Math.ceil(at / HOUR_MS) * HOUR_MS;
}

/**
 * Kinds of marks: for outdated packed rows, for days to send to a hub (`hub`), and for days whose rows of
 * all other tables must be sent, too (`hub_rows`).
 */
export type DirtyKind = Exclude<PackedKind, "samples"> | "hub" | "hub_rows";

export type Dirty = ReturnType<typeof createDirty>;

/** Marks hours and days whose packed rows are missing or outdated, in the caller's transaction. */
export function createDirty({ sqlite }: Pick<Store, "sqlite">) {
  const on = (sql: string) => sqlite.query<null, [DirtyKind, number]>(sql);
  // Does not write a mark again if it is set, because most polls repeat existing marks.
  const insert = on(
    "INSERT INTO dirty (kind, at, touched) VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET touched = 1 WHERE touched = 0",
  );
  const begin = on("UPDATE dirty SET touched = 0 WHERE kind = ? AND at = ?");
  const end = on("DELETE FROM dirty WHERE kind = ? AND at = ? AND touched = 0");

  function mark(kind: DirtyKind, from: number, until: number): void {
    const span = kind === "hours" ? HOUR_MS : DAY_MS;
    for (let at = Math.floor(from / span) * span; at <= until; at += span) insert.run(kind, at);
  }

  return {
    mark,
    touch(from: number, until: number): void {
      for (const kind of ["hours", "rollups", "held", "site"] as const) mark(kind, from, until);
    },
    begin: (kind: DirtyKind, at: number): void => void begin.run(kind, at),
    /** Removes a mark. Returns false and keeps the mark if it was set again since `begin`. */
    end: (kind: DirtyKind, at: number): boolean => end.run(kind, at).changes > 0,
  };
}
