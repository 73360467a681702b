import { realpathSync, type Stats, statSync } from "node:fs";
import { dirname } from "node:path";
import { codeOf } from "../domain/error-code.ts";
import { readSystemFile } from "./host-metrics.ts";

/** A file that users other than its owner, root and the daemon can get at. */
export type Exposure = NonNullable<ReturnType<typeof exposureOf>>;

const READ = 4;
const WRITE = 2;
const SEARCH = 1;

/**
 * Whether others can read or write a secret, or write a config. `groups`: the daemon's own, whose members may; so may
 * root's, and a user's own group, which has the user's number and no other member. Null when nothing is wrong, and for a
 * file that is not there. Access control lists are not known here.
 */
export function exposureOf(file: string, kind: "secret" | "config", groups: readonly number[]) {
  const stats = statOf(file);
  if (stats === null) return null;
  const { uid, gid } = stats;
  const mode = stats.mode & 0o7777;
  const wanted = kind === "secret" ? READ | WRITE : WRITE;
  const isTrusted = [0, uid, ...groups].includes(gid);
  const byAll = reaches(file, null) ? mode & wanted : 0;
  const byGroup = !isTrusted && reaches(file, gid) ? (mode >> 3) & wanted : 0;
  if ((byAll | byGroup) === 0) return null;
  const mended = mode & ~wanted & ~(isTrusted ? 0 : wanted << 3);
  // A daemon that could read the secret only because all can goes on by its group.
  const [own] = groups;
  const isReadable = kind === "config" || own === undefined || groups.includes(gid) || uid === ownUser();
  const fix = isReadable
    ? `chmod ${octal(mended)} ${file}`
    : `chgrp ${groupName(own)} ${file} && chmod ${octal((mended & ~0o70) | (READ << 3))} ${file}`;
  return {
    file,
    mode: octal(mode),
    may: ({ [READ]: "read", [WRITE]: "written" } as const)[byAll | byGroup] ?? "read and written",
    /** `every user`, or `the group staff`. */
    who: byAll === 0 ? `the group ${groupName(gid)}` : "every user",
    /** The command that mends it. */
    fix,
  };
}

/** In words that go on from the setting's name. */
export function exposureWords({ file, mode, may, who, fix }: Exposure): string {
  return `${file} (mode ${mode}) can be ${may} by ${who} (fix: ${fix})`;
}

/** The groups of the daemon: those of this process; root stands for the user licmond, if there is one. */
export function daemonGroups(): readonly number[] {
  if (process.getuid?.() !== 0) return [process.getegid?.() ?? 0, ...(process.getgroups?.() ?? [])];
  return groupLines().flatMap(([name, , gid, members]) =>
    name === "licmond" || members?.split(",").includes("licmond") ? [Number(gid)] : [],
  );
}

/** Null for root, who is not the daemon. */
function ownUser(): number | null {
  return process.getuid?.() || null;
}

/** Whether a user without more than this group gets as far as the file: through every directory above it. */
function reaches(file: string, group: number | null): boolean {
  const path = realpathSync(file);
  for (let above = dirname(path), last = path; above !== last; last = above, above = dirname(above)) {
    const stats = statOf(above);
    const bits = stats === null ? 0 : stats.gid === group ? stats.mode >> 3 : stats.mode;
    if ((bits & SEARCH) === 0) return false;
  }
  return true;
}

function statOf(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, "0");
}

/** By the host's own list; a number serves as well. */
export function groupName(gid: number): string {
  return groupLines().find(([, , number]) => number === String(gid))?.[0] ?? String(gid);
}

/** `flexlm:x:1005:anna,ben` */
function groupLines(): string[][] {
  return (readSystemFile("/etc/group") ?? "").split("\n").map((line) => line.split(":"));
}

/** What a file of one secret holds. `problem` follows the name of the setting, and holds neither path nor content. */
export type SecretRead = { readonly text: string } | { readonly problem: string };

/** Where systemd keeps what units are handed over (LoadCredential=), for as long as they run. */
const CREDENTIALS = "/run/credentials/";

/** Reads a secret at each use, so that a changed one holds at once; a line end after it is not part of it. */
export async function readSecretFile(file: string): Promise<SecretRead> {
  let text: string;
  try {
    text = await Bun.file(file).text();
  } catch (error) {
    const code = codeOf(error);
    const isCredential = code === "ENOENT" && file.startsWith(CREDENTIALS);
    const starts =
      "is a credential, which the unit hands over while the service runs: start or restart it first";
    return { problem: isCredential ? starts : `cannot be read (${code})` };
  }
  const secret = text.replace(/\r?\n$/, "");
  return secret === "" ? { problem: "is empty" } : { text: secret };
}
