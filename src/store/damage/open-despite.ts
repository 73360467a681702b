import { statSync } from "node:fs";
import { iso } from "../../domain/clock.ts";
import type { Log } from "../../domain/log.ts";
import type { Migration } from "../migrations.ts";
import { corrupt, StoreError } from "../store-error.ts";
import type { Vital, VitalFile } from "../vital/file.ts";
import { isWalReadable } from "./header.ts";
import type { DamageMark } from "./mark.ts";
import { replaceDamaged } from "./replace.ts";
import { setWalAside } from "./set-aside.ts";
import { checkBeforeOpening } from "./start-check.ts";

export interface OpenDespiteDeps {
  readonly path: string;
  readonly log: Log;
  readonly migrations: readonly Migration[];
  readonly mark: DamageMark;
  readonly vital: VitalFile;
  /** Damage that was met just now: nothing has to be looked for. */
  readonly known: StoreError | null;
  /** Called before the whole file of so many bytes is read. */
  readonly onCheck: (bytes: number) => void;
  readonly now: number;
}

export interface Opened<T> {
  readonly opened: T;
  /** What was committed last may be missing, keys and revocations among it. */
  readonly hasLostCommits: boolean;
}

/**
 * Opens a database that may be damaged: then it is moved aside, and a new one with what could be rescued is opened.
 * The caller holds the directory. Throws StoreError, also what `open` throws of another kind than damage.
 */
export function openDespiteDamage<T>(deps: OpenDespiteDeps, open: () => T): Opened<T> {
  const { path, log, migrations, mark, now } = deps;
  let damage: StoreError;
  try {
    if (deps.known !== null) throw deps.known;
    const hasLostCommits = look(deps);
    return { opened: open(), hasLostCommits };
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== "CORRUPT") throw error;
    damage = error;
  }
  const copy = deps.vital.read();
  const { aside, rescued, givenBack } = replaceDamaged(path, migrations, now, copy.vital);
  mark.remove();
  const opened = open();
  log.error("The database is damaged: it was moved aside, and licmond goes on with a new one", {
    reason: damage.message,
    movedTo: aside,
    rescued: list(rescued),
    fromSideCopy: list(givenBack),
    sideCopy: tellCopy(copy),
    fix: "Stop licmond and put the last backup in its place (licmond restore FILE), or go on; then move the damaged files away",
  });
  return { opened, hasLostCommits: false };
}

function list(rows: Readonly<Record<string, number>>): string {
  const taken = Object.entries(rows);
  return taken.length === 0 ? "nothing" : taken.map(([name, count]) => `${count} ${name}`).join(", ");
}

function tellCopy({ vital, fault }: { vital: Vital | null; fault: string | null }): string {
  if (vital !== null) return `of ${iso(vital.writtenAt)}`;
  return fault === null ? "there is none" : `not used: ${fault}`;
}

/**
 * Looks for damage before anything is written. What begins well and is found damaged later leaves a mark for this.
 * Answers whether a write-ahead log was lost.
 */
function look({ path, log, migrations, mark, vital, onCheck, now }: OpenDespiteDeps): boolean {
  const met = mark.read();
  if (met !== null) {
    log.warn("Damage of the database was met before: all of it is read now", { met });
    onCheck(fileSize(path));
  }
  if (isEmptied(path, vital)) throw corrupt(`The database ${path} is empty, and was not`);
  const walFault = faultOfWal(path);
  checkBeforeOpening(path, migrations, met !== null);
  if (met !== null) log.warn("The database was read and is whole: licmond goes on with it", { met });
  mark.remove();
  if (walFault === null) return false;
  log.error("The write-ahead log of the database was moved aside: what was stored last is missing", {
    reason: walFault,
    movedTo: setWalAside(path, now),
  });
  return true;
}

/** A file that lost all its bytes. One that is not there was taken away by somebody, who wants a new one. */
function isEmptied(path: string, vital: VitalFile): boolean {
  if (statSync(path, { throwIfNoEntry: false })?.size !== 0 || fileSize(`${path}-wal`) > 0) return false;
  return (vital.read().vital?.rows.api_keys ?? []).length > 0;
}

/** Why SQLite would silently throw a write-ahead log away; null when it would not. */
function faultOfWal(path: string): string | null {
  if (!isWalReadable(`${path}-wal`)) return "its header is damaged";
  return fileSize(path) === 0 && fileSize(`${path}-wal`) > 0
    ? "the database it belongs to is not there"
    : null;
}

function fileSize(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
