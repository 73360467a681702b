import { accessSync, constants, readdirSync, statfsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { diskLevel } from "../../alerts/rules.ts";
import { errorCode, StoreError } from "../../store/database/store-error.ts";
import { inspectDatabase } from "../../store/open/start-check.ts";
import type { Report } from "../terminal.ts";

const WHAT = "storage";

interface Trouble {
  readonly message: string;
  readonly fix: string;
}

/** Blocks of a file system, as statfs(2) tells them. */
export type StatFs = (
  path: string,
) => Pick<ReturnType<typeof statfsSync>, "blocks" | "bfree" | "bavail" | "bsize">;

/** The storage directory: that it can be written, by whom, what is in it, and how much room there is. Makes nothing. */
export function checkStorage(directory: string, report: Report, statFs: StatFs = statfsSync): void {
  const exists = isThere(directory);
  const hindered = exists ? obstacleIn(directory) : obstacleAbove(directory);
  if (hindered !== null) report.problem(WHAT, hindered.message, hindered.fix);
  else report.fine(WHAT, exists ? `${directory} can be written` : `${directory} will be made`);
  if (exists && hindered === null) tellDatabase(directory, report);
  const room = hindered === null ? statFs(exists ? directory : dirname(directory)) : null;
  if (room !== null) tellRoom(directory, room, report);
}

function isThere(directory: string): boolean {
  try {
    statSync(directory);
    return true;
  } catch (error) {
    return errorCode(error) !== "ENOENT";
  }
}

function fixOf(directory: string): string {
  return `give it to the user that runs the daemon (chown licmond:licmond ${directory}), or set storage.directory to another`;
}

function obstacleIn(directory: string): Trouble | null {
  try {
    if (!statSync(directory).isDirectory())
      return { message: `${directory} is not a directory`, fix: "set storage.directory to one" };
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    if (errorCode(error) === "EROFS") return onReadOnlyMount(directory);
    return { message: `${directory} cannot be written by this user`, fix: fixOf(directory) };
  }
  return strangers(directory);
}

function obstacleAbove(directory: string): Trouble | null {
  const parent = dirname(directory);
  try {
    accessSync(parent, constants.W_OK | constants.X_OK);
    if ((statSync(parent).mode & 0o222) !== 0) return null;
    // /proc and /sys: root may write there, and yet nothing can be made.
    const message = `${directory} does not exist and cannot be made: ${parent} takes no new directory`;
    return { message, fix: "set storage.directory to another" };
  } catch (error) {
    if (errorCode(error) === "EROFS") return onReadOnlyMount(parent);
    const message = `${directory} does not exist and cannot be made by this user`;
    return {
      message,
      fix: "make it and give it to the user that runs the daemon, or set storage.directory to another",
    };
  }
}

function onReadOnlyMount(path: string): Trouble {
  return {
    message: `${path} lies on a file system that is mounted read-only (EROFS)`,
    fix: "mount it writable (mount -o remount,rw), or set storage.directory to another",
  };
}

/** Files of another owner than their directory: left by a daemon that once ran as root, or by a copy made as root. */
function strangers(directory: string): Trouble | null {
  const owner = statSync(directory).uid;
  const strange = readdirSync(directory).filter((name) => {
    if (!/^(licmond|state)\./.test(name)) return false;
    try {
      return statSync(join(directory, name)).uid !== owner;
    } catch {
      // A file beside the database comes and goes with the daemon.
      return false;
    }
  });
  if (strange.length === 0) return null;
  const verb = strange.length === 1 ? "belongs" : "belong";
  return {
    message: `${strange.join(", ")} in ${directory} ${verb} to another user than the directory: the daemon cannot write`,
    fix: `chown -R --reference=${directory} ${directory}`,
  };
}

function tellDatabase(directory: string, report: Report): void {
  try {
    const versions = inspectDatabase(directory);
    if (versions === null || versions.schema === null || versions.schema === versions.current) return;
    report.warning(
      WHAT,
      `the database is an older licmond's (schema ${versions.schema}, this one has ${versions.current}): the daemon backs it up and migrates it when it starts`,
    );
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    report.problem(WHAT, error.message, error.fix);
  }
}

/** Room that the write-ahead log and a copy before a migration soon fill. */
const LITTLE_BYTES = 512 * 1024 * 1024;
const TOO_LITTLE_BYTES = 64 * 1024 * 1024;

/** The limits of the alert rule, before there is a daemon to fire it; and a disk that is small. */
function tellRoom(directory: string, room: ReturnType<StatFs>, report: Report): void {
  const taken = Number(room.blocks) - Number(room.bfree);
  const whole = taken + Number(room.bavail);
  const free = Number(room.bavail) * Number(room.bsize);
  // Some file systems tell nothing.
  if (whole <= 0) return;
  const used = (taken / whole) * 100;
  const level = diskLevel(used);
  if (level === 0 && free >= LITTLE_BYTES) return;
  const message = `the file system of ${directory} is ${used.toFixed(1)} % full, ${Math.floor(free / 1e6)} MB are free`;
  if (level < 2 && free >= TOO_LITTLE_BYTES) report.warning(WHAT, message);
  else
    report.problem(
      WHAT,
      message,
      "free space, set storage.directory to another file system, or keep less ([retention])",
    );
}
