import { existsSync, realpathSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { locate } from "../../collector/tool.ts";
import type { Config } from "../../config/config.ts";
import { credentialOfPath } from "../../config/credentials.ts";
import type { Environment } from "../../config/environment.ts";
import { managerOf } from "../../managers/registry.ts";

export interface Need {
  /** Name of the setting in reports: `eda: tool`. */
  readonly what: string;
  readonly path: string;
  readonly access: "read" | "run" | "write";
  /** Names of a program to look up in the service's $PATH; empty if the path is known. */
  readonly names: readonly string[];
  /** The path and its parent directories, root first. Then the same places with all links resolved. */
  readonly places: readonly string[];
  /** True if the file does not exist yet and the service creates it. */
  readonly isNew: boolean;
  /** Whether reports may show the path; false for secrets. */
  readonly mayShow: boolean;
  /** Name under which the unit can pass the file (LoadCredential=); null if the config accepts no credential. */
  readonly credential: string | null;
}

export type UnitNeeds = ReturnType<typeof unitNeeds>;

/** Returns the files that the service needs. Missing files and files that are not executable are left to other checks. */
export function unitNeeds(config: Config, configFile: string | null, environment: Environment) {
  const files: Need[] = [];
  const credentials: { what: string; name: string }[] = [];
  const add = (what: string, path: string, access: Need["access"], more: Partial<Need> = {}) => {
    const found = { places: placesOf(path), isNew: modeOf(path) === null };
    files.push({ what, path, access, names: [], mayShow: true, credential: null, ...found, ...more });
  };
  const file = (what: string, path: string, more: Partial<Need> = {}) => {
    if (modeOf(path) !== null) add(what, path, "read", more);
  };
  const handed = (what: string, path: string | null, credential: string, mayShow = false) => {
    if (path === null) return;
    const name = credentialOfPath(path, environment);
    if (name === null) file(what, path, { mayShow, credential });
    else credentials.push({ what, name });
  };
  const program = (what: string, [first = "", ...args]: readonly string[], names = [first]) => {
    // Arguments may name programs and files, e.g. `env LM=1 /home/lic/lmutil`. Skip options and templates.
    for (const arg of args) if (arg.startsWith("/")) file(what, arg);
    const path = names.map((name) => locate(name, environment.PATH ?? "")).find((found) => found !== null);
    if (path === undefined || ((modeOf(path) ?? 0) & 0o111) === 0) return;
    add(what, path, "run", { names: names.filter((name) => !name.includes("/")) });
  };

  if (configFile !== null) file("config", configFile);
  add("storage", config.storage.directory, "write");
  handed("http.tls_cert", config.http.tls?.cert ?? null, "tls-cert", true);
  handed("http.tls_key", config.http.tls?.key ?? null, "tls-key", true);
  handed("http.tls_client_ca", config.http.tls?.clientCa ?? null, "tls-client-ca", true);
  for (const server of config.servers) {
    const { id, enabled, manager, tool, address, logFile, logCommand } = server;
    if (!enabled) continue;
    const { tools, parseAddress } = managerOf(manager, config.managers);
    program(`${id}: tool`, tool ?? [], tool === null ? [...tools] : undefined);
    const parsed = parseAddress(address);
    if (!("problem" in parsed) && parsed.members.length === 0) file(`${id}: address`, address);
    handed(`${id}: secret_file`, server.secretFile, id);
    handed(`${id}: ca_file`, server.caFile, `${id}-ca`, true);
    if (logFile !== null) file(`${id}: log_file`, logFile);
    if (logCommand !== null) program(`${id}: log_command`, logCommand);
  }
  for (const [index, notification] of config.notifications.entries()) {
    const what = `notifications[${index}]`;
    if (notification.type === "command") program(`${what}.argv`, notification.argv);
    else handed(`${what}.secret_file`, notification.secretFile, notification.type);
  }
  if (config.execute.enabled)
    for (const { name, argv } of config.execute.commands) program(`execute ${name}`, argv);
  handed("export.remote_write.token_file", config.remoteWrite?.tokenFile ?? null, "prometheus");
  handed("fleet.api_key_file", config.fleet?.apiKeyFile ?? null, "fleet");
  handed("fleet.people_key_file", config.fleet?.peopleKeyFile ?? null, "fleet-people");
  handed("fleet.ca_file", config.fleet?.caFile ?? null, "fleet-ca", true);
  handed("fleet.cert_file", config.fleet?.certFile ?? null, "fleet-cert", true);
  handed("fleet.cert_key_file", config.fleet?.certKeyFile ?? null, "fleet-cert-key", true);
  return { files, credentials };
}

export function modeOf(path: string): number | null {
  return existsSync(path) ? statSync(path).mode : null;
}

function placesOf(path: string): string[] {
  const withAbove = (each: string): string[] =>
    dirname(each) === each ? [each] : [...withAbove(dirname(each)), each];
  return [...withAbove(path), ...withAbove(existsSync(path) ? realpathSync(path) : path)];
}
