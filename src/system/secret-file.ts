import { realpathSync, type Stats, statSync } from "node:fs";
import { dirname } from "node:path";
import { codeOf } from "../domain/error-code.ts";
import { readSystemFile } from "./host-metrics.ts";

type Exposure = NonNullable<ReturnType<typeof exposureOf>>;

const READ = 4;
const WRITE = 2;
const SEARCH = 1;

/**
 * Checks whether other users can read or write a secret, or write a config. Trusted groups are root's
 * group, the daemon's own `groups`, and a user's private group, which has the user's number and no other
 * members. Returns null if the file is safe or missing. Ignores access control lists.
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
  // If the daemon can read the secret only because everyone can, the fix gives the daemon's group access.
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
    fix,
  };
}

/** Describes an exposure, continuing a sentence that begins with the setting's name. */
export function exposureWords({ file, mode, may, who, fix }: Exposure): string {
  return `${file} (mode ${mode}) can be ${may} by ${who} (fix: ${fix})`;
}

/** Returns the groups of this process; for root, those of the user licmond. */
export function daemonGroups(): readonly number[] {
  if (process.getuid?.() !== 0) return [process.getegid?.() ?? 0, ...(process.getgroups?.() ?? [])];
  return groupLines().flatMap(([name, , gid, members]) =>
    name === "licmond" || members?.split(",").includes("licmond") ? [Number(gid)] : [],
  );
}

function ownUser(): number | null {
  return process.getuid?.() || null;
}

/** Reports whether a user with only this group can reach the file through all directories above it. */
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

/** Returns the name of a group from /etc/group, or its number. */
export function groupName(gid: number): string {
  return groupLines().find(([, , number]) => number === String(gid))?.[0] ?? String(gid);
}

/** Splits lines such as `flexlm:x:1005:anna,ben`. */
function groupLines(): string[][] {
  return (readSystemFile("/etc/group") ?? "").split("\n").map((line) => line.split(":"));
}

/** `problem` continues a sentence that begins with the setting's name, without path or content. */
export type SecretRead = { readonly text: string } | { readonly problem: string };

/** Directory of credentials of running units (LoadCredential=). */
const CREDENTIALS = "/run/credentials/";

/** Reads a secret, without a trailing line end. Called at each use, so that changes apply at once. */
export async function readSecretFile(file: string): Promise<SecretRead> {
  let text: string;
  try {
    text = await Bun.file(file).text();
  } catch (error) {
    const code = codeOf(error);
    const isCredential = code === "ENOENT" && file.startsWith(CREDENTIALS);
    const starts = "is a credential, available only while the service runs: start or restart it first";
    return { problem: isCredential ? starts : `cannot be read (${code})` };
  }
  const secret = text.replace(/\r?\n$/, "");
  return secret === "" ? { problem: "is empty" } : { text: secret };
}
