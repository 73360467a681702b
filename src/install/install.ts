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
  /** The new binary. */
  readonly binary: string;
  readonly version: string;
  /** The config to write where there is none. */
  readonly configText: string;
  /** licmond(1). */
  readonly manPage: string;
  /** Binary and config alone. */
  readonly withoutSystemd: boolean;
  /** Start the service, now and at every boot. */
  readonly start: boolean;
  /** The host has systemd-sysusers. */
  readonly hasSysusers: boolean;
}

/** Everything that `licmond install` does, in order. */
export async function install(pass: Pass, wanted: InstallWanted): Promise<void> {
  const { binary, version, configText } = wanted;
  // Directories of the system that are missing are open to all.
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

/** Copies the binary to its place. The one that it replaces is kept beside it. */
async function layBinary(pass: Pass, source: string, version: string): Promise<void> {
  const path = LAYOUT.binary;
  const file = pass.at(path);
  const rights = rootsOwn(pass, 0o755);
  const kind = fileAt(pass, path);
  if (kind === null) return;
  if (kind === "missing")
    return pass.change(path, `copy licmond ${version} from ${source}`, () => copyWhole(source, file, rights));
  if (sameBytes(source, file)) {
    if ((lstatSync(file).mode & 0o7777) === rights.mode) return pass.fine(path, "is this licmond");
    return pass.change(path, "make it executable for all", () => chmodSync(file, rights.mode));
  }
  if (!isLicmondBinary(file))
    return pass.refuse(path, `${file} is not a licmond`, `move it away: mv ${file} ${file}.bak`);
  // Below a root it is not run.
  const installed = pass.root === null ? await versionOf(pass.run, file) : null;
  if (installed?.ok && Bun.semver.order(version, installed.version) < 0)
    return pass.refuse(
      path,
      `${file} is licmond ${installed.version}, and this one is older (${version})`,
      "`licmond upgrade --allow-downgrade` goes back; a database that the newer one has changed stays with it",
    );
  const was = installed?.ok ? `licmond ${installed.version}` : "the licmond that is there";
  const what = `replace ${was} by ${version} from ${source}; the old one is kept as ${LAYOUT.previousBinary}`;
  await pass.change(path, what, () => replaceBinary(source, file, pass.at(LAYOUT.previousBinary), rights));
}

/** Lays a text of ours down. One that was changed by hand stays, and a newer one is laid beside it. */
async function layText(pass: Pass, { path, text, changeBy }: InstalledText, version: string): Promise<void> {
  const file = pass.at(path);
  const write = (to: string) => () => writeWhole(to, withMark(text, version), rootsOwn(pass, 0o644));
  const kind = fileAt(pass, path);
  if (kind === null) return;
  if (kind === "missing") return pass.change(path, "write it", write(file));
  const origin = originOf(readFileSync(file, "utf8"), text);
  if (origin.kind === "same") return pass.fine(path, "is as it should be");
  if (origin.kind === "ours")
    return pass.change(path, `replace the one of licmond ${origin.version}`, write(file));
  if (origin.kind === "foreign") {
    const fix = `look what it is for, and move it away: mv ${file} ${file}.bak`;
    return pass.refuse(path, `${file} is not from licmond`, fix);
  }
  const stays = "was changed by hand and stays";
  if (!origin.outdated) return pass.keep(path, stays, changeBy);
  const beside = `${file}.new`;
  const there = kindOf(beside);
  if (there !== "missing" && there !== "file")
    return pass.refuse(path, `${beside} is in the way`, "move it away");
  const isLaid = there === "file" && originOf(readFileSync(beside, "utf8"), text).kind === "same";
  await pass.keep(path, stays, `compare it with ${beside}; ${changeBy}`, isLaid ? undefined : write(beside));
}

const MAKE_USER = `systemd-sysusers ${LAYOUT.sysusers}`;
/** For systems without systemd-sysusers: useradd(8), the same user. */
const USERADD = `useradd --system --user-group --no-create-home --home-dir ${LAYOUT.data} --shell /usr/sbin/nologin --comment 'License monitoring daemon' ${SERVICE_NAME}`;

async function makeUser(pass: Pass, line: string): Promise<void> {
  if ((await serviceAccount(pass)) !== null) return pass.fine(line, `the user ${SERVICE_NAME} is there`);
  await runStep(pass, line, `make the user ${SERVICE_NAME}`);
}

/**
 * Makes a directory where there is none. One that is there gets its owner from tmpfiles.d(5), and the data, with all
 * that lies in it, from the unit's StateDirectory= when the service starts.
 */
async function layDirectory(pass: Pass, path: string, mode: number, owner: OwnerName): Promise<void> {
  const place = pass.at(path);
  if (!mayWrite(pass, path)) return;
  const kind = kindOf(place);
  if (kind === "missing")
    return pass.change(path, `make it, for ${owner}, mode 0${mode.toString(8)}`, async () =>
      makeDirectory(place, { mode, owner: await ownerOf(pass, owner) }),
    );
  // Administrators put data on another disk by a link, and systemd does for units with DynamicUser=.
  const isLink = kind === "symlink";
  if (leadsTo(place) === "directory")
    return pass.fine(path, isLink ? "is a link to a directory" : "is there");
  if (isLink) pass.refuse(path, `${place} is a link to no directory`, "correct or remove the link");
  else pass.refuse(path, `${place} is not a directory`, "move it away");
}

/** Writes a config where there is none. The content of one that is there is never touched. */
async function layConfig(pass: Pass, text: string, mode: number, owner: OwnerName): Promise<void> {
  const path = LAYOUT.config;
  const file = pass.at(path);
  const stays = "is there and stays as it is";
  // Configs that are kept elsewhere, e.g. under version control, are linked.
  if (kindOf(file) === "symlink" && leadsTo(file) === "file") return pass.fine(path, stays);
  const kind = fileAt(pass, path);
  if (kind === null) return;
  if (kind === "missing") {
    // An image that does not know the group yet: its closed directory decides which users may read it.
    const canGive = pass.root === null || (pass.uid === 0 && (await serviceAccount(pass)) !== null);
    const [whose, rights] = canGive ? [owner, mode] : (["root:root", 0o644] as const);
    const what = `write a commented config, for ${whose}, mode 0${rights.toString(8)}`;
    return pass.change(path, what, async () =>
      writeWhole(file, text, { mode: rights, owner: await ownerOf(pass, whose) }),
    );
  }
  const { uid, gid, mode: has } = lstatSync(file);
  const isRootsAlone = uid === 0 && gid === 0 && (has & 0o004) === 0;
  if (pass.root !== null || owner === "root:root" || !isRootsAlone || pass.uid !== 0)
    return pass.fine(path, stays);
  await pass.change(path, `let the group ${SERVICE_NAME} read it; its content stays as it is`, async () => {
    const now = await ownerOf(pass, owner);
    if (now !== null) lchownSync(file, now.uid, now.gid);
    chmodSync(file, (has & 0o777) | 0o040);
  });
}

/** What a path leads to, through links. */
function leadsTo(path: string): "file" | "directory" | null {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats?.isFile() ? "file" : stats?.isDirectory() ? "directory" : null;
}

/** As every boot will; also those that an installation that broke off has laid down. */
async function applyTmpfiles(pass: Pass): Promise<void> {
  const line = `systemd-tmpfiles --create ${LAYOUT.tmpfiles}`;
  if (!pass.changed(LAYOUT.tmpfiles) && kindOf(pass.at(LAYOUT.secrets)) !== "missing")
    return pass.fine(line, "nothing new to apply");
  await runStep(pass, line, "apply it, as every boot will");
}

async function reloadManager(pass: Pass): Promise<void> {
  const line = "systemctl daemon-reload";
  const isChanged = pass.changed(LAYOUT.unit) || pass.changed(LAYOUT.hubUnit);
  const isKnown = !isChanged && !(await serviceState(pass.run)).needsReload;
  if (isKnown) return pass.fine(line, "systemd knows the units");
  await runStep(pass, line, "let systemd read the units");
}

/** Now and at every boot. A service that runs with something older is restarted. */
async function startService(pass: Pass): Promise<void> {
  const { isActive, isEnabled } = await serviceState(pass.run);
  const enable = `systemctl enable ${UNIT_NAME}`;
  if (isEnabled) pass.fine(enable, "it is enabled");
  else await runStep(pass, enable, "start it at every boot");

  const restart = `systemctl restart ${UNIT_NAME}`;
  const isCurrent = !pass.changed(LAYOUT.binary) && !pass.changed(LAYOUT.unit);
  if (isActive && isCurrent) return pass.fine(restart, "it runs with what is installed");
  const what = isActive ? "restart it with what is installed now" : "start it";
  await pass.change(restart, what, () => restartService(pass.run));
}
