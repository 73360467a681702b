import { lchownSync, lstatSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Host, kindOf, obstacle } from "./host.ts";
import { type OwnerName, ownerNow, ownerOf } from "./ownership.ts";
import type { Plan, Step } from "./step.ts";
import { makeDirectory, type Owner, setMode } from "./write.ts";

export interface DirectoryWanted {
  readonly path: string;
  readonly mode: number;
  readonly owner: OwnerName;
  /** What lies in it belongs to its owner, too. */
  readonly whole: boolean;
}

/** A directory with its owner. One that an administrator has given to somebody else than root stays so. */
export function directoryStep(host: Host, { path, mode, owner, whole }: DirectoryWanted): Step {
  const place = host.at(path);
  const octal = `0${mode.toString(8)}`;

  async function give(): Promise<void> {
    const now = await ownerNow(host, owner);
    if (now === null) return;
    if (whole) for (const file of strangersIn(place, now)) lchownSync(file, now.uid, now.gid);
    lchownSync(place, now.uid, now.gid);
    setMode(place, mode);
  }

  async function overExisting(): Promise<Plan> {
    const wanted = host.root === null ? await ownerOf(host, owner) : null;
    if (wanted === null) return { kind: "nothing", why: "is there" };
    const { uid, gid } = statSync(place);
    if (wanted !== "unknown") {
      const isRight = uid === wanted.uid && gid === wanted.gid;
      if (isRight && !(whole && strangersIn(place, wanted).length > 0))
        return { kind: "nothing", why: `is there, owned by ${owner}` };
    }
    if (!whole && (uid !== 0 || gid !== 0))
      return {
        kind: "keep",
        why: `belongs to ${uid}:${gid} and stays so`,
        advice: `the service must be able to read it: chown ${owner} ${path}`,
      };
    const what = `give it${whole ? ", with what is in it," : ""} to ${owner}, mode ${octal}`;
    return { kind: "do", what, apply: give };
  }

  return {
    subject: path,
    plan() {
      const hindered = obstacle(host, path);
      if (hindered !== null) return { kind: "refuse", ...hindered };
      switch (kindOf(place)) {
        case "missing":
          return {
            kind: "do",
            what: `make it, for ${owner}, mode ${octal}`,
            apply: async () => makeDirectory(place, { mode, owner: await ownerNow(host, owner) }),
          };
        case "directory":
          return overExisting();
        case "symlink":
          return linked(place);
        default:
          return { kind: "refuse", why: `${place} is not a directory`, fix: "move it away" };
      }
    },
  };
}

/** Administrators put data on another disk by a link, and systemd does for units with DynamicUser=. */
function linked(place: string): Plan {
  try {
    if (statSync(place).isDirectory()) return { kind: "nothing", why: "is a link to a directory" };
  } catch {
    // It leads nowhere: said below.
  }
  return { kind: "refuse", why: `${place} is a link to no directory`, fix: "correct or remove the link" };
}

/**
 * What lies in a directory and belongs to others. Links are not followed, and files with a second name are left out:
 * who can write the directory must not get a file of the system given.
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
