import { serviceAccount } from "./accounts.ts";
import type { Host } from "./host.ts";
import { SERVICE_NAME } from "./layout.ts";
import type { Owner } from "./write.ts";

/** Whose something shall be, in chown(1)'s words. */
export type OwnerName =
  | "root:root"
  | `root:${typeof SERVICE_NAME}`
  | `${typeof SERVICE_NAME}:${typeof SERVICE_NAME}`;

/**
 * The numbers behind a name. Null = ownership is not set, because who installs is not root; `unknown` = this host has
 * no such user yet. Below a root without the user, root stands in: tmpfiles.d(5) puts it right when the system boots.
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
