import { describe, expect, test } from "bun:test";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { checkUnit, type UnitHost } from "../../../src/cli/check/unit.ts";
import { findingsOf } from "../../../src/cli/check/unit-findings.ts";
import type { Need } from "../../../src/cli/check/unit-needs.ts";
import { answerTo, identityOf, type Question, type Trial } from "../../../src/cli/check/unit-trial.ts";
import { interpretConfig } from "../../../src/config/load.ts";
import { createPlace, run } from "../rig.ts";

const SHIPPED = join(import.meta.dir, "../../../systemd/licmond.service");
const DEFAULT_FILE = "/etc/licmond/licmond.toml";
const server = (more: string) =>
  `[[servers]]\nid = "eda"\nmanager = "flexnet"\naddress = "27000@127.0.0.1"\n${more}\n`;
const LOG = server('tool = "/bin/sh"\nlog_file = "/etc/hostname"');

/** What a sandbox does to a path until one of these lines is in the drop-in. */
interface Refusal {
  readonly error: string;
  /** Something else lies there. */
  readonly hidden?: string;
  /** What lies here cannot be looked at. */
  readonly closed?: string;
  readonly until?: string;
}

interface Sandbox {
  readonly refuse: Readonly<Record<string, Refusal>>;
  readonly properties: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
  readonly noNewPrivileges: boolean;
  readonly mayListen: boolean;
  readonly fails: string | null;
}

const OPEN: Sandbox = {
  refuse: {},
  properties: { User: "licmond" },
  env: { PATH: "/usr/bin:/bin" },
  noNewPrivileges: false,
  mayListen: true,
  fails: null,
};

interface Told {
  readonly problems: string[];
  readonly warnings: string[];
  readonly fine: string[];
  readonly out: string;
  /** The drop-ins that were tried, each beside its question. */
  readonly tried: { readonly lines: readonly string[]; readonly question: Question }[];
}

async function told(
  toml: string,
  sandbox: Partial<Sandbox> = {},
  host: Partial<UnitHost> = {},
  file: string | null = null,
  env: Record<string, string> = { PATH: "/usr/bin:/bin" },
): Promise<Told> {
  const { refuse, properties, env: inside, fails, noNewPrivileges, mayListen } = { ...OPEN, ...sandbox };
  const loaded = interpretConfig(toml, file, env);
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  const found: Told & { out: string } = { problems: [], warnings: [], fine: [], out: "", tried: [] };
  const attempt: UnitHost["attempt"] = async (_unit, lines, question) => {
    found.tried.push({ lines, question });
    if (fails !== null) throw new Error(fails);
    const honest = answerTo(question, inside);
    const files = question.files.map(({ path, places }, index) => {
      const met = refuse[path];
      const answer = honest.files[index];
      if (answer === undefined) throw new Error("no answer");
      if (met === undefined || (met.until !== undefined && lines.includes(met.until))) return answer;
      const other = (place: string, as: string) =>
        place === met.hidden ? "0:0" : place === met.closed ? "EACCES" : as;
      return {
        error: met.error,
        places: places.map((place, at) => other(place, answer.places[at] ?? "")),
      };
    });
    const isSet = (name: string) => lines.some((line) => line.startsWith(`${name}=`));
    return {
      ...honest,
      noNewPrivileges,
      mayListen: mayListen || isSet("AmbientCapabilities"),
      files,
      property: (name) => (isSet(name) ? "" : (properties[name] ?? "")),
    };
  };
  await checkUnit(
    loaded.config,
    file,
    undefined,
    {
      env,
      out(text: string) {
        found.out += text;
      },
    },
    {
      fine: (what, message) => void found.fine.push(`${what}: ${message}`),
      warning: (what, message) => void found.warnings.push(`${what}: ${message}`),
      problem: (what, message, fix) => void found.problems.push(`${what}: ${message}; ${fix}`),
    },
    {
      isRoot: true,
      hasSystemd: async () => true,
      unit: () => Bun.file(SHIPPED).text(),
      attempt,
      ...host,
    },
  );
  return found;
}

/** The default storage directory is not on this host: the sandbox brings it. */
const STORAGE = '[storage]\ndirectory = "/tmp"\n';

describe("what the sandbox lets the service reach", () => {
  test("all: nothing is to be done", async () => {
    const { problems, warnings, fine, out } = await told(STORAGE + LOG);
    expect([problems, warnings, out]).toEqual([[], [], ""]);
    expect(fine).toEqual(["unit: licmond.service as systemd has it lets the service reach what it needs"]);
  });

  test("each thing in the way is told, and one drop-in for all of it, which is tried before it is advised", async () => {
    const { problems, out, tried } = await told(
      `[http]\nport = 443\n${STORAGE}${server('tool = "/bin/sh"\nlog_file = "/etc/hostname"')}
[[notifications]]\ntype = "webhook"\nurl = "https://a.example"\nsecret_file = "credential:hook"`,
      {
        mayListen: false,
        properties: { User: "licmond", ProtectHome: "yes" },
        refuse: {
          "/tmp": { error: "EROFS", until: "ReadWritePaths=/tmp" },
          "/bin/sh": { error: "ENOENT", hidden: "/bin", until: "BindReadOnlyPaths=/bin/sh" },
          "/etc/hostname": {
            error: "ENOENT",
            hidden: "/etc/hostname",
            until: "BindReadOnlyPaths=/etc/hostname",
          },
        },
      },
    );
    expect(problems).toEqual([
      "storage: /tmp cannot be written by the service: its unit makes it read-only; ReadWritePaths=/tmp in a drop-in of the unit, see below",
      "eda: tool: /bin/sh cannot be reached by the service: its unit hides /bin; BindReadOnlyPaths=/bin/sh in a drop-in of the unit, see below",
      "eda: log_file: /etc/hostname cannot be reached by the service: its unit hides /etc/hostname; BindReadOnlyPaths=/etc/hostname in a drop-in of the unit, see below",
      "notifications[0].secret_file: the unit hands over no credential named hook; LoadCredential=hook:/etc/licmond/secrets/hook in a drop-in of the unit, see below",
      "http: the service may not listen on port 443, which is below 1024; AmbientCapabilities=CAP_NET_BIND_SERVICE and CapabilityBoundingSet=CAP_NET_BIND_SERVICE in a drop-in of the unit, see below",
    ]);
    const lines = [
      "ReadWritePaths=/tmp",
      "BindReadOnlyPaths=/bin/sh",
      "BindReadOnlyPaths=/etc/hostname",
      "LoadCredential=hook:/etc/licmond/secrets/hook",
      "AmbientCapabilities=CAP_NET_BIND_SERVICE",
      "CapabilityBoundingSet=CAP_NET_BIND_SERVICE",
    ];
    expect(out).toBe(
      `\nThe drop-in: sudo systemctl edit licmond\n\n  [Service]\n${lines.map((line) => `  ${line}\n`).join("")}\nthen: sudo systemctl restart licmond\n\n`,
    );
    // A secret may be yet to be written: the service's copy would not start.
    expect(tried.map((each) => each.lines)).toEqual([[], lines.filter((line) => !line.startsWith("Load"))]);
  });

  test("what one line opens and permissions close is told as well", async () => {
    await using place = await createPlace();
    const tool = join(place.folder, "lmutil");
    await Bun.write(tool, "");
    await chmod(tool, 0o750);
    let tries = 0;
    const { problems } = await told(STORAGE + server(`tool = "${tool}"`), {
      refuse: {
        get [tool](): Refusal {
          tries += 1;
          return tries === 1 ? { error: "ENOENT", hidden: "/tmp" } : { error: "EACCES" };
        },
      },
    });
    expect(problems).toEqual([
      `eda: tool: ${tool} cannot be reached by the service: its unit hides /tmp; BindReadOnlyPaths=${tool} in a drop-in of the unit, see below`,
      expect.stringContaining(`eda: tool: ${tool} cannot be run by the user licmond (mode 0750)`),
    ]);
  });

  test.each([
    ["/home", { ProtectHome: "yes" }, ["ProtectHome=read-only"]],
    ["/home", { ProtectHome: "tmpfs" }, ["BindReadOnlyPaths=/home/lmgrd.log"]],
    ["/tmp", { PrivateTmp: "yes" }, ["PrivateTmp=no"]],
    ["/dev", {}, ["PrivateDevices=no", "DeviceAllow=/dev/lmgrd.log"]],
    ["/etc", { InaccessiblePaths: "/opt /etc" }, "take /etc out of InaccessiblePaths="],
  ])("hidden at %s by %j", (hidden, properties: Readonly<Record<string, string>>, fix) => {
    const path = `${hidden}/lmgrd.log`;
    const need: Need = {
      what: "eda: log_file",
      path,
      access: "read",
      names: [],
      places: ["/", hidden, path],
      isNew: false,
      mayShow: true,
      credential: null,
    };
    const inside = [identityOf("/"), "0:0", "ENOENT"];
    const trial: Trial = {
      files: [{ error: "ENOENT", places: inside }],
      missing: [],
      mayListen: true,
      environment: {},
      noNewPrivileges: false,
      property: (name) => properties[name] ?? "",
    };
    expect(findingsOf({ files: [need], credentials: [], port: 8080 }, trial, {})).toEqual([
      expect.objectContaining({
        message: `${path} cannot be reached by the service: its unit hides ${hidden}`,
        ...(typeof fix === "string" ? { fix } : { lines: fix }),
      }),
    ]);
  });

  test("a line that opens nothing is not passed off as the cure", async () => {
    const { problems } = await told(STORAGE, { refuse: { "/tmp": { error: "EROFS" } } });
    expect(problems).toEqual([expect.stringContaining("another one of the unit closes it")]);
  });

  test("NoExecPaths=, and a security module behind permissions that allow it", async () => {
    const refuse = { "/bin/sh": { error: "EACCES" } };
    const noExec = await told(STORAGE + LOG, { refuse, properties: { NoExecPaths: "/" } });
    expect(noExec.out).toContain("  ExecPaths=/bin/sh\n");
    const { problems } = await told(STORAGE + LOG, { refuse });
    expect(problems).toEqual([expect.stringContaining("SELinux")]);
  });

  test("lines with which it starts, worse off than it shows", async () => {
    const properties = { MemoryDenyWriteExecute: "yes", ProcSubset: "pid", PrivateNetwork: "yes" };
    const { warnings, out } = await told(STORAGE, { properties });
    expect(warnings).toHaveLength(3);
    expect(out).toContain("  MemoryDenyWriteExecute=no\n  ProcSubset=all\n  PrivateNetwork=no\n");
  });
});

describe("whom the service runs as", () => {
  test("a log of another group, and the group that helps", async () => {
    await using place = await createPlace();
    const log = join(place.folder, "lmgrd.log");
    await Bun.write(log, "");
    await chmod(log, 0o640);
    const gid = process.getgid?.() ?? 0;
    const { problems, out } = await told(STORAGE + server(`tool = "/bin/sh"\nlog_file = "${log}"`), {
      refuse: { [log]: { error: "EACCES" } },
    });
    expect(problems).toEqual([
      expect.stringContaining(`eda: log_file: ${log} cannot be read by the user licmond (mode 0640)`),
    ]);
    // Root's own group is given to no service.
    if (gid === 0) expect(problems[0]).toEndWith(`; setfacl -m u:licmond:r ${log}`);
    else expect(out).toContain("  SupplementaryGroups=");
  });

  test("a directory that it may not enter", async () => {
    await using place = await createPlace();
    const [closed, log] = [join(place.folder, "closed"), join(place.folder, "closed/lmgrd.log")];
    await Bun.write(log, "");
    await chmod(closed, 0o700);
    const { problems } = await told(STORAGE + server(`tool = "/bin/sh"\nlog_file = "${log}"`), {
      refuse: { [log]: { error: "EACCES", closed: log } },
    });
    expect(problems).toEqual([
      `eda: log_file: ${closed} cannot be entered by the user licmond (mode 0700); setfacl -m u:licmond:x ${closed}`,
    ]);
  });

  test("a secret's place is not said", async () => {
    await using place = await createPlace();
    const secret = join(place.folder, "hook");
    await Bun.write(secret, "s");
    await chmod(secret, 0o600);
    const toml = `${STORAGE}[[notifications]]\ntype = "webhook"\nurl = "https://a.example"\nsecret_file = "${secret}"`;
    for (const met of [{ error: "EACCES" }, { error: "ENOENT", hidden: secret }]) {
      const { problems, warnings, out } = await told(toml, { refuse: { [secret]: met } });
      expect(problems).toEqual([
        expect.stringContaining(
          'LoadCredential=webhook:/its/path in a drop-in of the unit, and secret_file = "credential:webhook" in the config',
        ),
      ]);
      expect(JSON.stringify([problems, warnings, out])).not.toContain(secret);
    }
  });

  test("a key that only root reads is handed over", async () => {
    await using place = await createPlace();
    const key = join(place.folder, "key.pem");
    await Bun.write(key, "");
    await chmod(key, 0o600);
    const { out } = await told(`[http]\ntls_cert = "/etc/hostname"\ntls_key = "${key}"\n${STORAGE}`, {
      refuse: { [key]: { error: "EACCES" } },
    });
    expect(out).toContain(`  LoadCredential=tls-key:${key}\n`);
  });
});

describe("programs", () => {
  test("one that only the shell of the caller knows", async () => {
    await using place = await createPlace();
    const tool = join(place.folder, "lmutil");
    await Bun.write(tool, "#!/bin/sh\n");
    await chmod(tool, 0o755);
    const env = { PATH: `${place.folder}:/bin` };
    const { problems } = await told(STORAGE + server(""), {}, {}, null, env);
    expect(problems).toEqual([
      `eda: tool: lmutil is ${tool} for you, and not in the $PATH of the service (/usr/bin:/bin); tool = "${tool}" in the config`,
    ]);
  });

  test("what it is told to run is tried too, and a set-user-ID one in front of it", async () => {
    await using place = await createPlace();
    const sudo = join(place.folder, "sudo");
    await Bun.write(sudo, "");
    await chmod(sudo, 0o4755);
    const wrapped = server(`tool = ["/usr/bin/env", "LM=1", "-x", "${sudo}", "/no/such/thing"]`);
    const [first] = (await told(STORAGE + wrapped)).tried;
    expect(first?.question.files.map(({ path }) => path)).toEqual(["/tmp", sudo, "/usr/bin/env"]);

    const asRoot = STORAGE + server(`tool = ["${sudo}", "-u", "flexlm", "/bin/sh"]`);
    expect((await told(asRoot, { noNewPrivileges: true })).problems).toEqual([
      expect.stringMatching(/^eda: tool: \S+ is a set-user-ID .*; name a program that needs none/),
    ]);
    expect((await told(asRoot)).problems).toEqual([]);
  });

  test("one that no user may run is left to the check of the tools", async () => {
    await using place = await createPlace();
    const tool = join(place.folder, "lmutil");
    await Bun.write(tool, "#!/bin/sh\n");
    await chmod(tool, 0o644);
    const [first] = (await told(STORAGE + server(`tool = "${tool}"`))).tried;
    expect(first?.question.files.map(({ path }) => path)).toEqual(["/tmp"]);
  });
});

describe("when nothing can be tried", () => {
  const toml = `${STORAGE}[[notifications]]\ntype = "webhook"\nurl = "https://a.example"\nsecret_file = "credential:hook"`;

  test("not root, no systemd, no unit", async () => {
    const user = await told(STORAGE, {}, { isRoot: false });
    expect(user.warnings).toEqual([expect.stringContaining("unit: not tried: only root")]);
    const container = await told(toml, {}, { hasSystemd: async () => false });
    expect(container.fine).toEqual(["unit: not tried: systemd does not run this host"]);
    const byHand = await told(toml, {}, { unit: async () => null });
    for (const { problems } of [container, byHand])
      expect(problems).toEqual([
        "notifications[0].secret_file: names the credential hook, and this host has no unit that hands it over; name a path",
      ]);
    for (const { tried } of [user, container, byHand]) expect(tried).toEqual([]);
  });

  test("a service that cannot start", async () => {
    const { problems, fine } = await told(STORAGE, { fails: "status=217/USER" });
    expect(problems).toEqual([expect.stringContaining("unit: the service cannot start: status=217/USER; ")]);
    expect(fine).toEqual([]);
    const missing = async () => "[Service]\nLoadCredential=a:/no/such/file\n";
    expect((await told(STORAGE, {}, { unit: missing })).problems).toEqual([
      "unit: LoadCredential=a:/no/such/file names a file that does not exist: the service cannot start; write the secret into /no/such/file, or take that line out",
    ]);
  });
});

test("a setting that the unit alone gives the service is told of, and its value is not", async () => {
  const env = { PATH: "/bin", LICMOND_LOG_LEVEL: "debug" };
  const inside = { ...env, LICMOND_HTTP_PORT: "9001" };
  const { problems, warnings } = await told(STORAGE, { env: inside }, {}, null, env);
  expect([problems, warnings]).toEqual([
    [],
    [
      "unit: Environment= gives the service a LICMOND_HTTP_PORT that this command does not have: it may speak of another setting (fix: set it in the config instead, which all read)",
    ],
  ]);
  expect((await told(STORAGE, { env: inside }, {}, null, inside)).warnings).toEqual([]);
});

test("the service reads another config: that is said, and nothing else", async () => {
  const elsewhere = { PATH: "/bin", LICMOND_CONFIG: "/srv/other.toml" };
  const { warnings } = await told(STORAGE, { env: elsewhere }, {}, DEFAULT_FILE);
  expect(warnings).toEqual([
    `unit: the service reads /srv/other.toml and not ${DEFAULT_FILE} (fix: \`licmond check --config /srv/other.toml\` checks that)`,
  ]);
  const own = await told(STORAGE, {}, {}, "/home/ada/licmond.toml");
  expect([own.tried, own.warnings, own.fine]).toEqual([[], [], []]);
});

test("in the sandbox: what is asked is tried as it is used", async () => {
  await using place = await createPlace();
  const pipe = join(place.folder, "pipe");
  Bun.spawnSync(["mkfifo", pipe]);
  const text = join(place.folder, "credentials/there");
  await Bun.write(text, "s");
  const file = {
    what: "",
    names: [],
    places: ["/", "/no/such"],
    isNew: false,
    mayShow: true,
    credential: null,
  };
  const answer = answerTo(
    {
      files: [
        // Nobody writes into it.
        { ...file, path: pipe, access: "read" },
        { ...file, path: "/no/such", access: "read" },
        { ...file, path: text, access: "run" },
        { ...file, path: "sh", names: ["no-such-tool", "sh"], access: "run" },
        { ...file, path: "sh", names: ["no-such-tool"], access: "run" },
        { ...file, path: join(place.folder, "a/b/c"), access: "write", isNew: true },
        { ...file, path: join(place.folder, "a/b/c"), access: "write" },
      ],
      credentials: ["there", "gone"].map((name) => ({ what: "", name })),
      port: 8080,
    },
    { PATH: "/bin", CREDENTIALS_DIRECTORY: join(place.folder, "credentials"), LICMOND_X: "1", OTHER: "2" },
  );
  expect(answer.files.map(({ error }) => error)).toEqual([
    null,
    "ENOENT",
    "EACCES",
    null,
    "NOT_IN_PATH",
    null,
    "ENOENT",
  ]);
  expect(answer.files[0]?.places).toEqual([expect.stringMatching(/^\d+:\d+$/), "ENOENT"]);
  expect([answer.missing, answer.environment]).toEqual([["gone"], { PATH: "/bin", LICMOND_X: "1" }]);
});

test("through the command line", async () => {
  await using place = await createPlace();
  const missing = await run(["check", "--config", place.config, "--unit", join(place.folder, "none")]);
  expect(missing).toMatchObject({ exitCode: 1, out: expect.stringContaining("PROBLEM  unit: ") });
  // A config that no service reads is not tried in the unit of a host.
  expect((await run(["check", "--config", place.config])).out).not.toContain("unit");
  const question = { files: [], credentials: [], port: 0 };
  const trial = await run(["check", "--trial"], { stdin: JSON.stringify(question) });
  expect(JSON.parse(trial.out)).toMatchObject({ files: [], missing: [], mayListen: true });
  expect((await run(["check", "--help"])).out).not.toContain("--trial");
});
