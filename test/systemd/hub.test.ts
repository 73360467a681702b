import { afterAll, describe, expect, test } from "bun:test";
import { HAS_POSTGRES, type Postgres, startPostgres } from "../hub/postgres.ts";
import { bootedMachine } from "./booted.ts";
import { BASE, type Machine, until } from "./machine.ts";
import { BUSY, configure, get, installed, serverToml } from "./service.ts";

const HUB_PORT = 8081;
const POSTGRES_PORT = 5432;
const HUB_CONFIG = "/etc/licmond/hub.toml";
const SITE = `[collector]\ninterval = "5s"\n${serverToml("eda", BUSY)}`;
const FLEET = `
[fleet]
site = "muc"
url = "http://127.0.0.1:${HUB_PORT}"
api_key_file = "/etc/licmond/fleet.key"
`;
const hubToml = (database: string) =>
  `[http]\nhost = "0.0.0.0"\nport = ${HUB_PORT}\n[hub]\ndatabase = "${database}"\n`;
/** URL of the test's PostgreSQL. It needs no password, but the config gets one anyway. */
const DATABASE = `postgres://licmond@127.0.0.1:${POSTGRES_PORT}/postgres"\ndatabase_password_file = "/etc/licmond/hub-database`;

/** Writes a file that only the services can read. */
async function secret(machine: Machine, path: string, text: string): Promise<void> {
  await machine.write(path, text, 0o640);
  await machine.sh(`chown root:licmond ${path}`);
}

const show = async (machine: Machine, name: string) =>
  machine.sh(`systemctl show licmond-hub -p ${name} --value`);

type SiteRow = { readonly state: string; readonly servers: number; readonly lagFacts: number | null };

/** A hub and a site on one machine. Each test continues from the state that the previous test left. */
describe.skipIf(BASE === undefined || !HAS_POSTGRES)("a hub, as a service", () => {
  let postgres: Postgres | null = null;
  let admin = "";
  const machine = bootedMachine(async (fresh) => {
    await installed(fresh, SITE);
    postgres = await startPostgres(POSTGRES_PORT, [], fresh.network());
  });
  afterAll(() => postgres?.[Symbol.asyncDispose]());

  const url = `http://127.0.0.1:${HUB_PORT}`;
  const ping = `curl -fsS --max-time 30 ${url}/api/ping`;
  const hub = async <Body>(path: string): Promise<Body> =>
    JSON.parse(await machine.sh(`curl -fsS --max-time 60 -H 'X-API-Key: ${admin}' '${url}${path}'`)) as Body;
  /** Waits until the hub has all facts of the site. */
  const caughtUp = () =>
    until("the hub has what the site has", async () => {
      const [site] = (await hub<{ sites: SiteRow[] }>("/api/fleet/sites")).sites;
      return (site?.state === "connected" && site.servers === 1 && site.lagFacts === 0) || undefined;
    });
  const makeKey = (name: string, role: string, more = "") =>
    machine.sh(`licmond keys create --config ${HUB_CONFIG} --name ${name} --role ${role} ${more}`);

  test("does not start without a config, and the journal says why", async () => {
    expect(await machine.sh("systemd-analyze verify licmond-hub.service 2>&1")).toBe("");
    await machine.run("systemctl start licmond-hub");
    expect(await machine.sh("journalctl --sync; journalctl -u licmond-hub --no-pager")).toContain(HUB_CONFIG);
    await machine.sh("systemctl stop licmond-hub");
  });

  test("`systemctl enable --now` returns when the hub answers", async () => {
    await secret(machine, "/etc/licmond/hub-database", "hunter2\n");
    await secret(machine, HUB_CONFIG, hubToml(DATABASE));
    expect(await machine.sh(`systemctl enable --now licmond-hub && ${ping}`)).toContain("pong");
    expect(await show(machine, "StatusText")).toBe(`0.0.0.0:${HUB_PORT}, No site has pushed yet`);
    admin = await makeKey("me", "admin");
  });

  test("is confined: an exposure of at most 2.0, and no access to the site's files", async () => {
    const verdict = await machine.sh("systemd-analyze security --no-pager licmond-hub | tail -n 1");
    const exposure = Number(/exposure level for licmond-hub\.service: (\d+\.\d+)/.exec(verdict)?.[1]);
    expect(exposure).toBeLessThanOrEqual(2);
    const pid = await show(machine, "MainPID");
    const seen = `nsenter --target=${pid} --mount --setuid=$(id -u licmond) --setgid=$(id -g licmond)`;
    expect(await machine.run(`${seen} ls /var/lib/licmond`)).toMatchObject({ stdout: "" });
    expect(await machine.run(`${seen} touch /etc/licmond/x`)).toMatchObject({ exitCode: 1 });
  });

  test("the site's unit on the same machine pushes to it", async () => {
    await secret(machine, "/etc/licmond/fleet.key", `${await makeKey("muc", "site", "--site muc")}\n`);
    await configure(machine, SITE + FLEET);
    await machine.sh("systemctl enable --now licmond");
    await caughtUp();
    await until("the hub shows what the site read", async () => {
      const { features } = await hub<{ features: object[] }>("/api/licenses/features?limit=3");
      return features.length === 3 || undefined;
    });
    expect(await machine.sh("sudo licmond fleet status")).toContain(`muc: the hub ${url} answers`);
    await until(
      "systemctl status names the site",
      async () => (await show(machine, "StatusText")).endsWith("1 of 1 sites push") || undefined,
    );
  });

  test("a reload of an invalid config fails, and the hub keeps running", async () => {
    const good = await machine.read(HUB_CONFIG);
    await secret(machine, HUB_CONFIG, `${good}[hubb]\n`);
    expect((await machine.run("systemctl reload licmond-hub")).exitCode).not.toBe(0);
    expect(await machine.sh(ping)).toContain("pong");
    await secret(machine, HUB_CONFIG, good);
    await machine.sh("systemctl reload licmond-hub");
    expect(await machine.sh(ping)).toContain("pong");
  });

  test("stops in time, restarts, and recovers after kill -9; the site catches up", async () => {
    await machine.sh("systemctl stop licmond-hub");
    // After its own deadline of 10 s, the service would exit with 1; after systemd's deadline, a signal
    // would end it.
    expect([await show(machine, "Result"), await show(machine, "ExecMainStatus")]).toEqual(["success", "0"]);
    expect((await get(machine, "/api/ping")).status).toBe(200);
    await machine.sh(`systemctl start licmond-hub && ${ping}`);
    await caughtUp();
    const pid = await show(machine, "MainPID");
    await machine.sh(`kill -9 ${pid}`);
    await until("another process answers", async () =>
      (await machine.run(ping)).exitCode === 0 && (await show(machine, "MainPID")) !== pid ? true : undefined,
    );
    await caughtUp();
  });

  test("waits for its database at startup", async () => {
    await machine.sh("systemctl stop licmond-hub");
    await postgres?.kill();
    await machine.run("systemctl start licmond-hub");
    await postgres?.start();
    await until("it answers", async () => ((await machine.run(ping)).exitCode === 0 ? true : undefined));
    await caughtUp();
  });

  test("uninstall stops and removes both units", async () => {
    await machine.sh("licmond uninstall");
    expect((await machine.run("systemctl list-unit-files 'licmond*' --no-legend")).stdout).toBe("");
    expect((await machine.run(ping)).exitCode).not.toBe(0);
  });
});
