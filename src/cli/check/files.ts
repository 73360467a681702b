import { accessSync, constants, readdirSync, statfsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { diskLevel } from "../../alerts/rules.ts";
import { locate } from "../../collector/tool.ts";
import { type AlertOverride, type Config, guardedFiles, secretFiles } from "../../config/config.ts";
import { credentialOfPath } from "../../config/credentials.ts";
import type { Environment } from "../../config/environment.ts";
import { globPattern } from "../../domain/plain-text.ts";
import { builtInManager } from "../../managers/registry.ts";
import { withDatabase } from "../../store/database/read-only.ts";
import { errorCode, StoreError } from "../../store/database/store-error.ts";
import { inspectDatabase } from "../../store/open/start-check.ts";
import type { StatFs } from "../../system/host-metrics.ts";
import { daemonGroups, exposureOf, exposureWords } from "../../system/secret-file.ts";
import type { Report } from "../terminal.ts";

export interface Look {
  readonly config: Config;
  readonly file: string | null;
  readonly env: Environment;
  readonly now: number;
  readonly report: Report;
}

export function checkExposed({ config, file, env, report }: Look, groups = daemonGroups()): void {
  for (const { setting, file: path, kind } of guardedFiles(config, file, env)) {
    const exposure = exposureOf(path, kind, groups);
    if (exposure !== null) report.warning(setting, exposureWords(exposure));
  }
}

export function checkFiles({ config, env, report }: Look): void {
  const check = (what: string, file: string, shown: string, fix: string) => {
    const why = whyUnreadable(file);
    const allow = "let this user read it, or run `sudo licmond check`";
    if (why === null) report.fine(what, "is readable");
    else report.problem(what, `${shown} ${why}`, why === MISSING ? fix : allow);
  };
  for (const { id, manager, logFile, logCommand } of config.servers) {
    const debugLog = builtInManager(manager)?.debugLog;
    if ((logFile ?? logCommand) !== null && debugLog?.experimental)
      report.warning(
        `${id}: ${logFile === null ? "log_command" : "log_file"}`,
        `${debugLog.title}: experimental; its messages are undocumented, please send us a sample`,
      );
    const fix =
      "correct log_file, or have the vendor daemon write its debug log there (DEBUGLOG in its options file)";
    if (logFile !== null) check(`${id}: log_file`, logFile, logFile, fix);
    const [program = ""] = logCommand ?? [];
    if (logCommand === null) continue;
    const path = locate(program, env.PATH ?? "");
    const why = path === null ? "is not in $PATH" : whyUnreadable(path, constants.X_OK);
    if (why === null) report.fine(`${id}: log_command`, "its program exists");
    else report.problem(`${id}: log_command`, `${program} ${why}`, "install it, or correct log_command");
  }
  for (const { id, caFile } of config.servers)
    if (caFile !== null && credentialOfPath(caFile, env) === null)
      check(
        `${id}: ca_file`,
        caFile,
        caFile,
        "correct ca_file, or write the authority's certificate there (PEM)",
      );
  for (const [what, file] of secretFiles(config)) {
    const fix = `correct ${what.slice(what.search(/\w+$/))}, or write the secret there, on one line`;
    // Do not print the path of a secret: the path may reveal something, and may lead to a wrong file.
    if (credentialOfPath(file, env) === null) check(what, file, "the file", fix);
  }
}

const MISSING = "does not exist";

/** Returns the reason why this user cannot access the file in this mode; null if the user can. */
export function whyUnreadable(file: string, mode = constants.R_OK): string | null {
  try {
    accessSync(file, mode);
    return null;
  } catch (error) {
    const verb = mode === constants.R_OK ? "read" : "run";
    return errorCode(error) === "ENOENT" ? MISSING : `cannot be ${verb} by this user`;
  }
}

const WHAT = "storage";
const ANOTHER = "set storage.directory to another";

/**
 * Checks whether the storage directory is writable, which files it contains, and how much space is free.
 * Creates nothing.
 */
export function checkStorage({ config, report }: Look, statFs: StatFs = statfsSync) {
  const { directory } = config.storage;
  const exists = isThere(directory);
  const trouble = exists ? troubleIn(directory) : troubleAbove(directory);
  if (trouble !== null) return report.problem(WHAT, ...trouble);
  report.fine(WHAT, exists ? `${directory} is writable` : `${directory} will be created`);
  if (exists) checkDatabase(directory, report);
  checkRoom(directory, statFs(exists ? directory : dirname(directory)), report);
}

/** Returns true also for a directory that this user cannot look at. */
function isThere(directory: string): boolean {
  try {
    return statSync(directory, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

type Trouble = readonly [message: string, fix: string] | null;

function troubleIn(directory: string): Trouble {
  try {
    if (!statSync(directory).isDirectory())
      return [`${directory} is not a directory`, "set storage.directory to a directory"];
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    if (errorCode(error) === "EROFS") return onReadOnlyMount(directory);
    const fix = `change its owner to the daemon's user (chown licmond:licmond ${directory}), or ${ANOTHER}`;
    return [`${directory} cannot be written by this user`, fix];
  }
  // Find files that were left by a daemon or a copy that ran as root. Ignore other files next to the
  // database, which come and go.
  const ownerOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.uid ?? owner;
  const owner: number = statSync(directory).uid;
  const own = readdirSync(directory).filter((name) => /^(licmond|state)\./.test(name));
  const foreign = own.filter((name) => ownerOf(join(directory, name)) !== owner);
  if (foreign.length === 0) return null;
  const belong = `${foreign.join(", ")} in ${directory} ${foreign.length === 1 ? "belongs" : "belong"}`;
  const message = `${belong} to a different user than the directory: the daemon cannot write there`;
  return [message, `chown -R --reference=${directory} ${directory}`];
}

function troubleAbove(directory: string): Trouble {
  const parent = dirname(directory);
  const cannot = `${directory} does not exist and cannot be created`;
  try {
    accessSync(parent, constants.W_OK | constants.X_OK);
    // /proc and /sys are writable for root, but take no new directories.
    const isSpecial = (statSync(parent).mode & 0o222) === 0;
    return isSpecial ? [`${cannot}: ${parent} does not support new directories`, ANOTHER] : null;
  } catch (error) {
    if (errorCode(error) === "EROFS") return onReadOnlyMount(parent);
    return [`${cannot} by this user`, `create it for the daemon's user, or ${ANOTHER}`];
  }
}

function onReadOnlyMount(path: string): Trouble {
  const message = `${path} is on a read-only file system (EROFS)`;
  return [message, `mount it writable (mount -o remount,rw), or ${ANOTHER}`];
}

function checkDatabase(directory: string, report: Report): void {
  try {
    const versions = inspectDatabase(directory);
    if (versions === null || versions.schema === null || versions.schema === versions.current) return;
    const older = `the database is from an older version (schema ${versions.schema}; this version has ${versions.current})`;
    report.warning(WHAT, `${older}: the daemon backs it up and migrates it when it starts`);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    report.problem(WHAT, error.message, error.fix);
  }
}

/**
 * Free space below which the check warns, or reports a problem. The write-ahead log and a copy before a
 * migration can fill such a space quickly.
 */
const LITTLE_BYTES = 512 * 1024 * 1024;
const TOO_LITTLE_BYTES = 64 * 1024 * 1024;

/** Applies the limits of the disk alert, and warns about a small disk. */
function checkRoom(directory: string, room: ReturnType<StatFs>, report: Report): void {
  const taken = room.blocks - room.bfree;
  const whole = taken + room.bavail;
  const free = room.bavail * room.bsize;
  // Skip file systems that report no size.
  if (whole <= 0) return;
  const used = (taken / whole) * 100;
  const level = diskLevel(used);
  if (level === 0 && free >= LITTLE_BYTES) return;
  const message = `the file system of ${directory} is ${used.toFixed(1)} % full, ${Math.floor(free / 1e6)} MB are free`;
  const fix = "free space, set storage.directory to another file system, or keep less ([retention])";
  if (level < 2 && free >= TOO_LITTLE_BYTES) report.warning(WHAT, message);
  else report.problem(WHAT, message, fix);
}

/**
 * Reads from the database. Returns null if the database does not exist, or if the check of the storage
 * directory reports a problem.
 */
export async function fromDatabase<T>(
  directory: string,
  read: Parameters<typeof withDatabase<T>>[1],
): Promise<T | null> {
  try {
    return await withDatabase(directory, read);
  } catch (error) {
    if (error instanceof StoreError) return null;
    throw error;
  }
}

type Seen = Readonly<Record<"server" | "daemon" | "feature", string>>;

/**
 * Warns about names in the config that match nothing, because a mistyped name has no effect and causes no
 * error.
 */
export async function checkNames({ config, report }: Look): Promise<void> {
  const { alerts, maintenance, servers, storage } = config;
  const isServer = (glob: string) => servers.some(({ id }) => globPattern(glob).test(id));
  const sql = "SELECT server_id AS server, daemon, name AS feature FROM history_features";
  const seen = await fromDatabase(storage.directory, async (sqlite) => sqlite.query<Seen, []>(sql).all());
  for (const [index, override] of alerts.overrides.entries()) {
    const { server } = override;
    const path = `alerts.overrides[${index}]`;
    if (server !== null && !isServer(server))
      report.warning(path, `has no effect: unknown server "${server}"`);
    // Compare only if any features were seen so far. Warn only, because other features may still appear.
    else if (seen?.length && !seen.some((one) => fits(override, one)))
      report.warning(path, `matches nothing seen so far: ${inWords(override)}`);
  }
  for (const [index, { servers: globs }] of maintenance.entries())
    for (const glob of globs.filter((each) => each !== "*" && !isServer(each)))
      report.warning(`maintenance[${index}]`, `unknown server "${glob}"`);
}

function fits({ server, daemon, feature }: AlertOverride, seen: Seen): boolean {
  const isNamed = (glob: string | null, name: string) => glob === null || globPattern(glob).test(name);
  // An override without daemon and feature applies to the server itself.
  if (daemon === null && feature === null) return true;
  return isNamed(server, seen.server) && isNamed(daemon, seen.daemon) && isNamed(feature, seen.feature);
}

function inWords({ server, daemon, feature }: AlertOverride): string {
  const named = Object.entries({ server, daemon, feature }).filter(([, glob]) => glob !== null);
  return named.map(([part, glob]) => `${part} "${glob}"`).join(", ");
}
