import { describe, expect, test } from "bun:test";
import manifest from "../../package.json";
import { bootedMachine, NEXT_VERSION, nextVersion } from "./booted.ts";
import { BASE } from "./machine.ts";
import {
  allRead,
  BINARY,
  BUSY,
  CONFIG,
  configure,
  createKey,
  download,
  get,
  leftOvers,
  mainPid,
  packageOf,
  runningVersion,
  serverToml,
  sessionIds,
} from "./service.ts";

const SERVERS = `[collector]\ninterval = "5s"\n${serverToml("eda", ["/usr/bin/licmond", ...BUSY.slice(1)])}# edited\n`;

describe.skipIf(BASE === undefined || Bun.which("dpkg-deb") === null)("the Debian package", () => {
  const next = nextVersion();
  const machine = bootedMachine(async (fresh) => {
    await fresh.sh("echo 127.0.0.1 lic-eda >>/etc/hosts");
    const { path, folder } = next();
    await fresh.copyIn(await packageOf(fresh, BINARY, manifest.version, folder), "/root/first.deb");
    await fresh.copyIn(await packageOf(fresh, path, NEXT_VERSION, folder), "/root/second.deb");
  });
  let admin = "";

  const apt = (command: string) => machine.sh(`apt-get -y -q ${command}`);

  test("refuses to install over `licmond install`, and installs after `uninstall`", async () => {
    await download(machine);
    await machine.sh("./licmond install");
    const { exitCode, stdout, stderr } = await machine.run("apt-get -y -q install ./first.deb");
    expect(exitCode).not.toBe(0);
    expect(stdout + stderr).toContain("/usr/local/bin/licmond uninstall");
    await configure(machine, SERVERS);
    await machine.sh("licmond uninstall");
  });

  test("`apt install` enables and starts it with the existing config", async () => {
    await apt("install ./first.deb");
    expect(await machine.sh("systemctl is-active licmond; systemctl is-enabled licmond")).toBe(
      "active\nenabled",
    );
    expect((await get(machine, "/api/ping")).status).toBe(200);
    expect(await machine.read(CONFIG)).toBe(`${SERVERS}\n`);
    admin = await createKey(machine, "admin");
    await allRead(machine, admin, ["eda"]);
    expect((await sessionIds(machine, admin)).length).toBeGreaterThanOrEqual(40);
    expect(await machine.sh("systemd-analyze verify licmond.service 2>&1; dpkg --verify licmond")).toBe("");
  });

  test("an upgrade to a version that rejects the config says so, and the old version keeps running", async () => {
    const pid = await mainPid(machine);
    await configure(machine, `${SERVERS}[nonsense]\n`);
    const { exitCode, stdout, stderr } = await machine.run("apt-get -y -q install ./second.deb");
    expect([exitCode, stdout + stderr]).toEqual([0, expect.stringContaining('unknown key "nonsense"')]);
    expect(stdout + stderr).toContain("The old version keeps running until it is restarted.");
    expect(await mainPid(machine)).toBe(pid);
    expect((await get(machine, "/api/status", admin)).status).toBe(200);
    await configure(machine, SERVERS);
    await apt("install --allow-downgrades ./first.deb");
    await allRead(machine, admin, ["eda"]);
  });

  test("an upgrade restarts the service and keeps config, keys and data", async () => {
    const pid = await mainPid(machine);
    await apt("install ./second.deb");
    expect(await mainPid(machine)).not.toBe(pid);
    expect(await runningVersion(machine, admin)).toBe(NEXT_VERSION);
    expect(await machine.read(CONFIG)).toBe(`${SERVERS}\n`);
    expect((await sessionIds(machine, admin)).length).toBeGreaterThanOrEqual(40);
    await allRead(machine, admin, ["eda"]);
  });

  test("an upgrade does not start a service that its administrator disabled", async () => {
    await machine.sh("systemctl disable --now licmond");
    await apt("install --reinstall ./second.deb");
    expect((await machine.run("systemctl is-active licmond; systemctl is-enabled licmond")).stdout).toBe(
      "inactive\ndisabled\n",
    );
    await machine.sh("systemctl enable --now licmond");
  });

  test("`apt remove` keeps config and data; a new installation finds them", async () => {
    await apt("remove licmond");
    expect((await get(machine, "/api/ping")).status).toBe(0);
    expect((await machine.run("command -v licmond")).exitCode).not.toBe(0);
    expect(await machine.read(CONFIG)).toBe(`${SERVERS}\n`);
    expect(await machine.sh("ls /var/lib/licmond")).toContain("licmond.db");
    await apt("install ./second.deb");
    expect((await get(machine, "/api/status", admin)).status).toBe(200);
    expect((await sessionIds(machine, admin)).length).toBeGreaterThanOrEqual(40);
  });

  test("`apt purge` removes config, data and user", async () => {
    await apt("purge licmond");
    expect((await get(machine, "/api/ping")).status).toBe(0);
    expect((await machine.run("id licmond")).exitCode).toBe(1);
    expect((await machine.run("systemctl status licmond")).exitCode).toBe(4);
    expect(await leftOvers(machine)).toBe("");
  });

  test("a first installation on a fresh host writes a config, and runs", async () => {
    await apt("install ./first.deb");
    expect(await machine.sh("systemctl is-active licmond")).toBe("active");
    expect(await machine.read(CONFIG)).toContain("[[servers]]");
    expect((await machine.run(`sudo -u nobody cat ${CONFIG}`)).exitCode).toBe(1);
    await machine.sh(`sudo -u licmond cat ${CONFIG}`);
    expect(await machine.sh(`stat -c "%U:%G %a" ${CONFIG}`)).toBe("root:licmond 640");
    expect(await machine.sh("systemd-analyze security --no-pager licmond | tail -n 1")).toContain("OK");
  });
});
