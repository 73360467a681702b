import { readFileSync } from "node:fs";
import { codeOf } from "../domain/error-code.ts";
import type { Host } from "./host.ts";
import { SERVICE_NAME } from "./layout.ts";
import type { FileRights, Owner } from "./write.ts";

/** Whose something shall be, in chown(1)'s words. */
export type OwnerName = "root:root" | "root:licmond" | "licmond:licmond";

/** Root's, with this mode; below a root by another user: that user's. */
export function rootsOwn(host: Host, mode: number): FileRights {
  return { mode, owner: host.uid === 0 ? { uid: 0, gid: 0 } : null };
}

/**
 * The numbers behind a name. Null = ownership is not set, because only root can; `unknown` = this host has no such user
 * yet. Below a root without the user, root stands in: tmpfiles.d(5) puts it right when the system boots.
 */
export async function ownerOf(host: Host, name: OwnerName): Promise<Owner | "unknown"> {
  if (host.uid !== 0) return null;
  const root = { uid: 0, gid: 0 };
  if (name === "root:root") return root;
  const account = await serviceAccount(host);
  if (account === null) return host.root === null ? "unknown" : root;
  return name === "root:licmond" ? { uid: 0, gid: account.gid } : account;
}

/** The same when the user must be there by now. */
export async function ownerNow(host: Host, name: OwnerName): Promise<Owner> {
  const owner = await ownerOf(host, name);
  if (owner !== "unknown") return owner;
  throw new Error(`there is no user ${SERVICE_NAME} on this host`);
}

/** The service's user and group: of passwd(5) and group(5), else of what getent(1) finds; null = none yet. */
export async function serviceAccount(host: Host): Promise<NonNullable<Owner> | null> {
  const uid = await idOf(host, "passwd");
  const gid = await idOf(host, "group");
  return uid === null || gid === null ? null : { uid, gid };
}

/** The third field of both tables is the number. */
async function idOf(host: Host, table: "passwd" | "group"): Promise<number | null> {
  const lines = textOf(host.at(`/etc/${table}`)).split("\n");
  let line = lines.find((each) => each.startsWith(`${SERVICE_NAME}:`));
  // Users of a directory service are in no file.
  if (line === undefined && host.root === null)
    line = (await host.run(["getent", table, SERVICE_NAME])).stdout;
  const number = line?.split(":")[2] ?? "";
  return /^\d+$/.test(number) ? Number(number) : null;
}

/** Empty when there is no such file. */
export function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return "";
    throw error;
  }
}
