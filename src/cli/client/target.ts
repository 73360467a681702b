import { accessSync, constants, existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Environment } from "../../config/environment.ts";
import { codeOf } from "../../domain/error-code.ts";
import { readSecretFile } from "../../system/secret-file.ts";
import { text } from "../command.ts";
import { EXIT_UNREACHABLE, Failure } from "../io.ts";

export const CLIENT_OPTIONS = {
  url: text(
    "<address>",
    "URL of a remote licmond, e.g. https://licenses.site.example (default: $LICMOND_URL)",
  ),
  "key-file": text("<file>", "file with the API key (default: the key in $LICMOND_API_KEY)"),
};

export interface ClientOptions {
  readonly url: string | undefined;
  readonly "key-file": string | undefined;
}

export interface Target {
  /** Name in messages: a URL without a trailing slash, or the path of a socket. */
  readonly where: string;
  readonly url: string;
  readonly unix: string | null;
  readonly key: string | null;
}

/** Directory of the service's sockets (systemd's RuntimeDirectory=). */
const RUNTIME_DIRECTORY = "/run/licmond";

/**
 * Finds the daemon: `--url`, else $LICMOND_URL, else `url` in `~/.config/licmond/client.toml`, else the daemon on this
 * host through its sockets, which need no key. Rejects with a Failure and advice.
 */
export async function findTarget(options: ClientOptions, env: Environment): Promise<Target> {
  const file = await clientFile(env);
  const named = options.url ?? (env.LICMOND_URL || undefined);
  const url = named ?? file.url;
  // Send the key in the client file only to the URL in the same file.
  const key = await keyOf(options["key-file"], env, named === undefined ? file.key_file : undefined);
  if (url !== undefined) return { where: checkedUrl(url), url: checkedUrl(url), unix: null, key };
  const directory = (env.RUNTIME_DIRECTORY || RUNTIME_DIRECTORY).split(":", 1)[0] ?? "";
  const sockets = ["admin.sock", "viewer.sock"].map((name) => join(directory, name));
  const unix = sockets.find((socket) => may(constants.W_OK, socket));
  // A key takes precedence over the socket's role.
  if (unix !== undefined) return { where: unix, url: "http://localhost", unix, key };
  const elsewhere = "connect to another host with --url and a key (--key-file or $LICMOND_API_KEY)";
  if (!existsSync(directory) || (may(constants.X_OK, directory) && !sockets.some(existsSync)))
    throw notHere(`no socket in ${directory}`, elsewhere);
  const groups = "join the group licmond (sudo usermod -a -G licmond USER, then sign in again)";
  throw new Failure(`no permission for the sockets in ${directory}: ${groups}, use sudo, or ${elsewhere}`);
}

export function notHere(why: string, elsewhere = "connect to another host with --url"): Failure {
  return new Failure(
    `licmond is not running on this host: ${why}. Start it (systemctl start licmond), or ${elsewhere}`,
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
    throw new Failure(`invalid URL "${url}"; expected e.g. https://licenses.site.example`);
  return url.replace(/\/+$/, "");
}

async function keyOf(named: string | undefined, env: Environment, listed: string | undefined) {
  const file = named ?? (env.LICMOND_API_KEY ? undefined : listed);
  if (file === undefined) return env.LICMOND_API_KEY || null;
  const read = await readSecretFile(file);
  if ("problem" in read) throw new Failure(`the key file ${file} ${read.problem}`);
  return read.text;
}

const CLIENT_KEYS = ["url", "key_file"] as const;
type ClientFile = Partial<Record<(typeof CLIENT_KEYS)[number], string>>;

async function clientFile(env: Environment): Promise<ClientFile> {
  const file = join(env.XDG_CONFIG_HOME || join(env.HOME || homedir(), ".config"), "licmond/client.toml");
  let toml: unknown;
  try {
    toml = Bun.TOML.parse(await Bun.file(file).text());
  } catch (error) {
    if (codeOf(error) === "ENOENT") return {};
    throw new Failure(`cannot read ${file}, or invalid TOML`);
  }
  for (const [name, value] of Object.entries(toml as object))
    if (!CLIENT_KEYS.some((known) => known === name) || typeof value !== "string")
      throw new Failure(`${file}: invalid "${name}"; expected ${CLIENT_KEYS.join(" and ")}, both strings`);
  return toml as ClientFile;
}
