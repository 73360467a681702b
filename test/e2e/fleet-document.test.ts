/** Runs docs/fleet.md as written: PostgreSQL, a hub, a site, a second hub behind nginx, a dump and its restore. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { appendFile, chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HAS_OPENSSL, selfSigned } from "../certificates.ts";
import { createAdministrator } from "../docs/administrator.ts";
import { claimed, titleOf } from "../docs/claims.ts";
import type { Block } from "../docs/markdown.ts";
import { HAS_POSTGRES, type Postgres, startPostgres } from "../hub/postgres.ts";
import { BINARY, type Daemon, freePort, run, start, until } from "./harness.ts";
import { HAS_NGINX, runNginx } from "./nginx.ts";

const FILE = "docs/fleet.md";
const DAY_MS = 86_400_000;

describe.skipIf(!HAS_POSTGRES || !HAS_OPENSSL)(FILE, () => {
  let folder = "";
  let postgres: Postgres;
  const [ports, stack] = [{ hub: 0, other: 0, proxy: 0, site: 0 }, new AsyncDisposableStack()];
  let site: Daemon | null = null;
  let other: Daemon | null = null;
  let siteKey = "";
  const place = (name: string) => join(folder, name);
  const hubUrl = () => `http://127.0.0.1:${ports.hub}`;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "licmond-fleet-doc-"));
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    postgres = stack.use(await startPostgres(await freePort()));
    for (const name of ["hub", "other", "proxy", "site"] as const) ports[name] = await freePort();
    const database = await postgres.database();
    // As in Debian's package, `postgres` is the superuser and `licmond` does not exist yet.
    const first = new Bun.SQL(database, { max: 1 });
    await first`CREATE ROLE postgres SUPERUSER LOGIN`;
    await first.close();
    const second = new Bun.SQL(database.replace("licmond@", "postgres@"), { max: 1 });
    await second`ALTER ROLE licmond RENAME TO initial`;
    await second.close();
    await mkdir(place("bin"));
    await program("licmond", `[ -f ${folder}/as ] && . ${folder}/as; exec '${BINARY}' "$@"`);
    await program("apt-get", "exit 0");
    await program("sudo", 'if [ "$1" = -u ]; then shift 2; fi; exec "$@"');
    const where = `PGHOST=127.0.0.1 PGPORT=${postgres.port} PGUSER=postgres`;
    for (const name of ["psql", "createdb", "dropdb"])
      await program(name, `${where} exec /usr/bin/${name} "$@"`);
    await program("systemctl", SYSTEMCTL.replaceAll("FOLDER", folder).replaceAll("URL", hubUrl()));
    // PostgreSQL asks for the password from here on.
    await configureHba("host licmond licmond 127.0.0.1/32 scram-sha-256\n");
  });
  afterAll(async () => {
    await site?.[Symbol.asyncDispose]();
    await other?.[Symbol.asyncDispose]();
    await run(["stop"], { program: [place("bin/systemctl")] });
    await stack.disposeAsync();
  });

  async function program(name: string, script: string): Promise<void> {
    await Bun.write(place(`bin/${name}`), `#!/bin/sh\n${script}\n`);
    await chmod(place(`bin/${name}`), 0o755);
  }

  const asAdministrator = () =>
    new Bun.SQL(`postgres://postgres@127.0.0.1:${postgres.port}/postgres`, { max: 1 });

  /** Adds lines to pg_hba.conf above the lines that trust everyone. Returns lines that PostgreSQL rejects. */
  async function configureHba(lines: string): Promise<{ error: string }[]> {
    const sql = asAdministrator();
    try {
      const [{ hba_file: file }] = await sql`SHOW hba_file`;
      await Bun.write(file, `${lines}${await Bun.file(file).text()}`);
      await sql`SELECT pg_reload_conf()`;
      return await sql`SELECT * FROM pg_hba_file_rules WHERE error IS NOT NULL`;
    } finally {
      await sql.close();
    }
  }

  /** Replaces paths and ports that differ on this host. */
  const adapted = (text: string) =>
    text
      .replaceAll(" -g licmond", "")
      .replaceAll("/etc/licmond/", `${folder}/`)
      .replaceAll("127.0.0.1:5432", `127.0.0.1:${postgres.port}`)
      .replaceAll("10.1.2.11:8081", `127.0.0.1:${ports.hub}`)
      .replaceAll("10.1.2.12:8081", `127.0.0.1:${ports.other}`)
      .replaceAll("8081", String(ports.hub))
      .replaceAll("listen 443", `listen 127.0.0.1:${ports.proxy}`)
      .replaceAll("/etc/nginx/", `${folder}/`)
      .replaceAll("https://hub.example", hubUrl());

  const spawn = async (script: string) => {
    const env = { PATH: `${folder}/bin:/usr/bin:/bin`, HOME: folder, PGPASSFILE: place("pgpass") };
    const ended = await run(["-c", script], { program: ["bash"], cwd: folder, env });
    return { exitCode: ended.exitCode, output: ended.stdout + ended.stderr };
  };
  const administrator = createAdministrator({
    get memory() {
      return place("memory");
    },
    run: spawn,
    start: () => {
      throw new Error("no document of a fleet has a stream");
    },
  });

  /** Starts the site of the document with its hub on another port. */
  async function startSite(fleet: string): Promise<void> {
    const config = place("site.toml");
    const http = `[http]\nhost = "127.0.0.1"\nport = ${ports.site}\n`;
    await Bun.write(config, `${http}[storage]\ndirectory = "${place("storage")}"\n${fleet}`);
    await mkdir(place("storage"), { recursive: true });
    if (siteKey === "") {
      const made = await run(["keys", "create", "--config", config, "--name", "me", "--role", "admin"]);
      siteKey = made.stdout.trim();
      // Replaces the Unix socket on the site's host.
      const url = `http://127.0.0.1:${ports.site}`;
      await Bun.write(place("as"), `export LICMOND_URL=${url} LICMOND_API_KEY=${siteKey}\n`);
    }
    await site?.stop();
    site = await start({ args: ["serve", "--config", config], port: ports.site });
    await connected();
  }

  const connected = () =>
    until("the site is connected", async () => {
      const { fleet } = (await site?.json<{ fleet: { state: string } }>("/api/status", siteKey)) ?? {};
      return fleet?.state === "connected" || undefined;
    });

  const steps: Readonly<Record<string, (text: string) => Promise<void>>> = {
    "pg_hba.conf": async (text) => {
      const errors = await configureHba(`${text}\n`);
      expect(errors.map(({ error }) => error)).toEqual([expect.stringContaining("SSL is disabled")]);
    },
    "hub.toml": async (text) => void (await Bun.write(place("hub.toml"), text)),
    "licmond.toml": (text) => startSite(text.replace(/^ca_file.*$/m, "").replace("fleet.key", "muc.key")),
    "nginx.conf": async (text) => {
      if (!HAS_NGINX) return;
      const now = Date.now();
      const { cert, key } = await selfSigned(folder, "proxy", now - DAY_MS, now + DAY_MS);
      await Bun.write(place("hub.pem"), Bun.file(cert));
      await Bun.write(place("hub.key"), Bun.file(key));
      const config = place("other.toml");
      const first = await Bun.file(place("hub.toml")).text();
      await Bun.write(config, first.replace(`port = ${ports.hub}`, `port = ${ports.other}`));
      other = await start({ args: ["hub", "--config", config], port: ports.other });
      stack.use(await runNginx(folder, text));
      const fleet = `[fleet]\nsite = "muc"\nurl = "https://127.0.0.1:${ports.proxy}"\napi_key_file = "${place("muc.key")}"\nca_file = "${place("hub.pem")}"\n`;
      await startSite(fleet);
    },
  };

  for (const block of claimed("fleet", FILE))
    test(titleOf(block), async () => {
      const file = block.options.get("file");
      const text = adapted(block.text);
      // The document says to stop all hubs, but shows the command for only one.
      if (block.text.includes("stop licmond-hub")) await other?.stop();
      if (file === undefined) await administrator.follow({ ...block, text } satisfies Block);
      else await steps[file]?.(text);
      // From the first dump on, PostgreSQL asks for the password, which is in a file.
      if (block.text.includes("CREATE ROLE")) {
        const password = (await Bun.file(place("hub-database")).text()).trim();
        await appendFile(place("pgpass"), `127.0.0.1:${postgres.port}:*:licmond:${password}\n`);
        await chmod(place("pgpass"), 0o600);
      }
    });

  test("after the restore the hub continues with the site", async () => {
    await connected();
    await until("the hub hears of it", async () => {
      const key = (await Bun.file(place("me.key")).text()).trim();
      const answer = await fetch(`${hubUrl()}/api/fleet/sites`, { headers: { "x-api-key": key } });
      const { sites } = (await answer.json()) as { sites?: { site: string; state: string }[] };
      return sites?.[0]?.state === "connected" || undefined;
    });
  });
});

const SYSTEMCTL = `case "$*" in
  *stop*) [ -f FOLDER/hub.pid ] || exit 0
    kill "$(cat FOLDER/hub.pid)" && while kill -0 "$(cat FOLDER/hub.pid)" 2>/dev/null; do sleep 0.1; done
    rm -f FOLDER/hub.pid ;;
  *licmond-hub*) nohup licmond hub --config FOLDER/hub.toml >FOLDER/hub.log 2>&1 &
    echo $! >FOLDER/hub.pid
    until curl -fs URL/api/ping >/dev/null; do kill -0 "$(cat FOLDER/hub.pid)" || { cat FOLDER/hub.log; exit 1; }; sleep 0.1; done ;;
  *) exit 1 ;;
esac`;
