import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { printBytes } from "../../domain/bytes.ts";
import type { Log } from "../../domain/log.ts";
import {
  asideName,
  makeFresh,
  makePrivateFile,
  type Paths,
  removeDatabase,
  requireSpace,
  syncToDisk,
} from "../database/files.ts";
import { copyBoth } from "../database/precious.ts";
import { bytesInUse } from "../database/read-only.ts";
import { asStoreError } from "../database/store-error.ts";

interface Upgrade {
  readonly from: number;
  readonly stateFrom: number;
  readonly to: number;
}

const markOf = (paths: Paths) => `${paths.history}.upgrade-begun`;

const KEPT = 2;

/**
 * Copies the databases before their schema is changed (`licmond.db.schema-<n>-<time>`), and removes the
 * oldest copies. An upgrade that was killed continues with the copy that it made first. Throws StoreError
 * before anything has been changed.
 */
export function copyBeforeUpgrade(paths: Paths, upgrade: Upgrade, now: number, log: Log): void {
  const begunWith = copyOfUnfinished(paths, upgrade);
  if (begunWith !== null) {
    log.info("The upgrade of the schema continues", { next: upgrade.to, copy: begunWith });
    return;
  }
  const directory = dirname(paths.history);
  const bytes = bytesInUse(paths.history);
  requireSpace(
    directory,
    bytes,
    "The upgrade needs that copy first. Nothing was changed, so the previous licmond still works. Free space on the " +
      "file system, or upgrade without a copy (storage.backup_before_upgrade = false).",
  );
  const name = asideName(paths.history, `schema-${upgrade.from}`, now);
  log.info("The database is copied before the upgrade of its schema", {
    schema: upgrade.from,
    next: upgrade.to,
    size: printBytes(bytes),
    file: name,
  });
  const part = `${paths.history}.upgrading`;
  try {
    makeFresh(part);
    copyBoth(paths, part);
    syncToDisk(part);
    renameSync(part, name);
    markUnfinished(paths, upgrade, name);
    syncToDisk(directory);
  } catch (error) {
    removeDatabase(part);
    throw asStoreError(error, part) ?? error;
  }
  for (const file of copiesOf(paths.history).slice(KEPT)) {
    rmSync(file, { force: true });
    log.info("An old copy from before an upgrade was removed", { file });
  }
}

function markUnfinished(paths: Paths, { from, stateFrom }: Upgrade, copy: string): void {
  const mark = markOf(paths);
  rmSync(mark, { force: true });
  makePrivateFile(mark);
  writeFileSync(mark, `${from} ${stateFrom} ${basename(copy)}\n`);
  syncToDisk(mark);
}

/**
 * Returns the copy with which an unfinished upgrade began. Returns null if the databases still have their
 * old schemas. They are then copied again, because an older licmond may have written to them.
 */
function copyOfUnfinished(paths: Paths, { from, stateFrom }: Upgrade): string | null {
  if (!existsSync(markOf(paths))) return null;
  const [, before, stateBefore, name = ""] =
    /^(\d+) (\d+) (.+)\n$/.exec(readFileSync(markOf(paths), "utf8")) ?? [];
  const hasBegun = from > Number(before) || stateFrom > Number(stateBefore);
  const copy = join(dirname(paths.history), name);
  return hasBegun && copiesOf(paths.history).includes(copy) ? copy : null;
}

export function upgradeFinished(paths: Paths): void {
  rmSync(markOf(paths), { force: true });
}

/**
 * Returns the existing copies, newest first. The order is that of the times in their names, which stay when
 * files are copied.
 */
export function copiesOf(path: string): string[] {
  const stampOf = (name: string) => /\.schema-\d+-(\d{8}T\d{6}Z.*)$/.exec(name)?.[1] ?? "";
  return readdirSync(dirname(path))
    .filter((name) => name.startsWith(`${basename(path)}.schema-`) && stampOf(name) !== "")
    .sort((a, b) => (stampOf(a) < stampOf(b) ? 1 : -1))
    .map((name) => join(dirname(path), name));
}
