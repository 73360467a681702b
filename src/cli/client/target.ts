import { accessSync, constants, existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Environment } from "../../config/environment.ts";
import { codeOf } from "../../domain/error-code.ts";
import { readSecretFile } from "../../system/secret-file.ts";
import { text } from "../command.ts";
import { EXIT_UNREACHABLE, Failure } from "../io.ts";

/** What each command that asks a running daemon takes. */
export const CLIENT_OPTIONS = {
  url: text("<address>", "a licmond elsewhere, e.g. https://licenses.site.example (default: $LICMOND_URL)"),
  "key-file": text("<file>", "file with the API key (default: what $LICMOND_API_KEY says)"),
};

export interface ClientOptions {
  readonly url: string | undefined;
  readonly "key-file": string | undefined;
}

/** The daemon that a command asks. */
export interface Target {
  /** How messages call it: a URL without a slash at its end, or the path of a socket. */
  readonly where: string;
  readonly url: string;
  /** Path of a Unix socket instead of an address. */
  readonly unix: string | null;
  readonly key: string | null;
}

/** Where the sockets of the service on this host are: systemd's RuntimeDirectory=. */
const RUNTIME_DIRECTORY = "/run/licmond";

/**
 * Finds the daemon: `--url`, else $LICMOND_URL, else `url` of `~/.config/licmond/client.toml`; without any of them the
 * one of this host by its sockets, which ask for no key. Rejects with a Failure that says what is missing.
 */
export async function findTarget(options: ClientOptions, env: Environment): Promise<Target> {
  const file = await clientFile(env);
  const named = options.url ?? (env.LICMOND_URL || undefined);
  const url = named ?? file.url;
  // The file's key is for the file's address: nobody else gets it.
  const key = await keyOf(options["key-file"], env, named === undefined ? file.key_file : undefined);
  if (url !== undefined) return { where: checkedUrl(url), url: checkedUrl(url), unix: null, key };
  const directory = (env.RUNTIME_DIRECTORY || RUNTIME_DIRECTORY).split(":", 1)[0] ?? "";
  const sockets = ["admin.sock", "viewer.sock"].map((name) => join(directory, name));
  const unix = sockets.find((socket) => may(constants.W_OK, socket));
  // A key beats the socket's own role.
  if (unix !== undefined) return { where: unix, url: "http://localhost", unix, key };
  const elsewhere = "name one elsewhere with --url and a key (--key-file or $LICMOND_API_KEY)";
  if (!existsSync(directory) || (may(constants.X_OK, directory) && !sockets.some(existsSync)))
    throw notHere(`no socket in ${directory}`, elsewhere);
  const groups = "join the group licmond (sudo usermod -a -G licmond USER, then sign in again)";
  throw new Failure(`this user may not ask licmond by ${directory}: ${groups}, use sudo, or ${elsewhere}`);
}

/** Returns the failure of a command that finds no daemon on this host. */
export function notHere(why: string, elsewhere = "name one elsewhere with --url"): Failure {
  return new Failure(
    `licmond does not run here: ${why}. Start it (systemctl start licmond), or ${elsewhere}`,
    EXIT_UNREACHABLE,
  );
}

function may(mode: number, path: string): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

function checkedUrl(url: string): string {
  const parsed = URL.parse(url);
  if (parsed === null || !/^https?:$/.test(parsed.protocol) || `${parsed.search}${parsed.hash}` !== "")
    throw new Failure(`"${url}" is no address of a licmond; one is e.g. https://licenses.site.example`);
  return url.replace(/\/+$/, "");
}

async function keyOf(
  named: string | undefined,
  env: Environment,
  listed: string | undefined,
): Promise<string | null> {
  const file = named ?? (env.LICMOND_API_KEY ? undefined : listed);
  if (file === undefined) return env.LICMOND_API_KEY || null;
  const read = await readSecretFile(file);
  if ("problem" in read) throw new Failure(`the key file ${file} ${read.problem}`);
  return read.text;
}

const CLIENT_KEYS = ["url", "key_file"] as const;
type ClientFile = Partial<Record<(typeof CLIENT_KEYS)[number], string>>;

/** What a user keeps for all commands. */
async function clientFile(env: Environment): Promise<ClientFile> {
  const file = join(env.XDG_CONFIG_HOME || join(env.HOME || homedir(), ".config"), "licmond/client.toml");
  let toml: unknown;
  try {
    toml = Bun.TOML.parse(await Bun.file(file).text());
  } catch (error) {
    if (codeOf(error) === "ENOENT") return {};
    throw new Failure(`${file} cannot be read, or is no TOML`);
  }
  for (const [name, value] of Object.entries(toml as object))
    if (!CLIENT_KEYS.some((known) => known === name) || typeof value !== "string")
      throw new Failure(
        `${file}: "${name}" is not known there; it takes ${CLIENT_KEYS.join(" and ")}, both texts`,
      );
  return toml as ClientFile;
}
