import { realpathSync, statSync } from "node:fs";
import { EM_386, locate, readElf } from "../collector/tool.ts";
import type { Config } from "../config/config.ts";
import { credentialOfPath } from "../config/credentials.ts";
import type { Environment } from "../config/environment.ts";
import { managerOf } from "../managers/registry.ts";
import type { Need } from "../system/unit/obstacles.ts";

/** A program that the service would not find, because its $PATH is not that of who asks. */
export interface NotInPath {
  readonly what: string;
  readonly name: string;
  /** Where it lies. */
  readonly found: string;
}

export interface UnitNeeds {
  readonly files: readonly Need[];
  readonly notInPath: readonly NotInPath[];
  /** What the unit must hand over, by what asks for it. */
  readonly credentials: readonly { readonly what: string; readonly name: string }[];
}

/**
 * The files of this host that a config makes the service need. `unitPath` is the service's $PATH, `path` that of who
 * asks: a bare name that only the latter knows is worth telling.
 */
export function unitNeeds(
  config: Config,
  configFile: string | null,
  environment: Environment,
  unitPath: string,
): UnitNeeds {
  const files: Need[] = [];
  const notInPath: NotInPath[] = [];
  const credentials: { what: string; name: string }[] = [];
  const file = (what: string, path: string, access: Need["access"]) =>
    void files.push({ what, path, realPath: realPathOf(path), access, mayShow: true });
  const handed = (what: string, path: string | null, credential: string, mayShow = false) => {
    if (path === null) return;
    const name = credentialOfPath(path, environment);
    if (name !== null) credentials.push({ what, name });
    else files.push({ what, path, realPath: realPathOf(path), access: "read", mayShow, credential });
  };
  const program = (what: string, names: readonly string[], args: readonly string[] = []) => {
    // What a program is told to run or to read: `env LM=1 /home/lic/lmutil`. Options and templates are no paths.
    for (const arg of args) if (arg.startsWith("/") && modeOf(arg) !== null) file(what, arg, "read");
    const path = first(names, unitPath);
    if (path !== null) {
      const mode = modeOf(path);
      files.push({
        what,
        path,
        realPath: realPathOf(path),
        access: "run",
        mayShow: true,
        is32Bit: is32Bit(path),
        setsId: mode !== null && (mode & SET_ID) !== 0,
        runsAnother: args.length > 0,
      });
      return;
    }
    const found = first(names, environment.PATH ?? "");
    // Nowhere at all: the check of the tools says so.
    if (found !== null) notInPath.push({ what, name: names[0] ?? "", found });
  };

  if (configFile !== null) file("config", configFile, "read");
  file("storage", config.storage.directory, "write");
  if (config.http.tls !== null) {
    handed("http.tls_cert", config.http.tls.cert, "tls-cert", true);
    handed("http.tls_key", config.http.tls.key, "tls-key", true);
  }
  for (const { id, enabled, manager, tool, address, logFile } of config.servers) {
    if (!enabled) continue;
    const { tools, parseAddress } = managerOf(manager);
    const [name, ...args] = tool ?? [];
    const names = name === undefined ? tools : [name];
    // Of one that nobody may run the check of the tools tells.
    if (!isRunByNobody(first(names, unitPath))) program(`${id}: tool`, names, args);
    const parsed = parseAddress(address);
    if (!("problem" in parsed) && parsed.members.length === 0) file(`${id}: address`, address, "read");
    if (logFile !== null) file(`${id}: log_file`, logFile, "read");
  }
  for (const [index, notification] of config.notifications.entries()) {
    if (notification.type === "command")
      program(`notifications[${index}].argv`, notification.argv.slice(0, 1), notification.argv.slice(1));
    else handed(`notifications[${index}].secret_file`, notification.secretFile, notification.type);
  }
  if (config.execute.enabled)
    for (const { name, argv } of config.execute.commands)
      program(`execute ${name}`, argv.slice(0, 1), argv.slice(1));
  handed("export.remote_write.token_file", config.remoteWrite?.tokenFile ?? null, "prometheus");
  return { files, notInPath, credentials };
}

const SET_ID = 0o6000;

/** Of what lies there, links followed; null when nothing does, or it cannot be looked at. */
function modeOf(path: string): number | null {
  try {
    return statSync(path).mode;
  } catch {
    return null;
  }
}

function isRunByNobody(path: string | null): boolean {
  const mode = path === null ? null : modeOf(path);
  return mode !== null && (mode & 0o111) === 0;
}

function first(names: readonly string[], path: string): string | null {
  for (const name of names) {
    const found = locate(name, path);
    if (found !== null) return found;
  }
  return null;
}

function realPathOf(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}

function is32Bit(path: string): boolean {
  try {
    return readElf(path)?.machine === EM_386;
  } catch {
    // A program that cannot be read may still be run; what it is cannot be told.
    return false;
  }
}
