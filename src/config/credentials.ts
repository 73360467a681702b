import { statSync } from "node:fs";
import { join } from "node:path";

/** The part of the environment that describes the unit. (Not that of `environment.ts`, which reads the schema of this form.) */
type Environment = Readonly<Record<string, string | undefined>>;

/**
 * `credential:NAME` instead of a path: a file that systemd hands to the service alone (`LoadCredential=NAME:/path`),
 * so that the file itself need not be readable for the daemon's user. Takes effect for every setting that names a
 * certificate, key or secret.
 */
const PREFIX = "credential:";

/** Where systemd puts them for the unit, as seen from outside of it too. */
const UNIT_CREDENTIALS = "/run/credentials/licmond.service";

/** The name after `credential:`; null when the text does not begin so, empty when the name can be no file's. */
export function credentialName(text: string): string | null {
  if (!text.startsWith(PREFIX)) return null;
  const name = text.slice(PREFIX.length);
  return /^[A-Za-z0-9_][A-Za-z0-9._-]{0,254}$/.test(name) ? name : "";
}

/** The path that a setting means: as it is written, or that of its credential. */
export function pathOfFile(text: string, environment: Environment): string {
  const name = credentialName(text);
  return name === null ? text : join(credentialsDirectory(environment), name);
}

/** The credential's name when a path of the built config is one; null for an ordinary file. */
export function credentialOfPath(path: string, environment: Environment): string | null {
  const directory = `${credentialsDirectory(environment)}/`;
  return path.startsWith(directory) ? path.slice(directory.length) : null;
}

/**
 * Whether there is a credential of that name. The answer is no only where it can be known, which is in the service's main process.
 * A command that reads the same config elsewhere is not kept from its work, ExecReload= included, from which systemd
 * (252) hides the credentials that it names. `isMissing` is true only of what is certainly not there.
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

/** False for a file in a directory that this user may not enter. */
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
