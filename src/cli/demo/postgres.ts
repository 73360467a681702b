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

/** Where Debian and Ubuntu put the programs of each version. */
const VERSIONS = "/usr/lib/postgresql";
/** PostgreSQL refuses to run as root: root starts it as the first of these that there is. */
const ACCOUNTS = ["postgres", "nobody"] as const;
const ROLE = "licmond";
/** PostgreSQL that is not up by then will not be. */
const PATIENCE_MS = 30_000;

/** A PostgreSQL of the demo's own, with a database and a role for a hub. */
export interface DemoPostgres {
  readonly url: string;
  readonly passwordFile: string;
  /** It ends all connections and itself. */
  stop(): Promise<void>;
}

/**
 * Starts PostgreSQL on a directory, which it makes where it is not there. It listens on loopback alone, and asks for a
 * password: other people of this host may not come in. Throws Failure with what is missing.
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
    if (made.status !== 0) throw new Failure(`PostgreSQL cannot make a database: ${made.stderr.trim()}`);
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
    // Ctrl-C on a terminal goes to all of its group: the database must outlive the hub.
    detached: true,
  });
  const postgres: DemoPostgres = {
    url: `postgres://${ROLE}@127.0.0.1:${port}/postgres`,
    passwordFile,
    async stop() {
      // Its "fast shutdown".
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

/** The folder of PostgreSQL's programs: of a version, else of the newest one. */
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
    `PostgreSQL ${version === null ? "14 or later" : version} is not on this host: there is no initdb in ${VERSIONS} or on $PATH ` +
      "(Debian and Ubuntu: apt-get install postgresql)",
  );
}

/** As whom PostgreSQL runs: as the user who starts it; root's is started as another one. */
function accountToUse() {
  // It ends with this process, also where that is killed.
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
