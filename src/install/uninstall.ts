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
  readonly purge: boolean;
  readonly force: boolean;
  readonly withSystemd: boolean;
  readonly otherData: string | null;
}

const UNITS = [
  [UNIT_NAME, LAYOUT.unit],
  [HUB_UNIT_NAME, LAYOUT.hubUnit],
] as const;
/** Returns the link that enables a unit. */
const enabledLink = (unit: string) => `/etc/systemd/system/multi-user.target.wants/${unit}`;
/** The administrator's files: path, name and content. */
const ADMINISTRATORS = [
  [`${LAYOUT.unit}.d`, "your drop-ins", "your drop-ins"],
  [`${LAYOUT.hubUnit}.d`, "your drop-ins", "your drop-ins"],
  [LAYOUT.configDirectory, "the config", "the config and its secrets"],
  [LAYOUT.data, "the database", "the database, with its history and keys"],
] as const;

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

/** Stops and disables the service, unless the unit belongs to a package. */
async function stopService(pass: Pass, unit: string, path: string): Promise<void> {
  const line = `systemctl disable --now ${unit}`;
  if (kindOf(pass.at(path)) !== "file") return pass.fine(line, `${path} does not exist`);
  const { isActive, isEnabled } = await serviceState(pass.run, unit);
  if (!isActive && !isEnabled) return pass.fine(line, "not running and not enabled");
  const what = isActive ? "stop and disable it" : "disable it";
  await runStep(pass, line, what, SERVICE_TIMEOUT_MS);
}

async function forgetUnit(pass: Pass): Promise<void> {
  const line = "systemctl daemon-reload";
  const removed = UNITS.filter(([, path]) => pass.changed(path));
  if (removed.length === 0) return pass.fine(line, "no unit was removed");
  await pass.change(line, "reload systemd without the units", async () => {
    await must(pass.run, line);
    // Ignore the result, because the command fails if there is nothing to reset.
    for (const [unit] of removed) await pass.run(["systemctl", "reset-failed", unit]);
  });
}

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
  if (kind === "missing") return pass.fine(path, "does not exist");
  if (!mayWrite(pass, path)) return;
  if (!isOurs(file, kind)) return pass.keep(path, `not ${what}; kept`, `check its purpose: ${file}`);
  await pass.change(path, how, () => apply(file));
}

/**
 * Removes a text and the copy next to it. Removes a changed text only with `force`. Never removes a text
 * that licmond did not install.
 */
async function removeText(pass: Pass, { path, text }: InstalledText, force: boolean) {
  const file = pass.at(path);
  const origin = kindOf(file) === "file" ? originOf(readFileSync(file, "utf8"), text).kind : "foreign";
  const how = origin === "changed" ? "remove it with your changes" : "remove it";
  if (origin === "changed" && !force)
    await pass.keep(path, "changed by hand; kept", `remove it with --force, or: rm ${file}`);
  else await removeOurs(pass, path, "from licmond", () => origin !== "foreign", how);
  await removeOurs(pass, `${path}.new`, "", () => true);
}

const isBinary = (file: string, kind: FileKind) => kind === "file" && isLicmondBinary(file);

/** Deletes a directory tree. Does not follow links; an emptied mount point stays. */
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

/**
 * Reports a file that is kept, with the command that deletes it. For an image, the command contains the
 * path inside the image's directory.
 */
async function leave(pass: Pass, path: string, what: string): Promise<void> {
  if (kindOf(pass.at(path)) === "missing") pass.fine(path, "does not exist");
  else await pass.keep(path, `${what}; kept`, `delete it: rm -r ${pass.at(path)}`);
}

async function settleUser(pass: Pass, purge: boolean): Promise<void> {
  const line = `userdel ${SERVICE_NAME}`;
  const subject = purge ? line : `user ${SERVICE_NAME}`;
  if ((await serviceAccount(pass)) === null) return pass.fine(subject, "user does not exist");
  if (!purge) return pass.keep(subject, "kept as the owner of the data", `delete it: ${line}`);
  await pass.change(subject, "delete the user and its group", async () => {
    await must(pass.run, line);
    // Depending on login.defs, userdel also deletes the group.
    const { ok } = await pass.run(["getent", "group", SERVICE_NAME]);
    if (ok) await must(pass.run, `groupdel ${SERVICE_NAME}`);
  });
}
