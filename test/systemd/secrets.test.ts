import { beforeAll, describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { join } from "node:path";
import { bootedMachine } from "./booted.ts";
import { BASE, until } from "./machine.ts";
import { PORTS, type Told } from "./secret-takers.ts";
import { dropIn, installed, restart, show } from "./service.ts";

const SECRETS = { webhook: "of-the-hook", email: "of-the-mail", prometheus: "of-the-metrics" };
/** A server that nobody can ask: something to alert of. */
const CONFIG = `
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

/** The life of one machine: each test goes on from where the one before it left off. */
describe.skipIf(BASE === undefined)("secrets that only root can read", () => {
  const machine = bootedMachine((fresh) => installed(fresh, CONFIG));
  beforeAll(async () => {
    for (const [name, secret] of Object.entries(SECRETS))
      await machine.write(`/etc/licmond/secrets/${name}`, `${secret}\n`, 0o600);
  });

  test("`check` says which the unit does not hand over yet, and the drop-in for all of them", async () => {
    expect((await machine.run("sudo -u licmond cat /etc/licmond/secrets/webhook")).exitCode).toBe(1);
    const { stdout } = await machine.run("licmond check");
    const advised = /^ {2}\[Service\]\n(?: {2}.*\n)+/m.exec(stdout)?.[0].replaceAll(/^ {2}/gm, "") ?? "";
    for (const name of Object.keys(SECRETS))
      expect(advised).toContain(`LoadCredential=${name}:/etc/licmond/secrets/${name}\n`);
    await dropIn(machine, "secrets", advised);
    expect((await machine.run("licmond check")).stdout).not.toContain("hands over no credential");
    const tried = await machine.run("licmond notify --test");
    expect(tried.stdout).toContain("The secret_file is a credential");
  });

  test("web hook, mail and remote write have theirs, over TLS that the host's own list of authorities vouches for", async () => {
    await using takers = machine.inNetwork([process.execPath, join(import.meta.dir, "secret-takers.ts")]);
    const told = () =>
      takers
        .output()
        .split("\n")
        .flatMap((line) => (line.startsWith("{") && line.endsWith("}") ? [JSON.parse(line) as Told] : []));
    const first = <Kind extends Told["kind"]>(kind: Kind, path?: string) =>
      told().find(
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

    // While it runs root may try them out as well, and a reload finds them.
    expect(await machine.sh("licmond notify --test")).not.toContain("PROBLEM");
    await machine.sh("systemctl reload licmond");
    // systemctl returns when the signal is sent: the service says by itself when it has reloaded.
    await until("it has reloaded", async () =>
      (await show(machine, "ActiveState")).ActiveState === "active" ? true : undefined,
    );
    for (const secret of Object.values(SECRETS))
      expect(await machine.sh("journalctl -u licmond -o cat")).not.toContain(secret);
  });
});
