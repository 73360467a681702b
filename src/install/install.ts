import { chmodSync, lchownSync, lstatSync, readFileSync, statSync } from "node:fs";
import {
  copyWhole,
  isLicmondBinary,
  makeDirectory,
  replaceBinary,
  sameBytes,
  versionOf,
  writeWhole,
} from "./files.ts";
import {
  kindOf,
  type OwnerName,
  ownerOf,
  restartService,
  rootsOwn,
  serviceAccount,
  serviceState,
} from "./host.ts";
import {
  type InstalledText,
  LAYOUT,
  manPageOf,
  originOf,
  SERVICE_NAME,
  TEXTS,
  UNIT_NAME,
  withMark,
} from "./layout.ts";
import { fileAt, mayWrite, type Pass, runStep } from "./pass.ts";

export interface InstallWanted {
  readonly binary: string;
  readonly version: string;
  readonly configText: string;
  readonly manPage: string;
  readonly withoutSystemd: boolean;
  readonly start: boolean;
  readonly hasSysusers: boolean;
}

export async function install(pass: Pass, wanted: InstallWanted): Promise<void> {
  const { binary, version, configText } = wanted;
  // Create missing system directories with the usual mode.
  process.umask(0o022);
  await layBinary(pass, binary, version);
  if (wanted.withoutSystemd) return layConfig(pass, configText, 0o644, "root:root");
  for (const text of [...TEXTS, manPageOf(wanted.manPage)]) await layText(pass, text, version);
  if (pass.root === null) await makeUser(pass, wanted.hasSysusers ? MAKE_USER : USERADD);
  await layDirectory(pass, LAYOUT.configDirectory, 0o750, "root:licmond");
  await layConfig(pass, configText, 0o640, "root:licmond");
  await layDirectory(pass, LAYOUT.data, 0o700, "licmond:licmond");
  if (pass.root !== null) return;
  await applyTmpfiles(pass);
  await reloadManager(pass);
  if (wanted.start) await startService(pass);
}

/** Installs the binary. Keeps the binary that is replaced. */
async function layBinary(pass: Pass, source: string, version: string): Promise<void> {
  const path = LAYOUT.binary;
  const file = pass.at(path);
  const rights = rootsOwn(pass, 0o755);
  const kind = fileAt(pass, path);
  if (kind === null) return;
  if (kind === "missing")
    return pass.change(path, `copy licmond ${version} from ${source}`, () => copyWhole(source, file, rights));
  if (sameBytes(source, file)) {
    if ((lstatSync(file).mode & 0o7777) === rights.mode) return pass.fine(path, "up to date");
    return pass.change(path, "make it executable", () => chmodSync(file, rights.mode));
  }
  if (!isLicmondBinary(file))
    return pass.refuse(path, `${file} is not a licmond binary`, `move it away: mv ${file} ${file}.bak`);
  // Do not run the binary of an image.
  const installed = pass.root === null ? await versionOf(pass.run, file) : null;
  if (installed?.ok && Bun.semver.order(version, installed.version) < 0)
    return pass.refuse(
      path,
      `${file} is licmond ${installed.version}, newer than this one (${version})`,
      "downgrade with `licmond upgrade --allow-downgrade`; the older version may reject the database",
    );
  const was = installed?.ok ? `licmond ${installed.version}` : "the installed licmond";
  const what = `replace ${was} by ${version} from ${source}; keep the old one as ${LAYOUT.previousBinary}`;
  await pass.change(path, what, () => replaceBinary(source, file, pass.at(LAYOUT.previousBinary), rights));
}

/** Installs one of licmond's texts. Keeps a file that was changed, and writes the new text next to it. */
async function layText(pass: Pass, { path, text, changeBy }: InstalledText, version: string): Promise<void> {
  const file = pass.at(path);
  const write = (to: string) => () => writeWhole(to, withMark(text, version), rootsOwn(pass, 0o644));
  const kind = fileAt(pass, path);
  if (kind === null) return;
  if (kind === "missing") return pass.change(path, "write it", write(file));
  const origin = originOf(readFileSync(file, "utf8"), text);
  if (origin.kind === "same") return pass.fine(path, "up to date");
  if (origin.kind === "ours")
    return pass.change(path, `replace the file of licmond ${origin.version}`, write(file));
  if (origin.kind === "foreign") {
    const fix = `check its purpose and move it away: mv ${file} ${file}.bak`;
    return pass.refuse(path, `${file} was not installed by licmond`, fix);
  }
  const stays = "changed by hand; kept";
  if (!origin.outdated) return pass.keep(path, stays, changeBy);
  const beside = `${file}.new`;
  const there = kindOf(beside);
  if (there !== "missing" && there !== "file")
    return pass.refuse(path, `${beside} is in the way`, "move it away");
  const isLaid = there === "file" && originOf(readFileSync(beside, "utf8"), text).kind === "same";
  await pass.keep(path, stays, `compare it with ${beside}; ${changeBy}`, isLaid ? undefined : write(beside));
}

const MAKE_USER = `systemd-sysusers ${LAYOUT.sysusers}`;
/** Creates the same user with useradd(8), for systems without systemd-sysusers. */
const USERADD = `useradd --system --user-group --no-create-home --home-dir ${LAYOUT.data} --shell /usr/sbin/nologin --comment 'License monitoring daemon' ${SERVICE_NAME}`;

async function makeUser(pass: Pass, line: string): Promise<void> {
  if ((await serviceAccount(pass)) !== null) return pass.fine(line, `user ${SERVICE_NAME} exists`);
  await runStep(pass, line, `create the user ${SERVICE_NAME}`);
}

/**
 * Creates a missing directory. tmpfiles.d(5) sets the owner of an existing directory. When the service
 * starts, the unit's StateDirectory= sets the owner of the data directory and its contents.
 */
async function layDirectory(pass: Pass, path: string, mode: number, owner: OwnerName): Promise<void> {
  const place = pass.at(path);
  if (!mayWrite(pass, path)) return;
  const kind = kindOf(place);
  if (kind === "missing")
    return pass.change(path, `create it for ${owner}, mode 0${mode.toString(8)}`, async () =>
      makeDirectory(place, { mode, owner: await ownerOf(pass, owner) }),
    );
  // Links are normal: administrators move data to another disk, and systemd links it for DynamicUser=.
  const isLink = kind === "symlink";
  if (leadsTo(place) === "directory") return pass.fine(path, isLink ? "is a link to a directory" : "exists");
  if (isLink) pass.refuse(path, `${place} is not a link to a directory`, "correct or remove the link");
  else pass.refuse(path, `${place} is not a directory`, "move it away");
}

/** Writes a missing config. Never changes the content of an existing one. */
async function layConfig(pass: Pass, text: string, mode: number, owner: OwnerName): Promise<void> {
  const path = LAYOUT.config;
  const file = pass.at(path);
  const stays = "exists; kept";
  // Configs under version control are often linked.
  if (kindOf(file) === "symlink" && leadsTo(file) === "file") return pass.fine(path, stays);
  const kind = fileAt(pass, path);
  if (kind === null) return;
  if (kind === "missing") {
    // If the image lacks the group, the config is readable for all, and the mode of its directory protects it.
    const canGive = pass.root === null || (pass.uid === 0 && (await serviceAccount(pass)) !== null);
    const [whose, rights] = canGive ? [owner, mode] : (["root:root", 0o644] as const);
    const what = `write a commented config for ${whose}, mode 0${rights.toString(8)}`;
    return pass.change(path, what, async () =>
      writeWhole(file, text, { mode: rights, owner: await ownerOf(pass, whose) }),
    );
  }
  const { uid, gid, mode: has } = lstatSync(file);
  const isRootsAlone = uid === 0 && gid === 0 && (has & 0o004) === 0;
  if (pass.root !== null || owner === "root:root" || !isRootsAlone || pass.uid !== 0)
    return pass.fine(path, stays);
  await pass.change(path, `make it readable for group ${SERVICE_NAME}`, async () => {
    const now = await ownerOf(pass, owner);
    if (now !== null) lchownSync(file, now.uid, now.gid);
    chmodSync(file, (has & 0o777) | 0o040);
  });
}

function leadsTo(path: string): "file" | "directory" | null {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats?.isFile() ? "file" : stats?.isDirectory() ? "directory" : null;
}

/** Applies tmpfiles.d(5) like every boot, also for files of an interrupted installation. */
async function applyTmpfiles(pass: Pass): Promise<void> {
  const line = `systemd-tmpfiles --create ${LAYOUT.tmpfiles}`;
  if (!pass.changed(LAYOUT.tmpfiles) && kindOf(pass.at(LAYOUT.secrets)) !== "missing")
    return pass.fine(line, "nothing new to apply");
  await runStep(pass, line, "create the directories, as at every boot");
}

async function reloadManager(pass: Pass): Promise<void> {
  const line = "systemctl daemon-reload";
  const isChanged = pass.changed(LAYOUT.unit) || pass.changed(LAYOUT.hubUnit);
  const isKnown = !isChanged && !(await serviceState(pass.run)).needsReload;
  if (isKnown) return pass.fine(line, "systemd has loaded the units");
  await runStep(pass, line, "reload the units in systemd");
}

/** Enables and starts the service. Restarts one that runs something older. */
async function startService(pass: Pass): Promise<void> {
  const { isActive, isEnabled } = await serviceState(pass.run);
  const enable = `systemctl enable ${UNIT_NAME}`;
  if (isEnabled) pass.fine(enable, "enabled");
  else await runStep(pass, enable, "start it at boot");

  const restart = `systemctl restart ${UNIT_NAME}`;
  const isCurrent = !pass.changed(LAYOUT.binary) && !pass.changed(LAYOUT.unit);
  if (isActive && isCurrent) return pass.fine(restart, "already running the installed version");
  const what = isActive ? "restart it with the installed version" : "start it";
  await pass.change(restart, what, () => restartService(pass.run));
}
