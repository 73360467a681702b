import { afterEach, describe, expect, test } from "bun:test";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkUnit, findingsOf, type UnitHost } from "../../../src/cli/check/unit.ts";
import type { Need } from "../../../src/cli/check/unit-needs.ts";
import { answerTo, identityOf, type Question, type Trial } from "../../../src/cli/check/unit-trial.ts";
import { interpretConfig } from "../../../src/config/load.ts";
import { cleanUp, temporaryDirectory } from "../../store/place.ts";
import { createPlace, run } from "../rig.ts";

afterEach(cleanUp);

const SHIPPED = join(import.meta.dir, "../../../systemd/licmond.service");
const DEFAULT_FILE = "/etc/licmond/licmond.toml";
const STORAGE = '[storage]\ndirectory = "/tmp"\n';
const server = (more: string) =>
  `${STORAGE}[[servers]]\nid = "eda"\nmanager = "flexnet"\naddress = "27000@127.0.0.1"\n${more}\n`;
const withTool = (tool: string) => server(`tool = "${tool}"`);
const withLog = (log: string) => server(`tool = "/bin/sh"\nlog_file = "${log}"`);
const LOG = withLog("/etc/hostname");
const hook = (secret: string) =>
  `[[notifications]]\ntype = "webhook"\nurl = "https://a.example"\nsecret_file = "${secret}"\n`;

function fileOf(mode: number, name = "lmutil", text = ""): string {
  const file = join(temporaryDirectory(), name);
  writeFileSync(file, text);
  chmodSync(file, mode);
  return file;
}

/**
 * How a sandbox refuses a path: the error, and the place that is `hidden` or `closed`. With `until`, the
 * refusal ends once the drop-in contains this line.
 */
type Refusal = { error: string; hidden?: string; closed?: string; until?: string };
type Words = Readonly<Record<string, string>>;

interface Sandbox {
  readonly refuse?: Readonly<Record<string, Refusal>>;
  readonly properties?: Words;
  readonly inside?: Words;
  readonly noNewPrivileges?: boolean;
  readonly mayListen?: boolean;
  readonly fails?: string;
  /** Environment of this command, not of the service. */
  readonly env?: Words;
  readonly file?: string | null;
}

const PATH = "/usr/bin:/bin";

/**
 * Returns the findings for a config in a sandbox, and each tested drop-in with the question that was asked.
 */
async function told(toml: string, given: Sandbox = {}, host: Partial<UnitHost> = {}) {
  const { refuse = {}, properties = { User: "licmond" }, inside = { PATH }, env = { PATH } } = given;
  const { noNewPrivileges = false, mayListen = true, fails, file = null } = given;
  const loaded = interpretConfig(toml, file, env);
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  const [problems, warnings, fine]: [string[], string[], string[]] = [[], [], []];
  const tried: { readonly lines: readonly string[]; readonly question: Question }[] = [];
  const attempt: UnitHost["attempt"] = async (_unit, lines, question) => {
    tried.push({ lines, question });
    if (fails !== undefined) throw new Error(fails);
    const honest = answerTo(question, inside);
    const files = honest.files.map((answer, index) => {
      const { path = "", places = [] } = question.files[index] ?? {};
      const met = refuse[path];
      if (met === undefined || (met.until !== undefined && lines.includes(met.until))) return answer;
      const seen = (place: string, at: number) =>
        place === met.hidden ? "0:0" : place === met.closed ? "EACCES" : (answer.places[at] ?? "");
      return { error: met.error, places: places.map(seen) };
    });
    const isSet = (name: string) => lines.some((line) => line.startsWith(`${name}=`));
    const property = (name: string) => (isSet(name) ? "" : (properties[name] ?? ""));
    const may = mayListen || isSet("AmbientCapabilities");
    return { ...honest, noNewPrivileges, mayListen: may, files, property };
  };
  let out = "";
  const print = (text: string) => (out += text);
  const report = {
    fine: (what: string, message: string) => void fine.push(`${what}: ${message}`),
    warning: (what: string, message: string) => void warnings.push(`${what}: ${message}`),
    problem: (what: string, message: string, fix: string | null) =>
      void problems.push(`${what}: ${message}; ${fix}`),
  };
  const usual = { isRoot: true, hasSystemd: async () => true, unit: () => Bun.file(SHIPPED).text(), attempt };
  const look = { config: loaded.config, file, env, now: 0, report };
  await checkUnit(look, undefined, print, { ...usual, ...host });
  return { problems, warnings, fine, out, tried };
}

describe("access of the service in its sandbox", () => {
  test("full access: no findings", async () => {
    const { problems, warnings, fine, out } = await told(LOG);
    expect([problems, warnings, out]).toEqual([[], [], ""]);
    expect(fine).toEqual(["unit: licmond.service gives the service access to all files it needs"]);
  });

  test("reports each obstacle, and one drop-in for all of them, which has been tested", async () => {
    const log = "/etc/hostname";
    const refuse = {
      "/tmp": { error: "EROFS", until: "ReadWritePaths=/tmp" },
      "/bin/sh": { error: "ENOENT", hidden: "/bin", until: "BindReadOnlyPaths=/bin/sh" },
      [log]: { error: "ENOENT", hidden: log, until: `BindReadOnlyPaths=${log}` },
    };
    const properties = { User: "licmond", ProtectHome: "yes" };
    const toml = `[http]\nport = 443\n${LOG}secret_file = "credential:eda"\n${hook("credential:hook")}`;
    const { problems, out, tried } = await told(toml, { mayListen: false, properties, refuse });
    const below = "in a drop-in of the unit, see below";
    expect(problems).toEqual([
      `storage: the service cannot write /tmp: its unit makes it read-only; ReadWritePaths=/tmp ${below}`,
      `eda: tool: the service cannot reach /bin/sh: its unit hides /bin; BindReadOnlyPaths=/bin/sh ${below}`,
      `eda: log_file: the service cannot reach /etc/hostname: its unit hides /etc/hostname; BindReadOnlyPaths=/etc/hostname ${below}`,
      `eda: secret_file: the unit has no LoadCredential= named eda; LoadCredential=eda:/etc/licmond/secrets/eda ${below}`,
      `notifications[0].secret_file: the unit has no LoadCredential= named hook; LoadCredential=hook:/etc/licmond/secrets/hook ${below}`,
      `http: the service is not allowed to listen on port 443, which is below 1024; AmbientCapabilities=CAP_NET_BIND_SERVICE and CapabilityBoundingSet=CAP_NET_BIND_SERVICE ${below}`,
    ]);
    const lines = [
      "ReadWritePaths=/tmp",
      "BindReadOnlyPaths=/bin/sh",
      "BindReadOnlyPaths=/etc/hostname",
      "LoadCredential=eda:/etc/licmond/secrets/eda",
      "LoadCredential=hook:/etc/licmond/secrets/hook",
      "AmbientCapabilities=CAP_NET_BIND_SERVICE",
      "CapabilityBoundingSet=CAP_NET_BIND_SERVICE",
    ];
    const shown = ["[Service]", ...lines].map((line) => `  ${line}\n`).join("");
    const restart = "then: sudo systemctl restart licmond";
    expect(out).toBe(`\nAdd this drop-in: sudo systemctl edit licmond\n\n${shown}\n${restart}\n\n`);
    // Credentials are not tested: their files may not exist yet.
    expect(tried.map((each) => each.lines)).toEqual([[], lines.filter((line) => !line.startsWith("Load"))]);
  });

  test("reports permissions behind an obstacle that a line removes", async () => {
    const tool = fileOf(0o750);
    let tries = 0;
    const refuse = {
      get [tool](): Refusal {
        tries += 1;
        return tries === 1 ? { error: "ENOENT", hidden: "/tmp" } : { error: "EACCES" };
      },
    };
    const { problems } = await told(withTool(tool), { refuse });
    expect(problems).toEqual([
      `eda: tool: the service cannot reach ${tool}: its unit hides /tmp; BindReadOnlyPaths=${tool} in a drop-in of the unit, see below`,
      expect.stringContaining(`eda: tool: ${tool} cannot be run by the user licmond (mode 0750)`),
    ]);
  });

  test.each([
    ["/home", { ProtectHome: "yes" }, ["ProtectHome=read-only"]],
    ["/home", { ProtectHome: "tmpfs" }, ["BindReadOnlyPaths=/home/lmgrd.log"]],
    ["/tmp", { PrivateTmp: "yes" }, ["PrivateTmp=no"]],
    ["/dev", {}, ["PrivateDevices=no", "DeviceAllow=/dev/lmgrd.log"]],
    ["/etc", { InaccessiblePaths: "/opt /etc" }, "remove /etc from InaccessiblePaths="],
  ])("hidden at %s by %j", (hidden, properties: Readonly<Record<string, string>>, fix) => {
    const path = `${hidden}/lmgrd.log`;
    const shown = { names: [], places: ["/", hidden, path], isNew: false, mayShow: true, credential: null };
    const need: Need = { what: "eda: log_file", path, access: "read", ...shown };
    const inside = [identityOf("/"), "0:0", "ENOENT"];
    const usual = { missing: [], mayListen: true, environment: {}, noNewPrivileges: false };
    const property = (name: string) => properties[name] ?? "";
    const trial: Trial = { ...usual, files: [{ error: "ENOENT", places: inside }], property };
    const message = `the service cannot reach ${path}: its unit hides ${hidden}`;
    expect(findingsOf({ files: [need], credentials: [], port: 8080 }, trial, {})).toEqual([
      expect.objectContaining({ message, ...(typeof fix === "string" ? { fix } : { lines: fix }) }),
    ]);
  });

  test("reports a line that does not help", async () => {
    const { problems } = await told(STORAGE, { refuse: { "/tmp": { error: "EROFS" } } });
    expect(problems).toEqual([expect.stringContaining("remove the conflicting line from the unit")]);
  });

  test("NoExecPaths=, and a security module behind sufficient permissions", async () => {
    const refuse = { "/bin/sh": { error: "EACCES" } };
    const noExec = await told(LOG, { refuse, properties: { NoExecPaths: "/" } });
    expect(noExec.out).toContain("  ExecPaths=/bin/sh\n");
    expect((await told(LOG, { refuse })).problems).toEqual([expect.stringContaining("SELinux")]);
  });

  test("warns of lines that harm a service which starts", async () => {
    const properties = { MemoryDenyWriteExecute: "yes", ProcSubset: "pid", PrivateNetwork: "yes" };
    const { warnings, out } = await told(STORAGE, { properties });
    expect(warnings).toHaveLength(3);
    expect(out).toContain("  MemoryDenyWriteExecute=no\n  ProcSubset=all\n  PrivateNetwork=no\n");
  });
});

describe("the service's user", () => {
  test("a log of another group", async () => {
    const log = fileOf(0o640);
    const { problems, out } = await told(withLog(log), { refuse: { [log]: { error: "EACCES" } } });
    const cannot = `eda: log_file: ${log} cannot be read by the user licmond (mode 0640)`;
    expect(problems).toEqual([expect.stringContaining(cannot)]);
    if (process.getgid?.() === 0) expect(problems[0]).toEndWith(`; setfacl -m u:licmond:r ${log}`);
    else expect(out).toContain("  SupplementaryGroups=");
  });

  test("a closed directory", async () => {
    const closed = temporaryDirectory();
    const log = join(closed, "lmgrd.log");
    writeFileSync(log, "");
    chmodSync(closed, 0o700);
    const refuse = { [log]: { error: "EACCES", closed: log } };
    expect((await told(withLog(log), { refuse })).problems).toEqual([
      `eda: log_file: ${closed} cannot be entered by the user licmond (mode 0700); setfacl -m u:licmond:x ${closed}`,
    ]);
  });

  test("the path of a secret is not printed", async () => {
    const secret = fileOf(0o600);
    for (const met of [{ error: "EACCES" }, { error: "ENOENT", hidden: secret }]) {
      const { problems, warnings, out } = await told(STORAGE + hook(secret), { refuse: { [secret]: met } });
      const handed = 'of the unit, and secret_file = "credential:webhook" in the config';
      const fix = `LoadCredential=webhook:/its/path in a drop-in ${handed}`;
      expect(problems).toEqual([expect.stringContaining(fix)]);
      expect(JSON.stringify([problems, warnings, out])).not.toContain(secret);
    }
  });

  test("a key that only root can read is passed as a credential", async () => {
    const key = fileOf(0o600);
    const toml = `[http]\ntls_cert = "/etc/hostname"\ntls_key = "${key}"\n${STORAGE}`;
    const { out } = await told(toml, { refuse: { [key]: { error: "EACCES" } } });
    expect(out).toContain(`  LoadCredential=tls-key:${key}\n`);
  });
});

describe("programs", () => {
  const asked = async (toml: string) => (await told(toml)).tried[0]?.question.files.map(({ path }) => path);

  test("a tool that is only in the caller's $PATH", async () => {
    const tool = fileOf(0o755, "lmutil", "#!/bin/sh\n");
    const env = { PATH: `${join(tool, "..")}:/bin` };
    expect((await told(server(""), { env })).problems).toEqual([
      `eda: tool: lmutil is ${tool} for you, but not in the $PATH of the service (/usr/bin:/bin); tool = "${tool}" in the config`,
    ]);
  });

  test("programs in arguments, and a set-user-ID program before them", async () => {
    const sudo = fileOf(0o4755, "sudo");
    const wrapped = server(`tool = ["/usr/bin/env", "LM=1", "-x", "${sudo}", "/no/such/thing"]`);
    expect(await asked(wrapped)).toEqual(["/tmp", sudo, "/usr/bin/env"]);
    const asRoot = server(`tool = ["${sudo}", "-u", "flexlm", "/bin/sh"]`);
    const setUserId = /^eda: tool: \S+ is a set-user-ID .*; use a program that needs no extra privileges/;
    const { problems } = await told(asRoot, { noNewPrivileges: true });
    expect(problems).toEqual([expect.stringMatching(setUserId)]);
    expect((await told(asRoot)).problems).toEqual([]);
  });

  test("a tool that nobody can run is left to the check of tools", async () => {
    expect(await asked(withTool(fileOf(0o644)))).toEqual(["/tmp"]);
  });
});

describe("without a test of the unit", () => {
  test("not root, no systemd, no unit", async () => {
    const toml = STORAGE + hook("credential:hook");
    const user = await told(STORAGE, {}, { isRoot: false });
    expect(user.warnings).toEqual([expect.stringContaining("unit: not checked: testing")]);
    const container = await told(toml, {}, { hasSystemd: async () => false });
    expect(container.fine).toEqual(["unit: not checked: this host does not run systemd"]);
    const byHand = await told(toml, {}, { unit: async () => null });
    for (const { problems } of [container, byHand])
      expect(problems).toEqual([
        "notifications[0].secret_file: names the credential hook, but this host has no unit that provides it; use a path",
      ]);
    for (const { tried } of [user, container, byHand]) expect(tried).toEqual([]);
  });

  test("a service that cannot start", async () => {
    const { problems, fine } = await told(STORAGE, { fails: "status=217/USER" });
    expect(problems).toEqual([expect.stringContaining("unit: the service cannot start: status=217/USER; ")]);
    expect(fine).toEqual([]);
    const missing = async () => "[Service]\nLoadCredential=a:/no/such/file\n";
    expect((await told(STORAGE, {}, { unit: missing })).problems).toEqual([
      "unit: LoadCredential=a:/no/such/file names a file that does not exist: the service cannot start; write the secret to /no/such/file, or remove that line",
    ]);
  });
});

test("warns of a setting in the unit's environment, without its value", async () => {
  const env = { PATH: "/bin", LICMOND_LOG_LEVEL: "debug" };
  const inside = { ...env, LICMOND_HTTP_PORT: "9001" };
  const { problems, warnings } = await told(STORAGE, { inside, env });
  expect(problems).toEqual([]);
  expect(warnings).toEqual([
    "unit: Environment= sets LICMOND_HTTP_PORT for the service but not for this command: results may differ (fix: set it in the config instead)",
  ]);
  expect((await told(STORAGE, { inside, env: inside })).warnings).toEqual([]);
});

test("a service that reads another config is the only finding", async () => {
  const inside = { PATH: "/bin", LICMOND_CONFIG: "/srv/other.toml" };
  expect((await told(STORAGE, { inside, file: DEFAULT_FILE })).warnings).toEqual([
    `unit: the service reads /srv/other.toml, not ${DEFAULT_FILE} (fix: check that file with \`licmond check --config /srv/other.toml\`)`,
  ]);
  const { tried, warnings, fine } = await told(STORAGE, { file: "/home/ada/licmond.toml" });
  expect([tried, warnings, fine]).toEqual([[], [], []]);
});

test("the copy of the unit tries each kind of access", async () => {
  const folder = temporaryDirectory();
  const [pipe, text, fresh] = [join(folder, "pipe"), join(folder, "there"), join(folder, "a/b/c")];
  Bun.spawnSync(["mkfifo", pipe]);
  writeFileSync(text, "s");
  const shown = { names: [], isNew: false, mayShow: true, credential: null };
  const file = { what: "", places: ["/", "/no/such"], ...shown };
  const asked: readonly (readonly [Partial<Need>, string | null])[] = [
    [{ path: pipe, access: "read" }, null],
    [{ path: "/no/such", access: "read" }, "ENOENT"],
    [{ path: text, access: "run" }, "EACCES"],
    [{ path: "sh", names: ["no-such-tool", "sh"], access: "run" }, null],
    [{ path: "sh", names: ["no-such-tool"], access: "run" }, "NOT_IN_PATH"],
    [{ path: fresh, access: "write", isNew: true }, null],
    [{ path: fresh, access: "write" }, "ENOENT"],
  ];
  const files = asked.map(([need]) => ({ ...file, ...need }) as Need);
  const credentials = ["there", "gone"].map((name) => ({ what: "", name }));
  const env = { PATH: "/bin", CREDENTIALS_DIRECTORY: folder, LICMOND_X: "1", OTHER: "2" };
  const answer = answerTo({ files, credentials, port: 8080 }, env);
  expect(answer.files.map(({ error }) => error)).toEqual(asked.map(([, error]) => error));
  expect(answer.files[0]?.places).toEqual([expect.stringMatching(/^\d+:\d+$/), "ENOENT"]);
  expect([answer.missing, answer.environment]).toEqual([["gone"], { PATH: "/bin", LICMOND_X: "1" }]);
});

test("through the command line", async () => {
  await using place = await createPlace();
  const missing = await run(["check", "--config", place.config, "--unit", join(place.folder, "none")]);
  expect(missing).toMatchObject({ exitCode: 1, out: expect.stringContaining("PROBLEM  unit: ") });
  expect((await run(["check", "--config", place.config])).out).not.toContain("unit");
  const question = { files: [], credentials: [], port: 0 };
  const trial = await run(["check", "--trial"], { stdin: JSON.stringify(question) });
  expect(JSON.parse(trial.out)).toMatchObject({ files: [], missing: [], mayListen: true });
  expect((await run(["check", "--help"])).out).not.toContain("--trial");
});
