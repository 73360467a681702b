import { statSync } from "node:fs";
import { dirname } from "node:path";
import type { Environment } from "../../config/environment.ts";
import { groupName } from "../../system/secret-file.ts";
import { modeOf, type Need } from "./unit-needs.ts";
import { identityOf, type Question, type Trial } from "./unit-trial.ts";

export interface Finding {
  readonly what: string;
  /** A sentence without its full stop. */
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
/** Lines that the service survives but that harm it: property, value, harm, fix. */
const HARMS = [
  ["MemoryDenyWriteExecute", "yes", "makes the runtime many times slower", "MemoryDenyWriteExecute=no"],
  ["ProcSubset", "pid", "hides the host's metrics in /proc", "ProcSubset=all"],
  ["PrivateNetwork", "yes", CUT_OFF, "PrivateNetwork=no"],
] as const;

/** By kind of access: the verb of the message, the letters of setfacl(1), and the mode bits. */
const RIGHTS = {
  search: { lacks: "entered", right: "x", bit: 1 },
  read: { lacks: "read", right: "r", bit: 4 },
  run: { lacks: "run", right: "rx", bit: 1 },
  write: { lacks: "written", right: "rwx", bit: 3 },
} as const;

/** Explains why the service cannot use a file, and how to allow it. `inside`: identities of its places in the sandbox. */
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
  // No service is in root's group.
  const gid = statSync(place, { throwIfNoEntry: false })?.gid ?? 0;
  if (gid !== 0 && ((bits >> 3) & bit) === bit) return open(message, `SupplementaryGroups=${groupName(gid)}`);
  return advise(message, `setfacl -m u:${user}:${right} ${place}`);
}

/** The unit hides the host's file or replaces it. */
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
    // Bind the log's directory: the file may be rotated.
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
