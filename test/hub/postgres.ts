import { existsSync, readdirSync } from "node:fs";
import { chmod, chown, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gather, until } from "../until.ts";

/** Where Debian puts the programs of each version; the newest one. */
const VERSIONS = "/usr/lib/postgresql";
const version = existsSync(VERSIONS)
  ? readdirSync(VERSIONS)
      .filter((name) => existsSync(join(VERSIONS, name, "bin/initdb")))
      .sort((a, b) => Number(b) - Number(a))[0]
  : undefined;
const bin = (program: string) => join(VERSIONS, version ?? "", "bin", program);

/** PostgreSQL does not run as root: it gets the account of Debian's package. */
const isRoot = process.getuid?.() === 0;
const account = isRoot ? accountOf("postgres") : null;

/** Whether tests with a real PostgreSQL can run here; the sum of a run names those that are left out. */
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

/** All that is in a database, as `pg_dump` writes it. Waits for locks of this process's own hubs, which go on meanwhile. */
export async function dumpOf(url: string): Promise<string> {
  const dumped = Bun.spawn([bin("pg_dump"), "--dbname", url], {
    env: { TZ: "UTC", PATH: "/usr/bin:/bin" },
    stderr: "pipe",
  });
  const [text, said] = await Promise.all([dumped.stdout.text(), dumped.stderr.text()]);
  if ((await dumped.exited) !== 0) throw new Error(`pg_dump: ${said}`);
  return text;
}

/** A PostgreSQL of its own, in a folder of its own. Ended and removed at the end of an `await using`. */
export interface Postgres extends AsyncDisposable {
  readonly port: number;
  /** A new, empty database; its URL. */
  database(): Promise<string>;
  /** Ends every process of it at once, as a power cut would. */
  kill(): Promise<void>;
  start(): Promise<void>;
}

/**
 * `settings`: of postgresql.conf, e.g. `shared_buffers=64MB`. `through`: a program that starts its programs, with its arguments.
 * `primary`: that of which this is a standby.
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
  const common = ["-U", "licmond", "-D", data, "--no-sync"];
  const make =
    primary === null
      ? [bin("initdb"), ...common, "-A", "trust", "--encoding=UTF8", "--locale=C.UTF-8"]
      : [bin("pg_basebackup"), ...common, "-h", "127.0.0.1", "-p", String(primary.port), "-R", "-c", "fast"];
  const made = Bun.spawnSync(as(make), { cwd: folder });
  if (made.exitCode !== 0) throw new Error(`${make[0]}: ${made.stderr.toString()}`);
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
        // After a kill, processes of the one before may live for a moment and keep its memory.
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
      // Its workers notice that it is gone and end by themselves.
      child.kill("SIGKILL");
      await child.exited;
      child = null;
    },
    async [Symbol.asyncDispose]() {
      // Ends all connections and itself (fast shutdown).
      child?.kill("SIGINT");
      await child?.exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
  await postgres.start();
  return postgres;
}
