import { realpathSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { readSystemFile } from "./host-metrics.ts";
import type { Account, Place } from "./unit/access.ts";

/** A file that users other than its owner, root and the daemon can get at. */
export interface Exposure {
  readonly file: string;
  /** `0644` */
  readonly mode: string;
  readonly may: "read" | "written" | "read and written";
  /** `every user`, or `the group staff`. */
  readonly who: string;
  /** The command that mends it. */
  readonly fix: string;
}

const READ = 4;
const WRITE = 2;
const SEARCH = 1;

/**
 * Whether others can read or write a secret, or write a config. `reader` is whom the daemon runs as: its groups are let
 * in, as are root's, and a user's own group, which has the user's number and no other member. Null when nothing is
 * wrong, and of a file that is not there. Access control lists are not known here.
 */
export function exposureOf(file: string, kind: "secret" | "config", reader: Account): Exposure | null {
  const place = placeOf(file);
  if (place === null) return null;
  const { uid, gid, mode } = place;
  const wanted = kind === "secret" ? READ | WRITE : WRITE;
  const isTrusted = gid === 0 || gid === uid || reader.groups.includes(gid);
  const byAll = reaches(file, null) ? mode & wanted : 0;
  const byGroup = !isTrusted && reaches(file, gid) ? (mode >> 3) & wanted : 0;
  if ((byAll | byGroup) === 0) return null;
  const mended = mode & ~wanted & ~(isTrusted ? 0 : wanted << 3);
  const chmod = `chmod ${octal(mended)} ${file}`;
  const isOwn = reader.uid === 0 || reader.uid === uid || (isTrusted && reader.groups.includes(gid));
  // The daemon, too, can read the secret as one of all only.
  const [group] = reader.groups;
  const fix =
    kind === "config" || isOwn || group === undefined
      ? chmod
      : `chgrp ${groupName(group)} ${file} && chmod ${octal((mended & ~0o70) | (READ << 3))} ${file}`;
  const may = ({ [READ]: "read", [WRITE]: "written" } as const)[byAll | byGroup] ?? "read and written";
  return {
    file,
    mode: octal(mode),
    may,
    who: byAll === 0 ? `the group ${groupName(gid)}` : "every user",
    fix,
  };
}

/** In words that go on from the setting's name. */
export function exposureWords({ file, mode, may, who }: Exposure): string {
  return `${file} (mode ${mode}) can be ${may} by ${who}`;
}

/** The account that this process has. */
export function ownAccount(): Account {
  const uid = process.getuid?.() ?? 0;
  const groups = [process.getegid?.() ?? 0, ...(process.getgroups?.() ?? [])];
  return { uid, groups: [...new Set(groups)] };
}

/** Whether a user without more than this group gets as far as the file: through every directory above it. */
function reaches(file: string, group: number | null): boolean {
  const path = realpathSync(file);
  for (let above = dirname(path), last = path; above !== last; last = above, above = dirname(above)) {
    const place = placeOf(above);
    const bits = place === null ? 0 : place.gid === group ? place.mode >> 3 : place.mode;
    if ((bits & SEARCH) === 0) return false;
  }
  return true;
}

function placeOf(path: string): Place | null {
  try {
    const { uid, gid, mode } = statSync(path);
    return { path, uid, gid, mode: mode & 0o7777 };
  } catch {
    return null;
  }
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, "0");
}

/** By the host's own list; a number serves as well. */
function groupName(gid: number): string {
  const lines = readSystemFile("/etc/group")?.split("\n") ?? [];
  return lines.find((line) => line.split(":")[2] === String(gid))?.split(":")[0] ?? String(gid);
}
