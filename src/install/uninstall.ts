import { readdirSync, readFileSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { codeOf } from "../domain/error-code.ts";
import { isLicmondBinary } from "./files.ts";
import { type FileKind, kindOf, must, SERVICE_TIMEOUT_MS, serviceAccount, serviceState } from "./host.ts";
import {
  HUB_UNIT_NAME,
  type InstalledText,
  LAYOUT,
  manPageOf,
  originOf,
  SERVICE_NAME,
  TEXTS,
  UNIT_NAME,
} from "./layout.ts";
import { mayWrite, type Pass, runStep } from "./pass.ts";

export interface UninstallWanted {
  /** Config, data and user, too. */
  readonly purge: boolean;
  /** Also texts that were changed by hand. */
  readonly force: boolean;
  /** systemd runs on the host and can be asked. */
  readonly withSystemd: boolean;
  /** A storage directory of the config that is not the default one; it is never deleted. */
  readonly otherData: string | null;
}

const UNITS = [
  [UNIT_NAME, LAYOUT.unit],
  [HUB_UNIT_NAME, LAYOUT.hubUnit],
] as const;
/** By it a unit is enabled. */
const enabledLink = (unit: string) => `/etc/systemd/system/multi-user.target.wants/${unit}`;
/** What is not ours: its path, its name, and what is in it. */
const ADMINISTRATORS = [
  [`${LAYOUT.unit}.d`, "your drop-ins", "your drop-ins"],
  [`${LAYOUT.hubUnit}.d`, "your drop-ins", "your drop-ins"],
  [LAYOUT.configDirectory, "the config", "the config and its secrets"],
  [LAYOUT.data, "the database", "the database, with its history and keys"],
] as const;

/** Everything that `licmond uninstall` does, in order. */
export async function uninstall(pass: Pass, wanted: UninstallWanted): Promise<void> {
  const { purge, force, withSystemd, otherData } = wanted;
  for (const [unit, path] of UNITS) {
    if (withSystemd) await stopService(pass, unit, path);
    else await removeOurs(pass, enabledLink(unit), "a link", (_, kind) => kind === "symlink");
  }
  for (const text of [...TEXTS, manPageOf("")]) await removeText(pass, text, force);
  await removeOurs(pass, LAYOUT.binary, "a licmond", isBinary);
  await removeOurs(pass, LAYOUT.previousBinary, "a licmond", isBinary);
  if (withSystemd) await forgetUnit(pass);
  for (const [path, what, whole] of ADMINISTRATORS)
    await (purge ? deleteTree(pass, path, `delete ${whole}`) : leave(pass, path, what));
  if (pass.root === null) await settleUser(pass, purge);
  if (otherData !== null) await leave(pass, otherData, "the database");
}

/** Stops the service and its start at boot. A package's unit of that name is not ours to stop. */
async function stopService(pass: Pass, unit: string, path: string): Promise<void> {
  const line = `systemctl disable --now ${unit}`;
  if (kindOf(pass.at(path)) !== "file") return pass.fine(line, `there is no ${path}`);
  const { isActive, isEnabled } = await serviceState(pass.run, unit);
  if (!isActive && !isEnabled) return pass.fine(line, "it neither runs nor is enabled");
  const what = isActive ? "stop it, now and at boot" : "start it no more at boot";
  await runStep(pass, line, what, SERVICE_TIMEOUT_MS);
}

/** Lets systemd forget the unit, and that it ever failed. */
async function forgetUnit(pass: Pass): Promise<void> {
  const line = "systemctl daemon-reload";
  const removed = UNITS.filter(([, path]) => pass.changed(path));
  if (removed.length === 0) return pass.fine(line, "no unit was removed");
  await pass.change(line, "let systemd forget the units", async () => {
    await must(pass.run, line);
    // It fails when there is nothing to reset.
    for (const [unit] of removed) await pass.run(["systemctl", "reset-failed", unit]);
  });
}

/** Removes what lies there when it is ours; anything else stays, and is not `what` it should be. */
async function removeOurs(
  pass: Pass,
  path: string,
  what: string,
  isOurs: (file: string, kind: FileKind) => boolean,
  how = "remove it",
  apply: (file: string) => void = (file) => rmSync(file),
): Promise<void> {
  const file = pass.at(path);
  const kind = kindOf(file);
  if (kind === "missing") return pass.fine(path, "is not there");
  if (!mayWrite(pass, path)) return;
  if (!isOurs(file, kind)) return pass.keep(path, `is not ${what} and stays`, `look what it is for: ${file}`);
  await pass.change(path, how, () => apply(file));
}

/** A text that was changed by hand goes only by force, one that is not ours never; and what was laid beside it. */
async function removeText(pass: Pass, { path, text }: InstalledText, force: boolean) {
  const file = pass.at(path);
  const origin = kindOf(file) === "file" ? originOf(readFileSync(file, "utf8"), text).kind : "foreign";
  const how = origin === "changed" ? "remove it, with your changes" : "remove it";
  if (origin === "changed" && !force)
    await pass.keep(path, "was changed by hand and stays", `--force removes it, or: rm ${file}`);
  else await removeOurs(pass, path, "from licmond", () => origin !== "foreign", how);
  await removeOurs(pass, `${path}.new`, "", () => true);
}

const isBinary = (file: string, kind: FileKind) => kind === "file" && isLicmondBinary(file);

/** Deletes a directory with everything in it. A link is not followed; a mount point stays, empty. */
function deleteTree(pass: Pass, path: string, what: string): Promise<void> {
  const isOwn = (_: string, kind: FileKind) => kind === "directory";
  return removeOurs(pass, path, "a directory of its own", isOwn, what, (directory) => {
    for (const name of readdirSync(directory))
      rmSync(join(directory, name), { recursive: true, force: true });
    try {
      rmdirSync(directory);
    } catch (error) {
      if (codeOf(error) !== "EBUSY") throw error;
    }
  });
}

/** Says that something stays, and how to delete it: below a root the host's own path would delete the host's. */
async function leave(pass: Pass, path: string, what: string): Promise<void> {
  if (kindOf(pass.at(path)) === "missing") pass.fine(path, "is not there");
  else await pass.keep(path, `${what}: stays`, `delete it: rm -r ${pass.at(path)}`);
}

async function settleUser(pass: Pass, purge: boolean): Promise<void> {
  const line = `userdel ${SERVICE_NAME}`;
  const subject = purge ? line : `user ${SERVICE_NAME}`;
  if ((await serviceAccount(pass)) === null) return pass.fine(subject, "there is no such user");
  if (!purge) return pass.keep(subject, "stays: the data belongs to it", `delete it: ${line}`);
  await pass.change(subject, "delete the user and its group", async () => {
    await must(pass.run, line);
    // userdel takes the group with it where login.defs says so.
    const { ok } = await pass.run(["getent", "group", SERVICE_NAME]);
    if (ok) await must(pass.run, `groupdel ${SERVICE_NAME}`);
  });
}
