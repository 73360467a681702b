import { statSync } from "node:fs";
import { join } from "node:path";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Prefix of `credential:NAME`, which a setting may have in place of a path. It means a file that systemd
 * passes to the service (`LoadCredential=NAME:/path`), even if the daemon's user cannot read the original
 * file.
 */
const PREFIX = "credential:";

const UNIT_CREDENTIALS = "/run/credentials/licmond.service";

/**
 * Returns the name after `credential:`; null without the prefix, empty if no credential can have this name.
 */
export function credentialName(text: string): string | null {
  if (!text.startsWith(PREFIX)) return null;
  const name = text.slice(PREFIX.length);
  return /^[A-Za-z0-9_][A-Za-z0-9._-]{0,254}$/.test(name) ? name : "";
}

/** Resolves the path of a setting. */
export function pathOfFile(text: string, environment: Environment): string;
export function pathOfFile(text: string | undefined, environment: Environment): string | null;
export function pathOfFile(text: string | undefined, environment: Environment): string | null {
  const name = credentialName(text ?? "");
  return name === null ? (text ?? null) : join(credentialsDirectory(environment), name);
}

/** Returns the credential's name for a resolved path; null for an ordinary file. */
export function credentialOfPath(path: string, environment: Environment): string | null {
  const directory = `${credentialsDirectory(environment)}/`;
  return path.startsWith(directory) ? path.slice(directory.length) : null;
}

/**
 * Creates a function that reports whether the unit has a credential. The function returns false only in the
 * service's main process, where the answer is certain: other commands that read the config must work
 * without credentials, e.g. ExecReload=, from which systemd (252) hides them.
 */
export function credentialFinder(
  environment: Environment,
  pid: number,
  isMissing = hasNoFile,
): (name: string) => boolean {
  const given = environment.CREDENTIALS_DIRECTORY ?? "";
  const inUnit = environment.SYSTEMD_EXEC_PID === String(pid);
  return (name) => (given === "" ? !inUnit : !isMissing(join(given, name)));
}

/** Returns false also if the file is in a directory that this user cannot enter. */
function hasNoFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}

function credentialsDirectory(environment: Environment): string {
  return environment.CREDENTIALS_DIRECTORY || UNIT_CREDENTIALS;
}
