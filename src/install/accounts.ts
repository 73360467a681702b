import { readFileSync } from "node:fs";
import { codeOf } from "../domain/error-code.ts";
import type { Host } from "./host.ts";
import { SERVICE_NAME } from "./layout.ts";

export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** The daemon's user and group on the host: of passwd(5) and group(5), else of what getent(1) finds; null = none yet. */
export async function serviceAccount(host: Host): Promise<Account | null> {
  const uid = await idOf(host, "passwd");
  const gid = await idOf(host, "group");
  return uid === null || gid === null ? null : { uid, gid };
}

/** The third field of both tables is the number. */
async function idOf(host: Host, table: "passwd" | "group"): Promise<number | null> {
  const line =
    linesOf(host.at(`/etc/${table}`)).find((each) => each.startsWith(`${SERVICE_NAME}:`)) ??
    (await asked(host, table));
  const number = line?.split(":")[2] ?? "";
  return /^\d+$/.test(number) ? Number(number) : null;
}

/** Users of a directory service are in no file. */
async function asked(host: Host, table: string): Promise<string | null> {
  if (host.root !== null) return null;
  const { ok, stdout } = await host.run(["getent", table, SERVICE_NAME]);
  return ok ? stdout : null;
}

function linesOf(path: string): string[] {
  try {
    return readFileSync(path, "utf8").split("\n");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  }
}
