import { existsSync, readdirSync } from "node:fs";
import { chmod, chown, mkdtemp, rename, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gather, until } from "../until.ts";

/** Debian's folder of PostgreSQL versions. Tests use the newest one. */
const VERSIONS = "/usr/lib/postgresql";
const version = existsSync(VERSIONS)
  ? readdirSync(VERSIONS)
      .filter((name) => existsSync(join(VERSIONS, name, "bin/initdb")))
      .sort((a, b) => Number(b) - Number(a))[0]
  : undefined;
const bin = (program: string) => join(VERSIONS, version ?? "", "bin", program);

/**
 * Whether this process is root. PostgreSQL refuses to run as root, so root runs it as the account of
 * Debian's package.
 */
const isRoot = process.getuid?.() === 0;
const account = isRoot ? accountOf("postgres") : null;

/** Whether a PostgreSQL is installed. Tests that need one are skipped otherwise. */
export const HAS_POSTGRES = version !== undefined && (!isRoot || account !== null);

function accountOf(name: string): { readonly uid: number; readonly gid: number } | null {
  const found = Bun.spawnSync(["id", "-u", name]);
  const group = Bun.spawnSync(["id", "-g", name]);
  if (found.exitCode !== 0) return null;
  return { uid: Number(found.stdout.toString()), gid: Number(group.stdout.toString()) };
}

const as = (argv: readonly string[]) =>
  account === null
    ? [...argv]
    : ["setpriv", `--reuid=${account.uid}`, `--regid=${account.gid}`, "--clear-groups", ...argv];

/**
 * Returns the output of `pg_dump`. Does not block, because a hub in this process may hold a lock that
 * pg_dump waits for.
 */
export async function dumpOf(url: string): Promise<string> {
  const dumped = Bun.spawn([bin("pg_dump"), "--dbname", url], {
    env: { TZ: "UTC", PATH: "/usr/bin:/bin" },
    stderr: "pipe",
  });
  const [text, said] = await Promise.all([dumped.stdout.text(), dumped.stderr.text()]);
  if ((await dumped.exited) !== 0) throw new Error(`pg_dump: ${said}`);
  return text;
}

/** A PostgreSQL server with its own data folder. Disposing stops it and removes the folder. */
export interface Postgres extends AsyncDisposable {
  readonly port: number;
  /** Creates an empty database and returns its URL. */
  database(): Promise<string>;
  /** Kills the server with SIGKILL, as a power cut would. */
  kill(): Promise<void>;
  start(): Promise<void>;
}

function runAs(argv: readonly string[], cwd: string): void {
  const { exitCode, stderr } = Bun.spawnSync(as(argv), { cwd });
  if (exitCode !== 0) throw new Error(`${argv[0]}: ${stderr.toString()}`);
}

/**
 * Unpacks a new cluster into `folder`/data. `initdb` takes 1.5 s, unpacking 0.2 s, so the first caller keeps an archive for
 * later runs. The complete archive is moved into place, so parallel test workers never see a part of it.
 */
async function makeCluster(folder: string): Promise<void> {
  const owner = account?.uid ?? process.getuid?.();
  const archive = join(tmpdir(), `licmond-postgres-${version}-${owner}.tar`);
  const isOwn = await stat(archive).then(
    ({ uid }) => uid === owner,
    () => false,
  );
  if (isOwn) return runAs(["tar", "-xf", archive], folder);
  const made = "-D data -U licmond -A trust --encoding=UTF8 --locale=C.UTF-8 --no-sync".split(" ");
  runAs([bin("initdb"), ...made], folder);
  runAs(["tar", "-cf", "data.tar", "data"], folder);
  await rename(join(folder, "data.tar"), archive);
}

/**
 * Starts a PostgreSQL server. `settings` are lines of postgresql.conf, e.g. `shared_buffers=64MB`. `through` is a command that
 * runs the server's programs, e.g. `prlimit`. With `primary`, the server is its standby.
 */
export async function startPostgres(
  port: number,
  settings: readonly string[] = [],
  through: readonly string[] = [],
  primary: Pick<Postgres, "port"> | null = null,
): Promise<Postgres> {
  const folder = await mkdtemp(join(tmpdir(), "licmond-postgres-"));
  if (account !== null) await chown(folder, account.uid, account.gid);
  await chmod(folder, 0o700);
  const data = join(folder, "data");
  if (primary === null) await makeCluster(folder);
  else {
    const from = ["-h", "127.0.0.1", "-p", String(primary.port), "-U", "licmond"];
    runAs([bin("pg_basebackup"), ...from, "-D", data, "--no-sync", "-R", "-c", "fast"], folder);
  }
  const url = (name: string) => `postgres://licmond@127.0.0.1:${port}/${name}`;
  let databases = 0;
  let child: Bun.Subprocess<"ignore", "pipe", "pipe"> | null = null;

  const postgres: Postgres = {
    port,
    async start() {
      const options = [
        "listen_addresses=127.0.0.1",
        `port=${port}`,
        `unix_socket_directories=${folder}`,
        ...settings,
      ];
      const started = Bun.spawn(
        [...through, ...as([bin("postgres"), "-D", data, ...options.flatMap((option) => ["-c", option])])],
        {
          cwd: folder,
          stdin: "ignore",
          stdout: "pipe",
          stderr: "pipe",
          env: { TZ: "UTC", PATH: "/usr/bin:/bin" },
        },
      );
      child = started;
      const printed = gather(started.stdout, started.stderr);
      const isUp = await until(`PostgreSQL takes connections on port ${port}`, async () => {
        // After a kill, backends of the old server may hold its shared memory for a moment.
        if (started.exitCode !== null && printed.text().includes("pre-existing shared memory")) return false;
        if (started.exitCode !== null) throw new Error(`PostgreSQL ended:\n${printed.text()}`);
        const asked = Bun.spawnSync([...through, bin("pg_isready"), "-h", "127.0.0.1", "-p", String(port)]);
        return asked.exitCode === 0 || undefined;
      });
      if (!isUp) await postgres.start();
    },
    async database() {
      const name = `test_${++databases}`;
      const sql = new Bun.SQL(url("postgres"), { max: 1 });
      await sql.unsafe(`CREATE DATABASE ${name}`);
      await sql.close();
      return url(name);
    },
    async kill() {
      if (child === null) return;
      // The backends notice that the server is gone and exit.
      child.kill("SIGKILL");
      await child.exited;
      child = null;
    },
    async [Symbol.asyncDispose]() {
      // SIGINT is a fast shutdown: open connections are closed.
      child?.kill("SIGINT");
      await child?.exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
  await postgres.start();
  return postgres;
}
