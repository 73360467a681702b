import { describe, expect, test } from "bun:test";
import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { checkUnit } from "../../src/commands/check-unit.ts";
import { unitOfFolders } from "../../src/commands/unit-text.ts";
import { interpretConfig } from "../../src/config/load.ts";
import type { Run } from "../../src/install/host.ts";
import { createPlace, run } from "./rig.ts";

/** A host with the users and groups that the test says; who asks may be let in as them, or not. */
function hostOf(answers: Readonly<Record<string, string>>, isLetIn = false): Run {
  return (argv) => {
    const asked = argv.join(" ");
    if (argv[0] === "setpriv")
      return Promise.resolve({ ok: isLetIn, exitCode: isLetIn ? 0 : 1, stdout: "", words: "" });
    const stdout = answers[asked];
    const ok = stdout !== undefined;
    return Promise.resolve({ ok, exitCode: ok ? 0 : 1, stdout: stdout ?? "", words: "" });
  };
}

const LICMOND = { "id -u licmond": "61990\n", "id -G licmond": "61990\n" };

interface Told {
  readonly problems: string[];
  readonly warnings: string[];
  readonly fine: string[];
  readonly out: string;
}

async function told(
  toml: string,
  unitFile: string,
  host: Run = hostOf(LICMOND),
  env: Record<string, string> = { PATH: "/usr/bin:/bin" },
): Promise<Told> {
  const loaded = interpretConfig(toml, null, env);
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  const found = { problems: [] as string[], warnings: [] as string[], fine: [] as string[], out: "" };
  const io = {
    env,
    out(text: string) {
      found.out += text;
    },
  };
  await checkUnit(
    { config: loaded.config, file: null, unitFile },
    io,
    {
      fine: (what, message) => void found.fine.push(`${what}: ${message}`),
      warning: (what, message) => void found.warnings.push(`${what}: ${message}`),
      problem: (what, message, fix) => void found.problems.push(`${what}: ${message}; ${fix}`),
    },
    host,
  );
  return found;
}

const SHIPPED = join(import.meta.dir, "../../systemd/licmond.service");
const server = (more: string) =>
  `[[servers]]\nid = "eda"\nmanager = "flexnet"\naddress = "27000@127.0.0.1"\n${more}\n`;

describe("the shipped unit", () => {
  test("lets the service reach what is usual", async () => {
    const { problems, fine, out } = await told(
      server('tool = "/bin/sh"\nlog_file = "/etc/hostname"'),
      SHIPPED,
    );
    expect(problems).toEqual([]);
    expect(fine).toEqual([`unit: ${SHIPPED} lets the service reach what it needs`]);
    expect(out).toBe("");
  });

  test("each thing in the way is told, and one drop-in for all of it", async () => {
    const { problems, out } = await told(
      `[http]\nport = 443
[storage]\ndirectory = "/srv/licmond"
${server('tool = "/home/lic/lmutil"\nlog_file = "/tmp/lmgrd.log"')}
[[notifications]]\ntype = "webhook"\nurl = "https://a.example"\nsecret_file = "credential:hook"`,
      SHIPPED,
    );
    expect(problems).toEqual([
      "http: the service may not listen on port 443, which is below 1024; AmbientCapabilities=CAP_NET_BIND_SERVICE and CapabilityBoundingSet=CAP_NET_BIND_SERVICE in a drop-in of the unit, see below",
      "storage: /srv/licmond cannot be written by the service: ProtectSystem=strict makes it read-only; ReadWritePaths=/srv/licmond in a drop-in of the unit, see below",
      "eda: tool: /home/lic/lmutil lies under /home, which ProtectHome=yes hides from the service; ProtectHome=read-only in a drop-in of the unit, see below",
      "eda: log_file: /tmp/lmgrd.log lies under /tmp, of which the service has one of its own (PrivateTmp=yes); PrivateTmp=no in a drop-in of the unit, see below",
      "notifications[0].secret_file: the unit hands over no credential named hook; LoadCredential=hook:/etc/licmond/secrets/hook in a drop-in of the unit, see below",
    ]);
    expect(out).toBe(`
The drop-in: sudo systemctl edit licmond

  [Service]
  AmbientCapabilities=CAP_NET_BIND_SERVICE
  CapabilityBoundingSet=CAP_NET_BIND_SERVICE
  ReadWritePaths=/srv/licmond
  ProtectHome=read-only
  PrivateTmp=no
  LoadCredential=hook:/etc/licmond/secrets/hook

then: sudo systemctl restart licmond

`);
  });
});

describe("whom the service runs as", () => {
  const unit = async (folder: string, more = "") => {
    const file = join(folder, "x.service");
    await Bun.write(file, `[Service]\nUser=licmond\n${more}`);
    return file;
  };

  test("a log of another group, and the group that helps", async () => {
    await using place = await createPlace();
    const log = join(place.folder, "lmgrd.log");
    await Bun.write(log, "");
    await chmod(log, 0o640);
    await chmod(place.folder, 0o755);
    const gid = process.getgid?.() ?? 0;
    const toml = server(`tool = "/bin/sh"\nlog_file = "${log}"`);
    const groups = { [`getent group ${gid}`]: `flexlm:x:${gid}:\n` };
    const { problems, warnings, out } = await told(
      toml,
      await unit(place.folder),
      hostOf({ ...LICMOND, ...groups }),
    );
    const message = `eda: log_file: ${log} cannot be read by the user licmond (mode 0640)`;
    if (process.getuid?.() !== 0) {
      expect(warnings).toEqual([expect.stringContaining(`${message}, unless an access control list`)]);
      expect(out).toContain("SupplementaryGroups=flexlm\n");
    } else {
      // Root's own group is given to nobody.
      expect(problems).toEqual([`${message}; setfacl -m u:licmond:r ${log}`]);
    }

    // An access control list lets it in, as only root can try out.
    if (process.getuid?.() === 0)
      expect((await told(toml, await unit(place.folder), hostOf(LICMOND, true))).problems).toEqual([]);

    const helped = { ...LICMOND, "getent group flexlm": `flexlm:x:${gid}:\n` };
    const again = await told(toml, await unit(place.folder, "SupplementaryGroups=flexlm"), hostOf(helped));
    expect([...again.problems, ...again.warnings]).toEqual([]);
  });

  test("a secret's place is not said", async () => {
    await using place = await createPlace();
    const secret = join(place.folder, "hook");
    await Bun.write(secret, "s");
    await chmod(secret, 0o600);
    await chmod(place.folder, 0o755);
    const toml = `[[notifications]]\ntype = "webhook"\nurl = "https://a.example"\nsecret_file = "${secret}"`;
    const { problems, warnings } = await told(toml, await unit(place.folder));
    expect([...problems, ...warnings]).toEqual([
      expect.stringContaining(
        "notifications[0].secret_file: the file cannot be read by the user licmond (mode 0600)",
      ),
    ]);
    expect([...problems, ...warnings][0]).toContain(
      'LoadCredential=webhook:/its/path in a drop-in of the unit, and secret_file = "credential:webhook" in the config',
    );
    expect(JSON.stringify([problems, warnings])).not.toContain(secret);
  });

  test("a key that only root reads is handed over", async () => {
    await using place = await createPlace();
    const key = join(place.folder, "key.pem");
    await Bun.write(key, "");
    await chmod(key, 0o600);
    await chmod(place.folder, 0o755);
    const { problems, warnings, out } = await told(
      `[http]\ntls_cert = "/etc/hostname"\ntls_key = "${key}"`,
      await unit(place.folder),
    );
    expect([...problems, ...warnings]).toEqual([
      expect.stringContaining(`http.tls_key: ${key} cannot be read by the user licmond (mode 0600)`),
    ]);
    expect(out).toContain(`  LoadCredential=tls-key:${key}\n`);
  });

  test("who asks as that user, with fewer groups than the service, hears of it", async () => {
    await using place = await createPlace();
    const me = { "id -u licmond": `${process.getuid?.()}\n`, "id -G licmond": `${process.getgid?.()}\n` };
    const flexlm = { "getent group flexlm": "flexlm:x:61991:\n" };
    expect((await told("", await unit(place.folder), hostOf(me))).warnings).toEqual([]);
    const more = await unit(place.folder, "SupplementaryGroups=flexlm");
    const { problems, warnings } = await told("", more, hostOf({ ...me, ...flexlm }));
    expect(problems).toEqual([]);
    expect(warnings).toEqual([
      "unit: the service has the groups flexlm besides (SupplementaryGroups=): what cannot be read here, it may read (fix: `sudo licmond check` knows)",
    ]);
  });

  test("there is no such user", async () => {
    await using place = await createPlace();
    const { problems } = await told("", await unit(place.folder), hostOf({}));
    expect(problems).toEqual([
      "unit: there is no user licmond on this host; `licmond install` makes it, and so does systemd-sysusers",
    ]);
  });
});

test("a tool that only the shell of who asks knows", async () => {
  await using place = await createPlace();
  const tool = join(place.folder, "lmutil");
  await Bun.write(tool, "#!/bin/sh\n");
  await chmod(tool, 0o755);
  const unit = join(place.folder, "x.service");
  await Bun.write(unit, "[Service]\nUser=licmond\nEnvironment=PATH=/usr/bin:/bin\n");
  const { problems } = await told(server(""), unit, hostOf(LICMOND), { PATH: `${place.folder}:/bin` });
  expect(problems).toEqual([
    `eda: tool: lmutil is ${tool} for you, and not in the $PATH of the service (/usr/bin:/bin); tool = "${tool}" in the config`,
  ]);
});

test("a setting that the unit alone gives the service is told of, and its value is not", async () => {
  await using place = await createPlace();
  const unit = join(place.folder, "x.service");
  await Bun.write(
    unit,
    "[Service]\nUser=licmond\nEnvironment=LICMOND_HTTP_PORT=9000 LICMOND_LOG_LEVEL=debug OTHER=1\nEnvironment=LICMOND_HTTP_PORT=9001\n",
  );
  const env = { PATH: "/bin", LICMOND_LOG_LEVEL: "debug" };
  const { problems, warnings } = await told("", unit, hostOf(LICMOND), env);
  expect([problems, warnings]).toEqual([
    [],
    [
      "unit: Environment= gives the service a LICMOND_HTTP_PORT that this command does not have: it may speak of another setting (fix: set it in the config instead, which all read)",
    ],
  ]);
  const same = { ...env, LICMOND_HTTP_PORT: "9001" };
  expect((await told("", unit, hostOf(LICMOND), same)).warnings).toEqual([]);
});

describe("a tool that is more than a program's name", () => {
  test("what it is told to run is looked at too, and a set-user-ID one in front of it", async () => {
    await using place = await createPlace();
    const [unit, sudo] = [join(place.folder, "x.service"), join(place.folder, "sudo")];
    await Bun.write(unit, "[Service]\nUser=licmond\nNoNewPrivileges=yes\nPrivateTmp=yes\n");
    await Bun.write(sudo, "");
    await chmod(sudo, 0o4755);
    const wrapped = server(`tool = ["/usr/bin/env", "LM=1", "-x", "${sudo}", "/no/such/thing"]`);
    const [hidden, ...others] = (await told(wrapped, unit, hostOf(LICMOND, true))).problems;
    expect(hidden).toContain(`eda: tool: ${sudo} lies under /tmp`);
    expect(others).toEqual([]);

    await Bun.write(unit, "[Service]\nUser=licmond\nNoNewPrivileges=yes\n");
    const asRoot = server(`tool = ["${sudo}", "-u", "flexlm", "/bin/sh"]`);
    expect((await told(asRoot, unit, hostOf(LICMOND, true))).problems).toEqual([
      expect.stringMatching(/^eda: tool: \S+ is a set-user-ID .*; name the program that it runs alone/),
    ]);
    const { problems, warnings } = await told(server(`tool = "${sudo}"`), unit, hostOf(LICMOND, true));
    expect([problems, warnings]).toEqual([[], [expect.stringContaining("is a set-user-ID")]]);
  });

  test("one that nobody may run is told of once, by the check of the tools", async () => {
    await using place = await createPlace();
    const tool = join(place.folder, "lmutil");
    await Bun.write(tool, "#!/bin/sh\n");
    await chmod(tool, 0o644);
    const unit = join(place.folder, "x.service");
    await Bun.write(unit, "[Service]\nUser=licmond\nPrivateTmp=yes\n");
    const toml = server(`tool = "${tool}"\nlog_file = "/tmp/lmgrd.log"`);
    const { problems } = await told(toml, unit, hostOf(LICMOND));
    expect(problems).toEqual([expect.stringContaining("eda: log_file: /tmp/lmgrd.log lies under /tmp")]);
  });
});

test("through the command line, with a unit that is named", async () => {
  await using place = await createPlace();
  await mkdir(place.storage);
  const unit = join(place.folder, "x.service");
  await Bun.write(unit, "[Service]\nUser=root\nPrivateTmp=yes\n");
  await place.write(server('tool = "/bin/sh"'));
  const { exitCode, out } = await run(["check", "--config", place.config, "--unit", unit]);
  expect(out).toContain(`PROBLEM  config: ${place.config} lies under /tmp`);
  expect(out).toContain("The drop-in: sudo systemctl edit licmond\n\n  [Service]\n  PrivateTmp=no\n");
  expect(exitCode).toBe(1);
  // A config that no service reads is not judged by the unit of a host.
  expect((await run(["check", "--config", place.config])).out).not.toContain("unit");

  const missing = await run(["check", "--config", place.config, "--unit", join(place.folder, "none")]);
  expect(missing).toMatchObject({ exitCode: 1, out: expect.stringContaining("PROBLEM  unit: ") });
});

test("the units of folders: the strongest, and every drop-in by its name", async () => {
  await using place = await createPlace();
  const [etc, lib] = [join(place.folder, "etc"), join(place.folder, "lib")];
  await Bun.write(join(lib, "licmond.service"), "lib\n");
  await Bun.write(join(lib, "licmond.service.d/10-a.conf"), "lib 10\n");
  await Bun.write(join(lib, "licmond.service.d/20-b.conf"), "lib 20\n");
  expect(unitOfFolders([etc, lib])?.text).toBe("lib\n\nlib 10\n\nlib 20\n");
  await Bun.write(join(etc, "licmond.service.d/10-a.conf"), "etc 10\n");
  await Bun.write(join(etc, "licmond.service.d/README"), "not read\n");
  expect(unitOfFolders([etc, lib])?.text).toBe("lib\n\netc 10\n\nlib 20\n");
  await Bun.write(join(etc, "licmond.service"), "etc\n");
  expect(unitOfFolders([etc, lib])?.text).toBe("etc\n\netc 10\n\nlib 20\n");
  expect(unitOfFolders([join(place.folder, "none")])).toBeNull();
});
