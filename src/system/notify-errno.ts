import { constants } from "node:os";

/**
 * What SQLite calls a failure of the system (https://sqlite.org/rescode.html), and what the system would: the number
 * in such an error is SQLite's own.
 */
const OF_SQLITE: readonly (readonly [prefix: string, code: string])[] = [
  ["SQLITE_READONLY", "EACCES"],
  ["SQLITE_CANTOPEN", "EACCES"],
  ["SQLITE_PERM", "EACCES"],
  ["SQLITE_AUTH", "EACCES"],
  ["SQLITE_FULL", "ENOSPC"],
  ["SQLITE_IOERR", "EIO"],
  ["SQLITE_NOMEM", "ENOMEM"],
  ["SQLITE_BUSY", "EBUSY"],
  ["SQLITE_LOCKED", "EBUSY"],
];

/** For failures that licmond finds by itself, by its own code of them. */
const OF_LICMOND: ReadonlyMap<string, string> = new Map([
  ["NOT_WRITABLE", "EACCES"],
  ["FULL", "ENOSPC"],
  ["HELD", "EBUSY"],
  ["BUSY", "EBUSY"],
  ["IO", "EIO"],
]);

/**
 * The number of errno(3) for what went wrong, as `ERRNO=` of sd_notify(3) wants it, e.g. 98 for a port in use: the
 * system's own where one lies among the causes, else the nearest. Null = there is none that would say anything.
 */
export function errnoOf(error: unknown): number | null {
  let nearest: string | undefined;
  for (let at = error; at instanceof Error; at = at.cause) {
    const code = "code" in at && typeof at.code === "string" ? at.code : "";
    const number = numberOf(code);
    if (number !== null) return number;
    nearest = OF_SQLITE.find(([prefix]) => code.startsWith(prefix))?.[1] ?? nearest ?? OF_LICMOND.get(code);
  }
  return nearest === undefined ? null : numberOf(nearest);
}

function numberOf(code: string): number | null {
  const number: unknown = Object.entries(constants.errno).find(([name]) => name === code)?.[1];
  return typeof number === "number" ? number : null;
}
