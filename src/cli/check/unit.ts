import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { Environment } from "../../config/environment.ts";
import { DEFAULT_CONFIG_FILE } from "../../config/load.ts";
import { messageOf } from "../../domain/error-code.ts";
import { isSystemdHost, systemRun } from "../../install/host.ts";
import { UNIT_NAME } from "../../install/layout.ts";
import { exposureOf, exposureWords, groupName } from "../../system/secret-file.ts";
import type { Report } from "../terminal.ts";
import type { Look } from "./files.ts";
import { modeOf, type Need, unitNeeds } from "./unit-needs.ts";
import { identityOf, type Question, type Trial, tryUnit } from "./unit-trial.ts";

/** Host access of the check; tests replace it. */
export type UnitHost = ReturnType<typeof thisHost>;

function thisHost() {
  const run = systemRun();
  return {
    // Only root can start a copy of the unit, and systemd can start only the compiled binary.
    isRoot: process.getuid?.() === 0 && Bun.isStandaloneExecutable,
    hasSystemd: () => isSystemdHost(run),
    unit: async () => {
      const { ok, stdout } = await run(["systemctl", "cat", "--no-pager", UNIT_NAME]);
      return ok && stdout.includes("[Service]") ? stdout : null;
    },
    attempt: (unit: string, lines: readonly string[], question: Question) =>
      tryUnit(unit, lines, question, run),
  };
}

/**
 * Checks in a copy of the unit whether the service can use the files in the config. Applies only to the
 * config that the service reads, because other configs are used by hand, without a sandbox. `unitFile` is
 * tested instead of the installed unit.
 */
export async function checkUnit(
  { config, file, env, report }: Look,
  unitFile: string | undefined,
  out: (text: string) => void,
  host: UnitHost = thisHost(),
): Promise<void> {
  const isUsual = file === null || file === DEFAULT_CONFIG_FILE;
  const hasSystemd = await host.hasSystemd();
  const unit = unitFile !== undefined ? readUnit(unitFile, report) : hasSystemd ? await host.unit() : null;
  if (unit === undefined) return;
  const needs = unitNeeds(config, file, env);
  for (const { what, name } of unit === null ? needs.credentials : []) {
    const unhanded = `names the credential ${name}, but this host has no unit that provides it`;
    report.problem(what, unhanded, "use a path");
  }
  if (!hasSystemd && (unit !== null || isUsual))
    return report.fine("unit", "not checked: this host does not run systemd");
  if (unit === null || (unitFile === undefined && !isUsual && !unit.includes(file))) return;
  if (!host.isRoot) return report.warning("unit", ONLY_ROOT);
  if (!checkSources(unit, report)) return;

  const question = { ...needs, port: config.http.port };
  const findings = new Map<string, Finding>();
  const lines = new Set<string>();
  // Test the lines again in further rounds: a line may close what another line opens, and only a trial
  // shows that a line is useless.
  for (let round = 0, before = -1; round < ROUNDS && lines.size > before; round++) {
    before = lines.size;
    let trial: Trial;
    try {
      trial = await host.attempt(unit, [...lines].filter(isTriable), question);
    } catch (error) {
      // Keep the findings of earlier rounds, because only the trial with the drop-in failed.
      if (round > 0) break;
      const words = messageOf(error);
      const user = "create the user in User=; `licmond install` creates licmond";
      const fix = words.includes("USER") ? user : null;
      return report.problem("unit", `the service cannot start: ${words}`, fix);
    }
    const reads = configArgument(unit) ?? (trial.environment.LICMOND_CONFIG || DEFAULT_CONFIG_FILE);
    const fix = `fix: check that file with \`licmond check --config ${reads}\``;
    if (unitFile === undefined && file !== null && file !== reads)
      return report.warning("unit", `the service reads ${reads}, not ${file} (${fix})`);
    for (const found of findingsOf(question, trial, env)) {
      const key = `${found.what}: ${found.message}`;
      const isStronger = findings.has(key) && found.lines.some(isTriable);
      findings.set(key, isStronger ? { ...found, fix: STRONGER } : (findings.get(key) ?? found));
      for (const line of found.lines) lines.add(line);
    }
  }
  for (const { what, message, lines: own, fix, isWarning } of findings.values()) {
    const how = fix ?? (own.length > 0 ? `${own.join(" and ")} in a drop-in of the unit, see below` : null);
    if (isWarning !== true) report.problem(what, message, how);
    else report.warning(what, how === null ? message : `${message} (fix: ${how})`);
  }
  if (lines.size > 0) out(dropInText([...lines]));
  const source = unitFile ?? `${UNIT_NAME}`;
  if (findings.size === 0) report.fine("unit", `${source} gives the service access to all files it needs`);
}

const ONLY_ROOT = "not checked: testing the service's sandbox needs root (fix: `sudo licmond check`)";
const ROUNDS = 4;
const STRONGER = "the line in the drop-in below is not enough: remove the conflicting line from the unit";

/**
 * Reports whether a drop-in line can be tested. `LoadCredential=` lines cannot, because their source file
 * may not exist yet.
 */
function isTriable(line: string): boolean {
  return !line.startsWith("LoadCredential=");
}

function configArgument(unit: string): string | undefined {
  return /^ExecStart=.*--config[= ](\S+)/m.exec(unit)?.[1];
}

/** Checks the source files of LoadCredential=, which only root reads. Returns false if a required file is missing. */
function checkSources(unit: string, report: Report): boolean {
  let areThere = true;
  for (const [, name, source = ""] of unit.matchAll(/^LoadCredential(?:Encrypted)?=([^:\s]+):(\/\S+)/gm)) {
    const exposure = exposureOf(source, "secret", []);
    if (exposure !== null) report.warning(`LoadCredential=${name}`, exposureWords(exposure));
    if (existsSync(source)) continue;
    areThere = false;
    const missing = `LoadCredential=${name}:${source} names a file that does not exist: the service cannot start`;
    report.problem("unit", missing, `write the secret to ${source}, or remove that line`);
  }
  return areThere;
}

function readUnit(file: string, report: Report): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    report.problem("unit", `cannot read ${file}: ${messageOf(error)}`, "use a readable unit file");
    return undefined;
  }
}

function dropInText(lines: readonly string[]): string {
  return `\nAdd this drop-in: sudo systemctl edit licmond\n\n  [Service]\n${lines.map((line) => `  ${line}\n`).join("")}\nthen: sudo systemctl restart licmond\n\n`;
}

interface Finding {
  readonly what: string;
  /** Sentence that describes the problem, without its full stop. */
  readonly message: string;
  /** Drop-in lines that fix the problem. */
  readonly lines: readonly string[];
  readonly fix?: string;
  readonly isWarning?: boolean;
}

/** Turns the result of a trial into findings with drop-in lines. */
export function findingsOf(asked: Question, trial: Trial, environment: Environment): Finding[] {
  const { files, credentials, port } = asked;
  const harms = HARMS.filter(([name, value]) => trial.property(name) === value);
  const refusals = files.flatMap((need, index) => {
    const { error = null, places = [] } = trial.files[index] ?? {};
    if (error !== null) return [refused(need, error, places, trial)];
    return need.access === "run" && trial.noNewPrivileges ? powerless(need, trial) : [];
  });
  const missing = credentials.filter(({ name }) => trial.missing.includes(name));
  const foreign = Object.entries(trial.environment)
    .filter(([name, value]) => /^LICMOND_(?!CONFIG$)/.test(name) && environment[name] !== value)
    .sort();
  return [
    ...harms.map(([name, value, harm, line]) => {
      return { what: "unit", message: `${name}=${value} ${harm}`, lines: [line], isWarning: true };
    }),
    ...refusals,
    ...missing.map(({ what, name }) => {
      const lines = [`LoadCredential=${name}:/etc/licmond/secrets/${name}`];
      return { what, message: `the unit has no LoadCredential= named ${name}`, lines };
    }),
    ...(trial.mayListen ? [] : [privileged(port)]),
    ...foreign.map(([name]) => {
      const message = `Environment= sets ${name} for the service but not for this command: results may differ`;
      const fix = "set it in the config instead";
      return { what: "unit", message, lines: [], fix, isWarning: true };
    }),
  ];
}

function privileged(port: number): Finding {
  const message = `the service is not allowed to listen on port ${port}, which is below 1024`;
  const lines = ["AmbientCapabilities", "CapabilityBoundingSet"].map(
    (name) => `${name}=CAP_NET_BIND_SERVICE`,
  );
  return { what: "http", message, lines };
}

const CUT_OFF = "cuts the service off from license servers and clients";
/** Settings that harm a service without stopping it: property, value, harm, fix. */
const HARMS = [
  ["MemoryDenyWriteExecute", "yes", "makes the runtime many times slower", "MemoryDenyWriteExecute=no"],
  ["ProcSubset", "pid", "hides the host's metrics in /proc", "ProcSubset=all"],
  ["PrivateNetwork", "yes", CUT_OFF, "PrivateNetwork=no"],
] as const;

/** For each kind of access: the verb of the message, the letters of setfacl(1), and the mode bits. */
const RIGHTS = {
  search: { lacks: "entered", right: "x", bit: 1 },
  read: { lacks: "read", right: "r", bit: 4 },
  run: { lacks: "run", right: "rx", bit: 1 },
  write: { lacks: "written", right: "rwx", bit: 3 },
} as const;

/**
 * Explains why the service cannot use a file, and how to allow it. `inside` has the identities of the
 * file's places in the sandbox.
 */
function refused(need: Need, error: string, inside: readonly string[], trial: Trial): Finding {
  const { what, path, access, mayShow, places } = need;
  const open = (message: string, line: string): Finding => ({ what, message, lines: [line] });
  const advise = (message: string, fix: string): Finding => ({ what, message, lines: [], fix });
  const elsewhere = `not in the $PATH of the service (${trial.environment.PATH})`;
  if (error === "NOT_IN_PATH")
    return advise(`${need.names[0]} is ${path} for you, but ${elsewhere}`, `tool = "${path}" in the config`);
  const at = places.findIndex((place, index) => identityOf(place) !== inside[index]);
  const [other = path, isClosed] = [places[at], at >= 0 && inside[at] === "EACCES"];
  if (at >= 0 && !isClosed) return hidden(need, other, trial);
  const readOnly = `the service cannot write ${path}: its unit makes it read-only`;
  if (error === "EROFS") return open(readOnly, `ReadWritePaths=${path}`);
  const forbidden = `the service cannot run ${path}: NoExecPaths= forbids it`;
  if (access === "run" && !isClosed && trial.property("NoExecPaths") !== "")
    return open(forbidden, `ExecPaths=${path}`);
  const place = isClosed ? dirname(other) : path;
  const shown = mayShow ? place : isClosed ? "a directory above the file" : "the file";
  const { lacks, right, bit } = RIGHTS[isClosed ? "search" : access];
  const bits = modeOf(place) ?? 0;
  const mode = (bits & 0o777).toString(8).padStart(4, "0");
  const user = userOf(trial);
  const message = `${shown} cannot be ${lacks} by the user ${user} (mode ${mode})`;
  if (need.credential !== null) return handedOver(need, need.credential, message);
  if (error !== "EACCES" || (bits & bit) === bit)
    return advise(`${message}: ${error}`, "check whether SELinux or AppArmor denies it");
  if (access === "write" && !isClosed) return advise(message, `chown ${user}: ${place}`);
  // Do not suggest root's group (0): no service is in it.
  const gid = statSync(place, { throwIfNoEntry: false })?.gid ?? 0;
  if (gid !== 0 && ((bits >> 3) & bit) === bit) return open(message, `SupplementaryGroups=${groupName(gid)}`);
  return advise(message, `setfacl -m u:${user}:${right} ${place}`);
}

/** Explains that the unit hides or replaces the host's file, and how to change that. */
function hidden(need: Need, place: string, { property }: Trial): Finding {
  const { what, path, access, mayShow } = need;
  const message = `the service cannot reach ${mayShow ? path : "the file"}: its unit hides ${mayShow || place !== path ? place : "it"}`;
  if (need.credential !== null) return handedOver(need, need.credential, message);
  if (property("InaccessiblePaths").split(" ").includes(place))
    return { what, message, lines: [], fix: `remove ${place} from InaccessiblePaths=` };
  const lines = (): string[] => {
    if (["/home", "/root", "/run/user"].includes(place) && property("ProtectHome") === "yes")
      return ["ProtectHome=read-only"];
    if (place === "/dev") return ["PrivateDevices=no", `DeviceAllow=${path}`];
    if (["/tmp", "/var/tmp"].includes(place) && access !== "run" && property("PrivateTmp") !== "no")
      return ["PrivateTmp=no"];
    return [`${access === "write" ? "BindPaths" : "BindReadOnlyPaths"}=${path}`];
  };
  return { what, message, lines: lines() };
}

/** The unit can pass the file as a credential, so the service's user need not read it. */
function handedOver({ what, path, mayShow }: Need, credential: string, message: string): Finding {
  const setting = what.slice(what.search(/\w+$/));
  const line = `LoadCredential=${credential}:${mayShow ? path : "/its/path"}`;
  const fix = `${line} in a drop-in of the unit, and ${setting} = "credential:${credential}" in the config`;
  return { what, message, lines: mayShow ? [line] : [], fix };
}

function powerless({ what, path }: Need, trial: Trial): Finding[] {
  if (((modeOf(path) ?? 0) & 0o6000) === 0) return [];
  const message = `${path} is a set-user-ID or set-group-ID program; NoNewPrivileges=yes keeps it from gaining privileges`;
  const fix = `use a program that needs no extra privileges, and make the files it reads accessible to ${userOf(trial)}`;
  return [{ what, message, lines: [], fix, isWarning: !/\/(sudo|su|doas|runuser)$/.test(path) }];
}

function userOf({ property }: Trial): string {
  return property("User") || "root";
}
