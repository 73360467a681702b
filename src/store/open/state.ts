import { Database } from "bun:sqlite";
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { messageOf } from "../../domain/error-code.ts";
import type { Log } from "../../domain/log.ts";
import { isBusy } from "../database/busy.ts";
import type { DatabaseFile } from "../database/database-file.ts";
import { exchange, fileSize, makeFresh, type Paths, syncToDisk } from "../database/files.ts";
import { migrate, schemaVersion } from "../database/migrate.ts";
import {
  copyState,
  dropState,
  IN_COPY,
  putRows,
  readRows,
  revoke,
  stateIn,
  stateOf,
} from "../database/precious.ts";
import { openReader, tableNames } from "../database/read-only.ts";
import { StoreError } from "../database/store-error.ts";
import type { NotPromise, RunTransaction } from "../database/transaction.ts";
import { STATE_MIGRATIONS } from "../migrations/migrations.ts";
import { checkBeforeOpening } from "./start-check.ts";

/** `own`: state.db exists. `copy`: its copy replaced it. `none`: state.db is missing. */
export type StateOrigin = "own" | "copy" | "none";

/**
 * Replaces state.db with its copy if state.db is damaged, missing, or older than the copy, i.e. lost
 * confirmed changes. If state.db is damaged and has no usable copy, an empty one replaces it. Throws
 * StoreError `CORRUPT` if state.db is damaged, unless `mayMove` permits moving it aside.
 */
export function repairState(paths: Paths, mayMove: boolean, log: Log, now: number): StateOrigin {
  const [own, copy] = [look(paths.state), look(paths.stateCopy)];
  const isCopyNewer = copy !== null && copy.changes > (own?.changes ?? -1);
  if (!isCopyNewer && (own === null || own.fault === null)) {
    // Delete a damaged copy. It is written again once state.db is open.
    if (copy?.fault != null) rmSync(paths.stateCopy);
    return own === null ? "none" : "own";
  }
  if (own?.fault != null && !mayMove) throw own.fault;
  const state = stateOf(isCopyNewer ? readFileSync(paths.stateCopy) : null);
  // Ids that were reserved after the copy was made are missing from it. Ids are times in epoch ms, so
  // reserve all ids up to the present time.
  state.run("UPDATE event_marks SET value = max(value, ?) WHERE name = 'reserved'", [now]);
  const movedTo = putState(paths, state, "corrupt", now);
  const lacks = own === null ? "is missing" : "lost its last changes";
  const reason = own?.fault?.message ?? `${paths.state} ${lacks}`;
  if (isCopyNewer) log.error("state.db was restored from its copy, with the API keys", { reason, movedTo });
  else log.error(`The state is damaged and has no copy: ${WITHOUT_KEYS}`, { reason, movedTo, fix: BACKUP });
  return isCopyNewer ? "copy" : "own";
}

export const WITHOUT_KEYS = "a new one is created, without API keys";
export const BACKUP = "Stop licmond and put the last backup in its place (licmond restore FILE)";

/**
 * Returns how often keys and secrets changed in a state.db; -1 if the file is damaged, with the damage as
 * `fault`. Returns null if the file is missing or empty.
 */
function look(path: string): { readonly fault: StoreError | null; readonly changes: number } | null {
  if (fileSize(path) === 0) return null;
  try {
    checkBeforeOpening(path, STATE_MIGRATIONS, true);
    return { fault: null, changes: markOf(path, "changes") };
  } catch (error) {
    if (error instanceof StoreError && error.code === "CORRUPT") return { fault: error, changes: -1 };
    throw error;
  }
}

export function markOf(path: string, name: "changes" | "reserved"): number {
  if (fileSize(path) === 0) return 0;
  using sqlite = openReader(path);
  return schemaVersion(sqlite) === 0 ? 0 : markIn(sqlite, name);
}

function markIn(sqlite: Database, name: "changes" | "reserved"): number {
  const query = sqlite.query<{ value: number }, [string]>("SELECT value FROM event_marks WHERE name = ?");
  return query.get(name)?.value ?? 0;
}

/**
 * Writes a state from memory over state.db and its copy, and closes `state`. Returns the path to which the
 * old state.db was moved; if `word` is null, the old one is deleted.
 */
export function putState(
  paths: Paths,
  state: Database,
  word: "corrupt" | "replaced" | null,
  now: number,
): string | null {
  const bytes = state.serialize();
  state.close();
  const put = (target: string, aside: typeof word) => {
    const fresh = `${target}.restoring`;
    makeFresh(fresh);
    writeFileSync(fresh, bytes);
    return exchange(fresh, target, aside, now);
  };
  const movedTo = put(paths.state, word);
  put(paths.stateCopy, null);
  return movedTo;
}

export interface CarriedOver {
  /**
   * Names of keys that were active in the backup and have been revoked since the backup; these keys stay
   * revoked.
   */
  readonly revoked: readonly string[];
  readonly lost: readonly string[];
}

/**
 * Moves the state that a licmond.db contains (a backup, or a database of 0.1) to state.db, carrying over
 * revocations and ids from the present state.db. Can be repeated. `history` is null if the file cannot be
 * read. `isRestored`: the file comes from a backup; it is not the one that was in use.
 */
export function takeInState(
  paths: Paths,
  history: Database | null,
  isRestored: boolean,
  now: number,
): CarriedOver {
  const state = stateIn(history, paths.history);
  const names = history === null ? [] : tableNames(history);
  const isBackup = state !== null && names.includes("key_uses");
  const isOther = isRestored || isBackup;
  // Without a record of reserved ids, assume that all ids up to now are reserved.
  const given = isOther ? markOf(paths.state, "reserved") || now : 0;
  if (history !== null && isOther) forgetFleet(history, names);
  if (state === null) {
    if (history !== null && isOther) markHole(history, given);
    return { revoked: [], lost: [] };
  }
  const carried = carryOver(state, paths.state, given, !isOther);
  if (history !== null && isOther) markHole(history, markIn(state, "reserved"));
  putState(paths, state, isOther ? "replaced" : null, now);
  // Keep the rows of a database of 0.1: the migration removes them, and until then 0.1 may be started with
  // this file.
  if (history !== null && isBackup) dropState(history);
  else if (history !== null && names.includes("event_marks")) carryOver(history, paths.state, 0, false);
  return carried;
}

/**
 * Carries over revocations and reserved event ids from the state.db at `path`, which any version may have
 * written. `all` also carries over every row that exists only there, because a licmond.db of 0.1 deleted no
 * rows.
 */
export function carryOver(state: Database, path: string, given: number, all: boolean): CarriedOver {
  type KeyRow = { id: string; name: string; revoked_at: number | null };
  const keysOf = (sqlite: Database) =>
    sqlite.query<KeyRow, []>("SELECT id, name, revoked_at FROM api_keys ORDER BY created_at").all();
  const names = (keys: readonly KeyRow[]) => keys.map(({ name }) => name);
  using present =
    fileSize(path) === 0 ? stateOf(null) : new Database(path, { readwrite: true, strict: true });
  if (all) {
    migrate(state, "state.db", STATE_MIGRATIONS);
    putRows(state, readRows(present, IN_COPY));
  }
  const known = new Map(keysOf(state).map((key) => [key.id, key.revoked_at]));
  const revoked = keysOf(present).filter((key) => key.revoked_at !== null && known.get(key.id) === null);
  for (const key of revoked) revoke(state, key);
  const lost = keysOf(present).filter((key) => key.revoked_at === null && !known.has(key.id));
  const highest = (name: "changes" | "reserved") => Math.max(markIn(present, name), markIn(state, name));
  const set = state.query("INSERT OR REPLACE INTO event_marks (name, value) VALUES (?, ?)");
  set.run("reserved", Math.max(highest("reserved"), given));
  // The counter must exceed that of the copy; otherwise the copy would replace this state.
  set.run("changes", highest("changes") + 1);
  return { revoked: names(revoked), lost: names(lost) };
}

/**
 * Makes the hub treat this as another database, because ids are reused. The next start begins a new epoch.
 */
function forgetFleet(sqlite: Database, names: readonly string[]): void {
  if (names.includes("fleet_marks")) sqlite.run("DELETE FROM fleet_marks; DELETE FROM fleet_outbox;");
}

/**
 * Records events up to `last` as missing, so that a client that resumes from one of these events is
 * informed.
 */
function markHole(sqlite: Database, last: number): void {
  if (!tableNames(sqlite).includes("event_holes")) return;
  sqlite.run(
    `INSERT OR REPLACE INTO event_holes (from_id, to_id)
       SELECT ifnull(max(id), 0) + 1, ?1 FROM events HAVING ifnull(max(id), 0) < ?1`,
    [last],
  );
}

/**
 * Delay between a change that is not about keys and the copy, so that several changes share one copy. A
 * copy takes about 5 ms with 1,000 keys.
 */
const COPY_MS = 1_000;

/** `state.db`: keys, secrets, alerts, the reserve of ids, and the newest audit lines for a new licmond.db. */
export function createStateFile(file: DatabaseFile, copyPath: string, log: Log) {
  const { path, sqlite, transaction } = file;
  let timer: Timer | null = null;
  let isFailing = false;

  const changes = sqlite.query<{ value: number }, []>("SELECT value FROM event_marks WHERE name = 'changes'");
  const version = () => changes.get()?.value ?? 0;
  const count = (into: Database) =>
    into.run(
      "INSERT INTO event_marks VALUES ('changes', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1",
    );

  /**
   * Replaces the copy. Every row is read for the new copy, so damage makes this fail and the good copy
   * stays.
   */
  function copy(): void {
    const part = `${copyPath}-${process.pid}`;
    for (let isNewest = false; !isNewest; ) {
      const before = version();
      makeFresh(part);
      file.read(() => copyState(sqlite, part));
      syncToDisk(part);
      // Rename under the write lock, because a command next to the daemon may have made a newer copy.
      isNewest = transaction(() => {
        if (version() !== before) return false;
        renameSync(part, copyPath);
        return true;
      });
    }
    syncToDisk(dirname(path));
    if (timer !== null) clearTimeout(timer);
    timer = null;
  }

  /**
   * Applies a change to the existing copy, for when a new copy cannot be made, e.g. because state.db is
   * damaged. If that fails, too, deletes the copy.
   */
  function changeCopy(work: (sqlite: Database) => void): void {
    try {
      using other = new Database(copyPath, { readwrite: true, strict: true });
      other.run("PRAGMA synchronous = FULL");
      other
        .transaction(() => {
          work(other);
          count(other);
        })
        .immediate();
    } catch {
      // Delete the outdated copy, which would make a revoked key valid again.
      rmSync(copyPath, { force: true });
    }
  }

  function attemptCopy(): boolean {
    try {
      copy();
      if (isFailing) log.info("The copy of the state is written again");
      isFailing = false;
      return true;
    } catch (error) {
      // Do not report locks of other programs, which are temporary.
      if (!isFailing && !isBusy(error))
        log.warn("The copy of the state could not be written", { error: messageOf(error) });
      isFailing ||= !isBusy(error);
      return false;
    }
  }

  function copySoon(): void {
    timer ??= setTimeout(() => {
      timer = null;
      if (!attemptCopy()) copySoon();
    }, COPY_MS);
  }

  return {
    ...file,
    /**
     * Changes keys or secrets in one transaction. Returns when the change is on disk in state.db and its
     * copy. `work` may run again on the copy, so it must be deterministic. Throws StoreError.
     */
    change<T>(work: (sqlite: Database) => NotPromise<T>): T {
      const counted = () => {
        count(sqlite);
        return work(sqlite);
      };
      const result = transaction<T>(counted, { durable: true });
      if (!attemptCopy()) changeCopy(work);
      return result;
    },
    /** Changes other rows in one transaction; the copy follows within a second. Throws StoreError. */
    write: ((work, options) => {
      const result = transaction(work, options);
      copySoon();
      return result;
    }) as RunTransaction,
    copyIfOld(): void {
      if (markOf(copyPath, "changes") !== version()) attemptCopy();
    },
    close(isLast: boolean): void {
      if (timer !== null) attemptCopy();
      if (timer !== null) clearTimeout(timer);
      file.close(isLast);
    },
  };
}
