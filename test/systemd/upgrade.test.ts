import { describe, expect, test } from "bun:test";
import { bootedMachine, NEXT_VERSION, nextVersion } from "./booted.ts";
import { BASE, until } from "./machine.ts";
import {
  allRead,
  BUSY,
  CONFIG,
  configure,
  createKey,
  download,
  dropIn,
  get,
  leftOvers,
  mainPid,
  runningVersion,
  serverToml,
  sessionIds,
  show,
} from "./service.ts";

const SERVERS = `[collector]\ninterval = "5s"\n${serverToml("eda", BUSY)}# edited\n`;

const INSTALLED = "/usr/local/bin/licmond";

describe.skipIf(BASE === undefined)("install, upgrade, uninstall", () => {
  const next = nextVersion();
  const machine = bootedMachine(async (fresh) => {
    await fresh.sh("echo 127.0.0.1 lic-eda >>/etc/hosts");
    await download(fresh);
    await fresh.copyIn(next().path, "/root/licmond-next", 0o755);
  });
  let admin = "";
  let version = "";

  /** Checks that the key, the config and the sessions stay. */
  const keeps = async (work: () => Promise<void>) => {
    const sessions = await sessionIds(machine, admin);
    expect(sessions.length).toBeGreaterThanOrEqual(40);
    const config = await machine.read(CONFIG);
    await work();
    expect(await machine.read(CONFIG)).toBe(config);
    expect(await sessionIds(machine, admin)).toEqual(expect.arrayContaining(sessions));
    await allRead(machine, admin, ["eda"]);
  };

  test("`install --start` starts it; a second `install` changes nothing", async () => {
    expect(await machine.sh("./licmond install --start")).toContain("Next:");
    await configure(machine, SERVERS);
    await machine.sh("systemctl reload licmond");
    admin = await createKey(machine, "admin");
    await allRead(machine, admin, ["eda"]);
    version = (await runningVersion(machine, admin)) ?? "";
    const pid = await mainPid(machine);
    await keeps(async () => {
      expect(await machine.sh("./licmond install")).toContain("Nothing to do: already installed.");
    });
    expect(await mainPid(machine)).toBe(pid);
    expect(await machine.sh("systemctl is-enabled licmond")).toBe("enabled");
  });

  test("an upgrade without enough space replaces nothing, and the service keeps running", async () => {
    const pid = await mainPid(machine);
    // Leave space for one more binary. An upgrade needs two: the new one, and the old one to roll back.
    await machine.sh(`size=$(($(stat -c %s ${INSTALLED}) * 5 / 2))
        mount -t tmpfs -o size=$size,mode=0755 none /mnt && cp -a ${INSTALLED} /mnt && mount --bind /mnt /usr/local/bin`);
    try {
      await keeps(async () => {
        const { exitCode, stdout, stderr } = await machine.run("licmond upgrade ./licmond-next");
        expect([exitCode, stdout]).toEqual([1, ""]);
        expect(stderr).toContain("no space left on device");
        expect(stderr).toEndWith("the installed version is unchanged and was not stopped\n");
        expect(await machine.sh("ls -A /usr/local/bin")).toBe("licmond");
      });
    } finally {
      await machine.sh("umount /usr/local/bin /mnt");
    }
    expect(await mainPid(machine)).toBe(pid);
  });

  test("an upgrade that does not start is rolled back", async () => {
    const isNext = `/usr/local/bin/licmond version | grep -q ${NEXT_VERSION}`;
    await dropIn(machine, "guard", `[Service]\nExecStartPre=/bin/sh -c '! ${isNext}'`);
    try {
      await keeps(async () => {
        const { exitCode, stdout, stderr } = await machine.run("licmond upgrade ./licmond-next");
        expect(exitCode).toBe(1);
        expect(`${stdout}${stderr}`).toContain("rolled back to the previous version, which is running again");
        expect(await runningVersion(machine, admin)).toBe(version);
      });
      expect((await show(machine, "ActiveState")).ActiveState).toBe("active");
    } finally {
      await dropIn(machine, "guard", "");
    }
  });

  test("`upgrade` replaces the binary, restarts the service, and keeps everything", async () => {
    const pid = await mainPid(machine);
    await keeps(async () => {
      await machine.sh("./licmond-next upgrade");
      // The upgrade waits until the new version answers.
      expect(await runningVersion(machine, admin)).toBe(NEXT_VERSION);
    });
    expect(await mainPid(machine)).not.toBe(pid);
    expect(await machine.sh("licmond version")).toContain(NEXT_VERSION);
  });

  test("`upgrade --rollback` restores the old version", async () => {
    await keeps(async () => {
      await machine.sh("licmond upgrade --rollback --allow-downgrade");
      expect(await runningVersion(machine, admin)).toBe(version);
    });
  });

  test("a newer binary can replace the file of a running one, which keeps running until the restart", async () => {
    await keeps(async () => {
      await machine.sh("./licmond-next install");
      expect(await runningVersion(machine, admin)).toBe(version);
      await machine.sh("systemctl restart licmond");
      expect(await runningVersion(machine, admin)).toBe(NEXT_VERSION);
    });
  });

  test("`uninstall` stops the service, keeps config and data, and says so", async () => {
    const config = await machine.read(CONFIG);
    const said = await machine.sh("licmond uninstall");
    for (const kept of ["/etc/licmond", "/var/lib/licmond"]) expect(said).toContain(kept);
    expect((await machine.run("systemctl status licmond")).exitCode).toBe(4);
    expect((await get(machine, "/api/ping")).status).toBe(0);
    const listed = await machine.sh("ls -A /usr/local/bin /etc/systemd/system/multi-user.target.wants");
    expect(listed).not.toContain("licmond.service");
    expect((await machine.run("command -v licmond")).exitCode).not.toBe(0);
    expect(await machine.read(CONFIG)).toBe(config);

    // A new installation finds all data again.
    await machine.sh("./licmond-next install --start");
    await until("it answers", async () => (await get(machine, "/api/ping")).status === 200 || undefined);
    expect((await sessionIds(machine, admin)).length).toBeGreaterThanOrEqual(40);
    expect(await machine.read(CONFIG)).toBe(config);
  });

  test("`uninstall --purge` removes everything", async () => {
    expect((await machine.run("licmond uninstall --purge")).exitCode).toBe(2);
    expect((await get(machine, "/api/ping")).status).toBe(200);
    await machine.sh("licmond uninstall --purge --yes");
    expect((await machine.run("id licmond")).exitCode).toBe(1);
    expect(await leftOvers(machine)).toBe("");
    expect((await machine.run("systemctl status licmond")).exitCode).toBe(4);
  });
});
