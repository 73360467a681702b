import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { Failure } from "../io.ts";
import { choosePort } from "./start-site.ts";

const VERSIONS = "/usr/lib/postgresql";
/** PostgreSQL refuses to run as root; root starts it under the first existing account of these. */
const ACCOUNTS = ["postgres", "nobody"] as const;
const ROLE = "licmond";
const PATIENCE_MS = 30_000;

export interface DemoPostgres {
  readonly url: string;
  readonly passwordFile: string;
  stop(): Promise<void>;
}

/**
 * Starts PostgreSQL on a directory, which is created if missing. It listens on loopback and requires a password, to keep
 * out other users of this host. Throws Failure with advice.
 */
export async function startPostgres(directory: string): Promise<DemoPostgres> {
  const data = join(directory, "data");
  const passwordFile = join(directory, "password");
  const isNew = !existsSync(join(data, "PG_VERSION"));
  const programs = programsFor(isNew ? null : readFileSync(join(data, "PG_VERSION"), "utf8").trim());
  const account = accountToUse();
  const as = (program: string, ...args: string[]) => [...account.prefix, join(programs, program), ...args];
  if (isNew) {
    mkdirSync(directory, { recursive: true });
    writeFileSync(passwordFile, `${crypto.getRandomValues(new Uint8Array(24)).toHex()}\n`, { mode: 0o600 });
    for (const path of [directory, passwordFile]) account.own(path);
    chmodSync(directory, 0o700);
    const how = ["--auth=scram-sha-256", `--pwfile=${passwordFile}`, "--encoding=UTF8", "--locale=C.UTF-8"];
    const [command = "", ...args] = as("initdb", "-D", data, "-U", ROLE, ...how);
    const made = spawnSync(command, args, { cwd: "/", encoding: "utf8" });
    if (made.status !== 0) throw new Failure(`PostgreSQL cannot create a database: ${made.stderr.trim()}`);
  }
  const port = choosePort("127.0.0.1", 0, false);
  const log = join(directory, "log");
  const options = { listen_addresses: "127.0.0.1", port, unix_socket_directories: "" };
  const settings = Object.entries(options).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const child = Bun.spawn(as("postgres", "-D", data, ...settings), {
    cwd: "/",
    stdin: "ignore",
    stdout: Bun.file(log),
    stderr: Bun.file(log),
    // Ctrl-C signals the whole process group, and the database must outlive the hub.
    detached: true,
  });
  const postgres: DemoPostgres = {
    url: `postgres://${ROLE}@127.0.0.1:${port}/postgres`,
    passwordFile,
    async stop() {
      // PostgreSQL's "fast shutdown".
      child.kill("SIGINT");
      await child.exited;
    },
  };
  const until = performance.now() + PATIENCE_MS;
  while (
    spawnSync(join(programs, "pg_isready"), ["-q", "-h", "127.0.0.1", "-p", String(port)]).status !== 0
  ) {
    if (child.exitCode === null && performance.now() < until) {
      await Bun.sleep(50);
      continue;
    }
    await postgres.stop();
    throw new Failure(`PostgreSQL does not start: ${readFileSync(log, "utf8").trim().split("\n").at(-1)}`);
  }
  return postgres;
}

function programsFor(version: string | null): string {
  const installed = existsSync(VERSIONS) ? readdirSync(VERSIONS) : [];
  const newestFirst = installed.sort((a, b) => Number(b) - Number(a));
  const folders = newestFirst
    .filter((name) => version === null || name === version)
    .map((name) => join(VERSIONS, name, "bin"));
  const onPath = Bun.which("initdb");
  if (onPath !== null) folders.push(dirname(onPath));
  const found = folders.find((folder) => existsSync(join(folder, "initdb")));
  if (found !== undefined) return found;
  throw new Failure(
    `PostgreSQL ${version === null ? "14 or later" : version} is not installed: found no initdb in ${VERSIONS} or on $PATH ` +
      "(Debian and Ubuntu: apt-get install postgresql)",
  );
}

/** Returns the account for PostgreSQL: the current user, or another one for root. */
function accountToUse() {
  // Stops PostgreSQL with this process, even if it is killed.
  const tied = Bun.which("setpriv") === null ? [] : ["setpriv", "--pdeathsig=INT"];
  if (process.getuid?.() !== 0) return { prefix: [...tied, ...(tied.length > 0 ? ["--"] : [])], own() {} };
  for (const name of ACCOUNTS) {
    const [uid, gid] = ["-u", "-g"].map((which) =>
      Number.parseInt(spawnSync("id", [which, name], { encoding: "utf8" }).stdout, 10),
    );
    if (uid === undefined || gid === undefined || Number.isNaN(uid) || Number.isNaN(gid)) continue;
    if (tied.length === 0) break;
    const own = (path: string) => chownSync(path, uid, gid);
    return { prefix: [...tied, `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups", "--"], own };
  }
  throw new Failure(
    `PostgreSQL does not run as root: start this as another user, or install setpriv and an account (${ACCOUNTS.join(" or ")})`,
  );
}
