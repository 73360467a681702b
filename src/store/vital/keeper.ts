import type { Database } from "bun:sqlite";
import type { Log } from "../../domain/log.ts";
import { asStoreError, StoreError } from "../store-error.ts";
import type { VitalFile } from "./file.ts";
import { readVitalRows, type VitalRows } from "./rows.ts";

export interface KeepOptions {
  /**
   * A key that is revoked just now: the copy must say so before anybody is told. Where it cannot be written it is
   * taken away, and throws StoreError when that fails too.
   */
  readonly revoked?: { readonly id: string; readonly at: number };
}

export interface VitalKeeperDeps {
  readonly sqlite: Database;
  readonly vital: VitalFile;
  readonly path: string;
  /** Whether damage was met: what can be read of the database is not to be trusted then. */
  readonly isDamaged: () => boolean;
  readonly log: Log;
  readonly now: () => number;
}

/** Writes the side copy. To be called in a write transaction: it writes what that one sees, and no two write at once. */
export function createVitalKeeper({ sqlite, vital, path, isDamaged, log, now }: VitalKeeperDeps) {
  let failing = false;

  return (options: KeepOptions = {}): void => {
    const { revoked } = options;
    if (isDamaged() && revoked === undefined) return;
    try {
      const rows = isDamaged() ? withRevoked(vital.read().vital?.rows ?? {}, revoked) : readVitalRows(sqlite);
      vital.write(rows, now());
      if (failing) log.info("The side copy of the keys is written again");
      failing = false;
    } catch (error) {
      if (!failing) {
        log.warn("The side copy of the keys could not be written", {
          error: error instanceof Error ? error.message : String(error),
        });
      }
      failing = true;
      if (revoked === undefined) return;
      try {
        vital.remove();
      } catch {
        throw (
          asStoreError(error, path) ??
          new StoreError("IO", `${path}.vital cannot be written`, "Look at the disk.", error)
        );
      }
    }
  };
}

function withRevoked(rows: VitalRows, revoked: KeepOptions["revoked"]): VitalRows {
  const keys = (rows.api_keys ?? []).map((row) =>
    row.id === revoked?.id ? { ...row, revoked_at: row.revoked_at ?? revoked?.at ?? null } : row,
  );
  return { ...rows, api_keys: keys };
}
