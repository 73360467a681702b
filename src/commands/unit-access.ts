import { statSync } from "node:fs";
import { dirname } from "node:path";
import type { Run } from "../install/host.ts";
import { type Account, type Place, type Refusal, refusalOf } from "../system/unit/access.ts";
import type { Confinement } from "../system/unit/confinement.ts";
import type { Need } from "../system/unit/obstacles.ts";

/** A file that the service's user is kept from by owners and permissions. */
export interface Denied {
  readonly need: Need;
  readonly refusal: Refusal;
  /** Name of the group that would be let in; null when it has none, or that would not help. */
  readonly group: string | null;
  /** Tried out as that user; false = read off the permission bits, and an access control list may say otherwise. */
  readonly isCertain: boolean;
}

/** The account of the unit: its user with its groups. Null when this host knows no such user. */
export async function unitAccount(unit: Confinement, run: Run): Promise<Account | null> {
  const [uid] = numbers(await run(["id", "-u", unit.user]));
  if (uid === undefined) return null;
  const groups = numbers(await run(["id", "-G", unit.user]));
  for (const group of [...(unit.group === null ? [] : [unit.group]), ...unit.supplementaryGroups]) {
    const gid = /^\d+$/.test(group) ? Number(group) : await groupId(group, run);
    if (gid !== null) groups.push(gid);
  }
  return { uid, groups: [...new Set(groups)] };
}

/** Which files the account is kept from. What is not there, and what cannot be looked at, is nothing to say here. */
export async function deniedTo(account: Account, needs: readonly Need[], run: Run): Promise<Denied[]> {
  const denied: Denied[] = [];
  for (const need of needs) {
    const places = placesOf(need.realPath);
    const refusal = places === null ? null : refusalOf(account, places, need.access);
    if (refusal === null) continue;
    const isCertain = process.getuid?.() === 0;
    if (isCertain && (await isLetIn(account, need, run))) continue;
    const { gid } = refusal.place;
    const group = refusal.groupHelps && gid !== 0 ? await groupName(gid, run) : null;
    denied.push({ need, refusal, group, isCertain });
  }
  return denied;
}

/** Asks the kernel in the user's name, which knows of access control lists and of what network file systems think. */
async function isLetIn({ uid, groups }: Account, { path, access }: Need, run: Run): Promise<boolean> {
  const [primary = uid, ...others] = groups;
  const { ok } = await run([
    "setpriv",
    ...[`--reuid=${uid}`, `--regid=${primary}`],
    others.length === 0 ? "--clear-groups" : `--groups=${others.join(",")}`,
    ...["test", { read: "-r", run: "-x", write: "-w" }[access], path],
  ]);
  return ok;
}

function placesOf(path: string | null): Place[] | null {
  if (path === null) return null;
  const paths = [path];
  for (let above = dirname(path); above !== paths[0]; above = dirname(above)) paths.unshift(above);
  try {
    return paths.map((each) => {
      const { uid, gid, mode } = statSync(each);
      return { path: each, uid, gid, mode: mode & 0o7777 };
    });
  } catch {
    return null;
  }
}

function numbers({ ok, stdout }: { ok: boolean; stdout: string }): number[] {
  return ok
    ? stdout
        .trim()
        .split(/\s+/)
        .filter((word) => /^\d+$/.test(word))
        .map(Number)
    : [];
}

async function groupId(name: string, run: Run): Promise<number | null> {
  const id = groupEntry(await run(["getent", "group", name]))[2] ?? "";
  return /^\d+$/.test(id) ? Number(id) : null;
}

async function groupName(gid: number, run: Run): Promise<string> {
  return groupEntry(await run(["getent", "group", String(gid)]))[0] || String(gid);
}

/** `flexlm:x:1005:anna` */
function groupEntry({ ok, stdout }: { ok: boolean; stdout: string }): string[] {
  return ok ? (stdout.split("\n", 1)[0] ?? "").split(":") : [];
}
