import { Database } from "bun:sqlite";
import { existsSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import type { Log } from "../../domain/log.ts";
import { openConnection } from "../database/database-file.ts";
import {
  exchange,
  fileSize,
  makeFresh,
  type Paths,
  removeDatabase,
  removeLeftovers,
} from "../database/files.ts";
import { migrate, schemaVersion } from "../database/migrate.ts";
import { AUDIT, moveAlerts, putRows, readRows } from "../database/precious.ts";
import { tableNames } from "../database/read-only.ts";
import { StoreError } from "../database/store-error.ts";
import { ALERTS_MOVED, MIGRATIONS, type Migration, STATE_MIGRATIONS } from "../migrations/migrations.ts";
import { copyBeforeUpgrade, upgradeFinished } from "./before-upgrade.ts";
import { checkBeforeOpening, damageMet, forgetDamage } from "./start-check.ts";
import { BACKUP, markOf, repairState, takeInState, WITHOUT_KEYS } from "./state.ts";

export interface PrepareOptions {
  readonly log: Log;
  readonly migrations?: readonly Migration[];
  /**
   * How to handle a damaged file: fail with `CORRUPT` (default), or move it aside and continue with the
   * copy of state.db or with a new licmond.db.
   */
  readonly damaged?: "refuse" | "move-aside";
  readonly backUpBeforeUpgrade?: boolean;
  readonly onProgress?: (step: OpeningStep, bytes: number) => void;
  readonly now?: () => number;
}

export type OpeningStep = "check" | "copy" | "upgrade";

export interface Prepared {
  readonly history: Database;
  readonly state: Database;
  readonly notice: string | null;
}

/**
 * Repairs, upgrades and opens both files. Each step can be repeated after `kill -9`. The caller holds the
 * lock. Throws StoreError.
 */
export function prepareFiles(paths: Paths, options: PrepareOptions): Prepared {
  const { log, migrations = MIGRATIONS } = options;
  const now = (options.now ?? Date.now)();
  const mayMove = options.damaged === "move-aside";
  const leftovers = removeLeftovers(dirname(paths.history));
  if (leftovers.length > 0)
    log.warn("Removed unfinished files of a killed licmond", { files: leftovers.join(", ") });
  const [isMissing, isStateMissing] = [fileSize(paths.history) === 0, fileSize(paths.state) === 0];
  const origin = repairState(paths, mayMove, log, now);
  const damage = mayMove ? damageOf(paths.history, migrations, options) : null;
  if (origin === "none" && (damage !== null || isMissing)) takeInState(paths, null, false, now);
  const hasBegunAnew = damage !== null || (isMissing && existsSync(paths.state));
  if (hasBegunAnew) {
    const movedTo = beginAnew(paths, migrations, now);
    log.error("The database is damaged or missing: continuing with a new one, history is lost", {
      reason: damage?.message ?? `${paths.history} is missing`,
      movedTo,
      kept: "API keys, alerts, the newest lines of the audit trail",
      fix: `${BACKUP}, or go on; then move the damaged files away`,
    });
  }
  const hasMetDamage = mayMove && damageMet(paths.history) !== null;
  if (mayMove) forgetDamage(paths.history);
  const opened = bringUpToDate(paths, migrations, now, options);
  if (hasMetDamage) removeDamagedEvents(opened.history, log);
  // Databases that were moved aside need no notice here, because the health check detects them.
  let notice: string | null = null;
  if (isMissing && hasBegunAnew) notice = "The database was missing: a new one was created";
  else if (isStateMissing && origin === "copy")
    notice = "state.db was missing: it was restored from its copy";
  return { ...opened, notice };
}

/** Returns the damage that requires moving licmond.db aside; null if it is intact or missing. */
function damageOf(path: string, migrations: readonly Migration[], { log, onProgress }: PrepareOptions) {
  const met = damageMet(path);
  if (met !== null) {
    log.warn("Damage was found in the database before: checking it completely", { met });
    onProgress?.("check", fileSize(path));
  }
  try {
    checkBeforeOpening(path, migrations, met !== null);
  } catch (error) {
    if (error instanceof StoreError && error.code === "CORRUPT") return error;
    throw error;
  }
  if (met !== null) log.warn("The database was checked completely and is intact", { met });
  return null;
}

/**
 * Replaces a damaged or missing licmond.db with a new one that has the audit lines of state.db. The new
 * file is completed before it is put in place, so that a killed process does not lose these lines.
 */
function beginAnew(paths: Paths, migrations: readonly Migration[], now: number): string | null {
  const fresh = `${paths.history}.rescuing`;
  const deleted = Math.max(markOf(paths.state, "reserved"), now);
  using state = existsSync(paths.state) ? openConnection(paths.state, STATE_MIGRATIONS, null) : null;
  makeFresh(fresh);
  const sqlite = new Database(fresh, { readwrite: true, strict: true });
  try {
    // Safe without a journal on disk: an incomplete file is discarded, and a complete file is synced before
    // it is put in place.
    sqlite.run("PRAGMA journal_mode = MEMORY");
    migrate(sqlite, fresh, migrations);
    if (state !== null) putRows(sqlite, readRows(state, AUDIT));
    sqlite.run(
      `INSERT INTO event_marks (name, value) VALUES ('deleted_logs', ?1), ('deleted_events', ?1),
         ('log_bytes', (SELECT ifnull(sum(length(body)), 0) FROM events))`,
      [deleted],
    );
    countLogs(sqlite);
    sqlite.close();
    return exchange(fresh, paths.history, "corrupt", now);
  } catch (error) {
    sqlite.close();
    removeDatabase(fresh);
    throw error;
  }
}

function countLogs(sqlite: Database): void {
  sqlite.run(
    `INSERT INTO log_counts (hour, level, source, count)
       SELECT at / 3600000 * 3600000, level, source, count(*) FROM events WHERE type = 'log' GROUP BY 1, 2, 3`,
  );
}

/**
 * Removes events with damaged text, because every answer with such an event would fail. SQLite does not
 * detect this damage.
 */
function removeDamagedEvents(history: Database, log: Log): void {
  const remove = history.transaction(() => {
    const { changes } = history.run("DELETE FROM events WHERE json_valid(body) IS NOT 1");
    if (changes > 0) {
      history.run("DELETE FROM log_counts");
      countLogs(history);
    }
    return changes;
  });
  const events = remove.immediate();
  if (events > 0) log.error("Damaged events were removed", { events });
}

function bringUpToDate(
  paths: Paths,
  migrations: readonly Migration[],
  now: number,
  { log, onProgress, backUpBeforeUpgrade: isBackedUp = true }: PrepareOptions,
) {
  using opened = new DisposableStack();
  const history = opened.use(openConnection(paths.history, migrations, log));
  takeInState(paths, history, false, now);
  const state = opened.use(openConnection(paths.state, STATE_MIGRATIONS, log));
  const [from, stateFrom] = [schemaVersion(history), schemaVersion(state)];
  if (stateFrom === 0 && tableNames(history).includes("key_uses"))
    log.error(`state.db and its copy are missing: ${WITHOUT_KEYS}`, { fix: BACKUP });
  const isStateOld = stateFrom > 0 && stateFrom < STATE_MIGRATIONS.length;
  if (from > 0 && (from < migrations.length || isStateOld)) {
    onProgress?.("copy", fileSize(paths.history));
    if (isBackedUp) copyBeforeUpgrade(paths, { from, stateFrom, to: migrations.length }, now, log);
    onProgress?.("upgrade", fileSize(paths.history));
  }
  migrate(state, paths.state, STATE_MIGRATIONS);
  if (from > 0 && from < ALERTS_MOVED && migrations.length >= ALERTS_MOVED) {
    migrate(history, paths.history, migrations.slice(0, ALERTS_MOVED - 1));
    moveAlerts(state, paths.history);
  }
  migrate(history, paths.history, migrations);
  upgradeFinished(paths);
  // Truncate the log, so that the file without its log is not an older one that still contains keys.
  if (from > 0 && from < migrations.length) history.run("PRAGMA wal_checkpoint(TRUNCATE)");
  rmSync(`${paths.history}.vital`, { force: true });
  opened.move();
  return { history, state };
}
