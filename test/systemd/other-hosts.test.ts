import { describe, expect, test } from "bun:test";
import { BASE, createMachine, until } from "./machine.ts";
import { CONFIG, download, get } from "./service.ts";

const IMAGE = "/mnt/image";

describe.skipIf(BASE === undefined)("other kinds of hosts", () => {
  test("an image: `install --root` prints the remaining steps, and the service runs after boot", async () => {
    await using machine = createMachine();
    await machine.boot();
    await download(machine);
    // Bind-mount the machine's own disk, to see it as an offline image.
    await machine.sh(`mkdir -p ${IMAGE} && mount --bind / ${IMAGE}`);
    const said = await machine.sh(`./licmond install --root ${IMAGE}`);
    const commands = [...said.matchAll(/^ {2}(\S+ --root=.*?)(?: {2}|$)/gm)].map(([, command]) => command);
    expect(commands).toHaveLength(2);
    for (const command of commands) await machine.sh(command ?? "");
    await machine.sh(`umount ${IMAGE}`);
    await machine.reboot();
    await until("it answers", async () => (await get(machine, "/api/ping")).status === 200 || undefined);
    expect(await machine.sh("systemctl is-active licmond; licmond check --no-poll | tail -n 1")).toBe(
      "active\nNo problems found.",
    );
    expect((await machine.run(`sudo -u nobody cat ${CONFIG}`)).exitCode).toBe(1);
    expect(await machine.sh("stat -c '%U:%G %a' /etc/licmond /etc/licmond/secrets /var/lib/licmond")).toBe(
      "root:licmond 750\nroot:root 700\nlicmond:licmond 700",
    );
  });

  test("without systemd-sysusers: `install` creates the same user with useradd", async () => {
    await using machine = createMachine();
    await machine.boot();
    await download(machine);
    await machine.sh("mv $(command -v systemd-sysusers) /root/away");
    expect(await machine.sh("./licmond install --start")).toMatch(
      /^done {3}useradd --system .*: create the user licmond$/m,
    );
    expect((await get(machine, "/api/ping")).status).toBe(200);
    expect(await machine.sh("licmond check | tail -n 1; ./licmond install | tail -n 1")).toBe(
      "No problems found.\nNothing to do: already installed.",
    );
    const made = await machine.sh("getent passwd licmond | cut -d: -f5-");
    const back = "mv /root/away /usr/bin/systemd-sysusers";
    await machine.sh(`licmond uninstall --purge --yes; ${back}; ./licmond install`);
    expect(await machine.sh("getent passwd licmond | cut -d: -f5-")).toBe(made);
  });
});
