import { statSync } from "node:fs";
import { join } from "node:path";

/** Part of the environment that describes the unit. */
type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Prefix of `credential:NAME`, in place of a path: a file that systemd passes to the service (`LoadCredential=NAME:/path`),
 * which the daemon's user then need not be able to read. Works for every certificate, key and secret in the config.
 */
const PREFIX = "credential:";

/** Directory of the unit's credentials, also from outside of the unit. */
const UNIT_CREDENTIALS = "/run/credentials/licmond.service";

/** Returns the name after `credential:`; null without the prefix, empty for a name that no file can have. */
export function credentialName(text: string): string | null {
  if (!text.startsWith(PREFIX)) return null;
  const name = text.slice(PREFIX.length);
  return /^[A-Za-z0-9_][A-Za-z0-9._-]{0,254}$/.test(name) ? name : "";
}

/** Returns the path of a setting: as written, or of its credential. */
export function pathOfFile(text: string, environment: Environment): string {
  const name = credentialName(text);
  return name === null ? text : join(credentialsDirectory(environment), name);
}

/** Returns the credential's name for a path of the built config; null for an ordinary file. */
export function credentialOfPath(path: string, environment: Environment): string | null {
  const directory = `${credentialsDirectory(environment)}/`;
  return path.startsWith(directory) ? path.slice(directory.length) : null;
}

/**
 * Creates a function that looks for a credential. `isMissing` is true only in the service's main process, where it is
 * certain. Other commands that read the same config must work without credentials, such as ExecReload=, from which systemd
 * (252) hides them.
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

/** Returns false also for a file in a directory that this user cannot enter. */
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
