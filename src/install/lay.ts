import { chmodSync, lchownSync, lstatSync, readdirSync, readFileSync, type Stats, statSync } from "node:fs";
import { join } from "node:path";
import { isLicmondBinary, isOlder, sameBytes, versionOf } from "./binary-file.ts";
import { type Host, kindOf } from "./host.ts";
import { type InstalledText, LAYOUT, originOf, SERVICE_NAME, withMark } from "./layout.ts";
import { type OwnerName, ownerNow, ownerOf, rootsOwn, serviceAccount } from "./ownership.ts";
import { isFile, mayWrite, type Pass } from "./pass.ts";
import { copyWhole, makeDirectory, type Owner, replaceBinary, writeWhole } from "./write.ts";

/** Copies the binary to its place. The one that it replaces is kept beside it. */
export async function layBinary(pass: Pass, host: Host, source: string, version: string): Promise<void> {
  const path = LAYOUT.binary;
  const file = host.at(path);
  const rights = rootsOwn(host, 0o755);
  if (!mayWrite(pass, host, path)) return;
  if (kindOf(file) === "missing")
    return pass.change(path, `copy licmond ${version} from ${source}`, () => copyWhole(source, file, rights));
  if (!isFile(pass, host, path)) return;
  if (sameBytes(source, file)) {
    if ((lstatSync(file).mode & 0o7777) === rights.mode) return pass.fine(path, "is this licmond");
    return pass.change(path, "make it executable for all", () => chmodSync(file, rights.mode));
  }
  if (!isLicmondBinary(file))
    return pass.refuse(path, `${file} is not a licmond`, `move it away: mv ${file} ${file}.bak`);
  // Below a root it is not run.
  const installed = host.root === null ? await versionOf(host.run, file) : null;
  if (installed?.ok && isOlder(version, installed.version))
    return pass.refuse(
      path,
      `${file} is licmond ${installed.version}, and this one is older (${version})`,
      "`licmond upgrade --allow-downgrade` goes back; a database that the newer one has changed stays with it",
    );
  const was = installed?.ok ? `licmond ${installed.version}` : "the licmond that is there";
  const what = `replace ${was} by ${version} from ${source}; the old one is kept as ${LAYOUT.previousBinary}`;
  await pass.change(path, what, () => replaceBinary(source, file, host.at(LAYOUT.previousBinary), rights));
}

/** Lays a text of ours down. One that was changed by hand stays, and a newer one is laid beside it. */
export async function layText(pass: Pass, host: Host, laid: InstalledText, version: string): Promise<void> {
  const { path, text, changeBy } = laid;
  const file = host.at(path);
  const write = (to: string) => () => writeWhole(to, withMark(text, version), rootsOwn(host, 0o644));
  if (!mayWrite(pass, host, path)) return;
  if (kindOf(file) === "missing") return pass.change(path, "write it", write(file));
  if (!isFile(pass, host, path)) return;
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
  const kind = kindOf(beside);
  if (kind !== "missing" && kind !== "file")
    return pass.refuse(path, `${beside} is in the way`, "move it away");
  const isThere = kind === "file" && originOf(readFileSync(beside, "utf8"), text).kind === "same";
  await pass.keep(path, stays, `compare it with ${beside}; ${changeBy}`, isThere ? undefined : write(beside));
}

/** Writes a config where there is none. The content of one that is there is never touched. */
export async function layConfig(
  pass: Pass,
  host: Host,
  text: string,
  mode: number,
  owner: OwnerName,
): Promise<void> {
  const path = LAYOUT.config;
  const file = host.at(path);
  if (!mayWrite(pass, host, path)) return;
  if (kindOf(file) === "missing") {
    // An image that does not know the group yet: all may read it whom its closed directory lets in.
    const canGive = host.root === null || (host.uid === 0 && (await serviceAccount(host)) !== null);
    const [whose, rights] = canGive ? [owner, mode] : (["root:root", 0o644] as const);
    const what = `write a commented config, for ${whose}, mode ${octal(rights)}`;
    return pass.change(path, what, async () =>
      writeWhole(file, text, { mode: rights, owner: await ownerNow(host, whose) }),
    );
  }
  const stays = "is there and stays as it is";
  // Configs that are kept elsewhere, e.g. under version control, are linked.
  if (kindOf(file) === "symlink" && targetOf(file)?.isFile() === true) return pass.fine(path, stays);
  if (!isFile(pass, host, path)) return;
  const { uid, gid, mode: has } = lstatSync(file);
  const isRootsAlone = uid === 0 && gid === 0 && (has & 0o004) === 0;
  if (host.root !== null || owner === "root:root" || !isRootsAlone || host.uid !== 0)
    return pass.fine(path, stays);
  await pass.change(path, `let the group ${SERVICE_NAME} read it; its content stays as it is`, async () => {
    const now = await ownerNow(host, owner);
    if (now !== null) lchownSync(file, now.uid, now.gid);
    chmodSync(file, (has & 0o777) | 0o040);
  });
}

/**
 * A directory with its owner; `whole`: what lies in it belongs to its owner too. One that an administrator has given to
 * another user than root stays so.
 */
export async function layDirectory(
  pass: Pass,
  host: Host,
  path: string,
  mode: number,
  owner: OwnerName,
  whole: boolean,
): Promise<void> {
  const place = host.at(path);
  if (!mayWrite(pass, host, path)) return;
  const kind = kindOf(place);
  if (kind === "missing")
    return pass.change(path, `make it, for ${owner}, mode ${octal(mode)}`, async () =>
      makeDirectory(place, { mode, owner: await ownerNow(host, owner) }),
    );
  const isDirectory = targetOf(place)?.isDirectory() === true;
  if (kind === "symlink" && !isDirectory)
    return pass.refuse(path, `${place} is a link to no directory`, "correct or remove the link");
  // Administrators put data on another disk by a link, and systemd does for units with DynamicUser=.
  if (kind === "symlink") return pass.fine(path, "is a link to a directory");
  if (!isDirectory) return pass.refuse(path, `${place} is not a directory`, "move it away");
  const wanted = host.root === null ? await ownerOf(host, owner) : null;
  if (wanted === null) return pass.fine(path, "is there");
  const { uid, gid } = statSync(place);
  if (wanted !== "unknown" && uid === wanted.uid && gid === wanted.gid) {
    if (!whole || strangersIn(place, wanted).length === 0)
      return pass.fine(path, `is there, owned by ${owner}`);
  }
  if (!whole && (uid !== 0 || gid !== 0))
    return pass.keep(
      path,
      `belongs to ${uid}:${gid} and stays so`,
      `the service must be able to read it: chown ${owner} ${path}`,
    );
  const what = `give it${whole ? ", with what is in it," : ""} to ${owner}, mode ${octal(mode)}`;
  await pass.change(path, what, async () => {
    const now = await ownerNow(host, owner);
    if (now === null) return;
    const strangers = whole ? strangersIn(place, now) : [];
    for (const file of [...strangers, place]) lchownSync(file, now.uid, now.gid);
    chmodSync(place, mode);
  });
}

/** What a link leads to; null when it leads nowhere. */
function targetOf(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}

/**
 * What lies in a directory and belongs to others. Links are not followed, and files with a second name are left out:
 * a user who can write the directory must not be given a file of the system.
 */
function strangersIn(directory: string, owner: NonNullable<Owner>): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    const stats = lstatSync(path);
    const inside = stats.isDirectory() ? strangersIn(path, owner) : [];
    const isSafe = stats.isDirectory() || (stats.isFile() && stats.nlink === 1);
    const isForeign = stats.uid !== owner.uid || stats.gid !== owner.gid;
    return isSafe && isForeign ? [path, ...inside] : inside;
  });
}

function octal(mode: number): string {
  return `0${mode.toString(8)}`;
}
