import { beforeAll, describe, expect, test } from "bun:test";
import { bootedMachine } from "./booted.ts";
import { BASE, until } from "./machine.ts";
import {
  allRead,
  BUSY,
  CONFIG,
  configure,
  createKey,
  dropIn,
  get,
  installed,
  restart,
  serverToml,
} from "./service.ts";

const COLLECTOR = '[collector]\ninterval = "5s"\n';
const PLAIN = COLLECTOR + serverToml("eda");

describe.skipIf(BASE === undefined)("what the unit stands in the way of", () => {
  const machine = bootedMachine((fresh) => installed(fresh, PLAIN));
  let admin = "";
  beforeAll(async () => {
    await machine.sh("systemctl enable --now licmond");
    admin = await createKey(machine, "admin");
  });

  /** What `check` finds, and the drop-in that it advises. */
  const check = async () => {
    const { exitCode, stdout } = await machine.run("licmond check");
    return { exitCode, stdout };
  };

  test("a tool under /home: `check` names the line and the drop-in, with which it works", async () => {
    const tool = "/home/vendor/bin/lmutil";
    await machine.write(tool, '#!/bin/sh\nexec /usr/local/bin/licmond simulate flexnet "$@"\n', 0o755);
    await configure(machine, PLAIN + serverToml("home", [tool]));
    await restart(machine);
    const error = await until("the poll has failed", async () => {
      const path = "/api/licenses/servers/home";
      const { json } = await get<{ error: { message: string } | null }>(machine, path, admin);
      return json?.error?.message;
    });
    expect(error).toContain("`licmond check` says which file is meant, and the fix");
    const before = await check();
    expect(before.exitCode).toBe(1);
    expect(before.stdout).toContain(`${tool} cannot be reached by the service: its unit hides /home`);
    const advised = /^.*(ProtectHome=read-only)/m.exec(before.stdout)?.[1];
    expect(advised).toBe("ProtectHome=read-only");

    await dropIn(machine, "home", `[Service]\n${advised}`);
    await restart(machine);
    await allRead(machine, admin, ["eda", "home"]);
    expect((await check()).stdout).not.toContain("ProtectHome");
    await dropIn(machine, "home", "");
    await configure(machine, PLAIN);
  });

  test("data elsewhere: `check` names the line and the drop-in, with which it starts", async () => {
    await machine.sh("install -d -o licmond -g licmond -m 0700 /srv/licmond");
    await configure(machine, `${PLAIN}[storage]\ndirectory = "/srv/licmond"\n`);
    await machine.sh("systemctl stop licmond; systemctl reset-failed licmond");
    expect((await machine.run("systemctl start licmond")).exitCode).toBe(1);
    await machine.sh("systemctl stop licmond");
    const before = await check();
    expect(before.exitCode).toBe(1);
    expect(before.stdout).toContain("ReadWritePaths=/srv/licmond");
    await dropIn(machine, "data", "[Service]\nReadWritePaths=/srv/licmond");
    await restart(machine);
    expect((await check()).stdout).toContain("All is well.");
    expect(await machine.sh("ls /srv/licmond")).toContain("licmond.db");
    await dropIn(machine, "data", "");
    await configure(machine, PLAIN);
    await restart(machine);
  });

  test("a log in /tmp, of a directory that is closed, and behind permissions: one drop-in opens what a unit can open", async () => {
    await machine.sh(`groupadd -f flexlm; mkdir -p /var/log/flexnet /opt/closed
      echo >/var/log/flexnet/a.log; chgrp -R flexlm /var/log/flexnet; chmod 750 /var/log/flexnet; chmod 640 /var/log/flexnet/a.log
      echo >/tmp/b.log; echo >/opt/closed/c.log`);
    const logs = { a: "/var/log/flexnet/a.log", b: "/tmp/b.log", c: "/opt/closed/c.log" };
    const servers = Object.entries(logs).map(([id, log]) => `${serverToml(id, BUSY)}log_file = "${log}"\n`);
    await machine.sh("echo 127.0.0.1 lic-a lic-b lic-c >>/etc/hosts");
    await configure(machine, PLAIN + servers.join(""));
    await dropIn(
      machine,
      "closed",
      "[Service]\nInaccessiblePaths=/opt/closed\nReadOnlyPaths=/var/lib/licmond",
    );
    const before = (await check()).stdout;
    const fixes = [...before.matchAll(/^PROBLEM {2}(\w+): [^\n]*\n {9}fix: ([^\n]*)/gm)];
    expect(fixes.map(([, what, fix]) => [what, fix])).toEqual([
      ["storage", expect.stringContaining("another one of the unit closes it")],
      ["a", expect.stringContaining("SupplementaryGroups=flexlm")],
      ["b", expect.stringContaining("PrivateTmp=no")],
      ["c", "take /opt/closed out of InaccessiblePaths="],
    ]);
    await dropIn(machine, "closed", "");
    const advised = /^ {2}\[Service\]\n(?: {2}.*\n)+/m.exec(before)?.[0].replaceAll(/^ {2}/gm, "") ?? "";
    await dropIn(machine, "open", advised);
    expect(await check()).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("All is well.") });
    await dropIn(machine, "open", "");
    await configure(machine, PLAIN);
  });

  test("the copy of the unit leaves nothing behind, and the running service alone", async () => {
    await restart(machine);
    const state = () =>
      machine.sh(`systemctl show licmond -p MainPID,InvocationID,NRestarts; systemctl --failed --no-legend
        ls -d /run/licmond-check-* /run/systemd/system/licmond-* 2>/dev/null || true`);
    const before = await state();
    // From a place that the sandbox hides.
    await machine.sh("cp licmond elsewhere && ./elsewhere check | grep -q 'lets the service reach'");
    await machine.sh("licmond check");
    expect(await state()).toBe(before);
  });

  test("a key that only root can read reaches the daemon as a credential", async () => {
    const folder = "/etc/licmond/secrets";
    await machine.sh(
      `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost -keyout ${folder}/tls.key -out /root/tls.crt 2>&1 && chmod 0600 ${folder}/tls.key`,
    );
    expect((await machine.run(`sudo -u licmond cat ${folder}/tls.key`)).exitCode).toBe(1);
    await dropIn(
      machine,
      "tls",
      `[Service]\nLoadCredential=tls-cert:/root/tls.crt\nLoadCredential=tls-key:${folder}/tls.key`,
    );
    await configure(
      machine,
      `[http]\ntls_cert = "credential:tls-cert"\ntls_key = "credential:tls-key"\n${PLAIN}`,
    );
    await restart(machine);
    const answer = await machine.sh("curl -fsS --cacert /root/tls.crt https://localhost:8080/api/ping");
    expect(answer).toContain("pong");
    // The daemon reads it; nobody else does, and the config names no secret.
    expect(await machine.read(CONFIG)).not.toContain("PRIVATE KEY");
    await machine.sh("systemctl reload licmond");
    expect((await check()).exitCode).toBe(0);
    await dropIn(machine, "tls", "");
    await configure(machine, PLAIN);
    await restart(machine);
  });
});
