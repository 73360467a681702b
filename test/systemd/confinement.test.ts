import { beforeAll, describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { join } from "node:path";
import { bootedMachine } from "./booted.ts";
import { BASE, until } from "./machine.ts";
import { PORTS, type Told } from "./secret-takers.ts";
import {
  allRead,
  BUSY,
  configure,
  createKey,
  dropIn,
  get,
  installed,
  restart,
  serverToml,
  show,
} from "./service.ts";

const SECRETS = { webhook: "of-the-hook", email: "of-the-mail", prometheus: "of-the-metrics" };
/** A server that cannot be reached, so that an alert fires. */
const SENDING = `
[alerts]
failures = 1
[[servers]]
id = "gone"
manager = "flexnet"
address = "27000@localhost"
tool = "/opt/no/such/lmutil"
[[notifications]]
type = "webhook"
url = "https://localhost:${PORTS.https}/hook"
secret_file = "credential:webhook"
[[notifications]]
type = "email"
smtp = "smtp://localhost:${PORTS.smtp}"
from = "licmond@company.example"
to = "admin@company.example"
username = "licmond"
secret_file = "credential:email"
[export.remote_write]
url = "https://localhost:${PORTS.https}/write"
token_file = "credential:prometheus"
interval = "5s"
`;

const COLLECTOR = '[collector]\ninterval = "5s"\n';
const PLAIN = COLLECTOR + serverToml("eda");

describe.skipIf(BASE === undefined)("the unit's sandbox", () => {
  const machine = bootedMachine((fresh) => installed(fresh, PLAIN));
  let admin = "";
  beforeAll(async () => {
    await machine.sh("systemctl enable --now licmond");
    admin = await createKey(machine, "admin");
  });

  const check = () => machine.run("licmond check");
  const advisedBy = (stdout: string) =>
    /^ {2}\[Service\]\n(?: {2}.*\n)+/m.exec(stdout)?.[0].replaceAll(/^ {2}/gm, "") ?? "";

  test("a tool under /home: `check` names the setting and suggests a drop-in that works", async () => {
    const tool = "/home/vendor/bin/lmutil";
    await machine.write(tool, '#!/bin/sh\nexec /usr/local/bin/licmond simulate flexnet "$@"\n', 0o755);
    await configure(machine, PLAIN + serverToml("home", [tool]));
    await restart(machine);
    const error = await until("the poll has failed", async () => {
      const path = "/api/licenses/servers/home";
      const { json } = await get<{ error: { message: string } | null }>(machine, path, admin);
      return json?.error?.message;
    });
    expect(error).toContain("Run `licmond check` for the file and the fix");
    const before = await check();
    expect(before.exitCode).toBe(1);
    expect(before.stdout).toContain(`the service cannot reach ${tool}: its unit hides /home`);
    const advised = /^.*(ProtectHome=read-only)/m.exec(before.stdout)?.[1];
    expect(advised).toBe("ProtectHome=read-only");

    await dropIn(machine, "home", `[Service]\n${advised}`);
    await restart(machine);
    await allRead(machine, admin, ["eda", "home"]);
    expect((await check()).stdout).not.toContain("ProtectHome");
    await dropIn(machine, "home", "");
    await configure(machine, PLAIN);
  });

  test("storage elsewhere: `check` names the setting and suggests a drop-in that works", async () => {
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
    expect((await check()).stdout).toContain("No problems found.");
    expect(await machine.sh("ls /srv/licmond")).toContain("licmond.db");
    await dropIn(machine, "data", "");
    await configure(machine, PLAIN);
    await restart(machine);
  });

  test("a log in /tmp, in a closed directory, and without permission: one drop-in opens what a unit can open", async () => {
    await machine.sh(`groupadd -f flexlm; mkdir -p /var/log/flexnet /opt/closed
      echo >/var/log/flexnet/a.log; chgrp -R flexlm /var/log/flexnet; chmod 750 /var/log/flexnet; chmod 640 /var/log/flexnet/a.log
      echo >/tmp/b.log; echo >/opt/closed/c.log`);
    const logs = { a: "/var/log/flexnet/a.log", b: "/tmp/b.log", c: "/opt/closed/c.log" };
    const servers = Object.entries(logs).map(([id, log]) => `${serverToml(id, BUSY)}log_file = "${log}"\n`);
    await machine.sh("echo 127.0.0.1 lic-a lic-b lic-c >>/etc/hosts");
    await configure(machine, PLAIN + servers.join(""));
    const closing = "[Service]\nInaccessiblePaths=/opt/closed\nReadOnlyPaths=/var/lib/licmond";
    await dropIn(machine, "closed", closing);
    const before = (await check()).stdout;
    const fixes = [...before.matchAll(/^PROBLEM {2}(\w+): [^\n]*\n {9}fix: ([^\n]*)/gm)];
    expect(fixes.map(([, what, fix]) => [what, fix])).toEqual([
      ["storage", expect.stringContaining("remove the conflicting line from the unit")],
      ["a", expect.stringContaining("SupplementaryGroups=flexlm")],
      ["b", expect.stringContaining("PrivateTmp=no")],
      ["c", "remove /opt/closed from InaccessiblePaths="],
    ]);
    await dropIn(machine, "closed", "");
    await dropIn(machine, "open", advisedBy(before));
    const stdout = expect.stringContaining("No problems found.");
    expect(await check()).toMatchObject({ exitCode: 0, stdout });
    await dropIn(machine, "open", "");
    await configure(machine, PLAIN);
  });

  test("the copy of the unit leaves no files, and does not affect the service", async () => {
    await restart(machine);
    const state = () =>
      machine.sh(`systemctl show licmond -p MainPID,InvocationID,NRestarts; systemctl --failed --no-legend
        ls -d /run/licmond-check-* /run/systemd/system/licmond-* 2>/dev/null || true`);
    const before = await state();
    // Run from a directory that the sandbox hides.
    await machine.sh("cp licmond elsewhere && ./elsewhere check | grep -q 'gives the service access'");
    await machine.sh("licmond check");
    expect(await state()).toBe(before);
  });

  test("secrets that only root can read: `check` lists the missing credentials and suggests one drop-in", async () => {
    for (const [name, secret] of Object.entries(SECRETS))
      await machine.write(`/etc/licmond/secrets/${name}`, `${secret}\n`, 0o600);
    await configure(machine, SENDING);
    expect((await machine.run("sudo -u licmond cat /etc/licmond/secrets/webhook")).exitCode).toBe(1);
    const advised = advisedBy((await check()).stdout);
    for (const name of Object.keys(SECRETS))
      expect(advised).toContain(`LoadCredential=${name}:/etc/licmond/secrets/${name}\n`);
    await dropIn(machine, "secrets", advised);
    expect((await check()).stdout).not.toContain("names a credential that the unit does not provide");
    const tried = await machine.run("licmond notify --test");
    expect(tried.stdout).toContain("The secret_file is a credential");
  });

  test("webhook, mail and remote write get their secrets, over TLS with the host's authorities", async () => {
    await using takers = machine.inNetwork([process.execPath, join(import.meta.dir, "secret-takers.ts")]);
    const first = <Kind extends Told["kind"]>(kind: Kind, path?: string) =>
      (takers.output().match(/^\{.*\}$/gm) ?? [])
        .map((line) => JSON.parse(line) as Told)
        .find(
          (each): each is Extract<Told, { kind: Kind }> =>
            each.kind === kind && (path === undefined || (each.kind === "request" && each.path === path)),
        );
    const { pem } = await until("they listen", () => first("certificate"));
    await machine.write("/usr/local/share/ca-certificates/company.crt", pem);
    await machine.sh("update-ca-certificates");
    await restart(machine);

    const { headers, body } = await until("the hook was told", () => first("request", "/hook"));
    const signed = `${headers["x-licmond-timestamp"]}.${body}`;
    expect(headers["x-licmond-signature"]).toBe(
      `sha256=${createHmac("sha256", SECRETS.webhook).update(signed).digest("hex")}`,
    );
    expect(await until("the mail server was asked", () => first("login"))).toMatchObject({
      user: "licmond",
      password: SECRETS.email,
    });
    const write = await until("metrics were written", () => first("request", "/write"));
    expect(write.headers.authorization).toBe(`Bearer ${SECRETS.prometheus}`);

    // Root can test notifications while the service runs, and a reload applies them.
    expect(await machine.sh("licmond notify --test")).not.toContain("PROBLEM");
    await machine.sh("systemctl reload licmond");
    // systemctl returns once the signal is sent, so wait until the service reports that it has reloaded.
    await until(
      "it has reloaded",
      async () => (await show(machine, "ActiveState")).ActiveState === "active" || undefined,
    );
    for (const secret of Object.values(SECRETS))
      expect(await machine.sh("journalctl -u licmond -o cat")).not.toContain(secret);
  });
});
