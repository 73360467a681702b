import { accessSync, constants } from "node:fs";
import { createReachability } from "../../collector/reachability.ts";
import { inspectTool } from "../../collector/tool.ts";
import type { Config } from "../../config/config.ts";
import { credentialOfPath } from "../../config/credentials.ts";
import type { Environment } from "../../config/environment.ts";
import { guardedFiles, secretFiles } from "../../config/guarded-files.ts";
import { codeOf } from "../../domain/error-code.ts";
import type { MonitoredServer } from "../../domain/server.ts";
import { managerOf } from "../../managers/registry.ts";
import { daemonGroups, exposureOf, exposureWords } from "../../system/exposed-file.ts";
import type { Report } from "../terminal.ts";
import { checkListening } from "./network.ts";
import { checkStorage } from "./storage.ts";

/** What the config asks of this host. Changes nothing on it. */
export async function checkHost(config: Config, environment: Environment, report: Report): Promise<void> {
  checkStorage(config.storage.directory, report);
  await checkListening(config.http, environment, report);
  checkFiles(config, environment, report);
  for (const server of config.servers) checkTool(server, environment.PATH ?? "", report);
  await checkHosts(config.servers, report);
}

/** Secrets that others may read, and a config that others may write. */
export function checkExposed(
  config: Config,
  configFile: string | null,
  environment: Environment,
  report: Pick<Report, "warning">,
  groups: readonly number[] = daemonGroups(),
): void {
  for (const { setting, file, kind } of guardedFiles(config, configFile, environment)) {
    const exposure = exposureOf(file, kind, groups);
    if (exposure !== null) report.warning(setting, exposureWords(exposure));
  }
}

/** Files that the config names and the daemon will read. */
function checkFiles(config: Config, environment: Environment, report: Report): void {
  const allow = "let this user read it, or run `sudo licmond check`";
  for (const { id, logFile } of config.servers) {
    if (logFile === null) continue;
    const fix =
      "correct log_file, or have the vendor daemon write its debug log there (DEBUGLOG in its options file)";
    const why = whyUnreadable(logFile);
    if (why === null) report.fine(`${id}: log_file`, "can be read");
    else report.problem(`${id}: log_file`, `${logFile} ${why}`, why === MISSING ? fix : allow);
  }
  for (const [what, file] of secretFiles(config)) {
    if (credentialOfPath(file, environment) !== null) continue;
    const fix = `correct ${what.slice(what.search(/\w+$/))}, or write the secret there, on one line`;
    const why = whyUnreadable(file);
    if (why === null) report.fine(what, "can be read");
    // Where a secret lies may tell something; that it is the wrong file, too.
    else report.problem(what, `the file ${why}`, why === MISSING ? fix : allow);
  }
}

const MISSING = "does not exist";

/** Null when this user can read the file. */
function whyUnreadable(file: string): string | null {
  try {
    accessSync(file, constants.R_OK);
    return null;
  } catch (error) {
    return codeOf(error) === "ENOENT" ? MISSING : "cannot be read by this user";
  }
}

function checkTool({ id, manager, tool, enabled }: MonitoredServer, path: string, report: Report): void {
  const finding = inspectTool(tool?.slice(0, 1) ?? managerOf(manager).tools, path);
  const what = `${id}: tool`;
  if (finding.ok) report.fine(what, finding.path);
  else if (enabled) report.problem(what, finding.failure.message, finding.failure.fix);
  else report.warning(what, `${finding.failure.message} (the server is disabled)`);
}

/** Names must resolve; whether anybody answers is the servers' affair, and said as a warning. */
async function checkHosts(servers: readonly MonitoredServer[], report: Report): Promise<void> {
  const measure = createReachability();
  await Promise.all(
    servers.map(async ({ id, manager, address, enabled }) => {
      const parsed = managerOf(manager).parseAddress(address);
      if ("problem" in parsed) return;
      if (parsed.members.length === 0) return checkLicenseFile(id, address, report);
      for (const member of enabled ? await measure(parsed.members) : []) {
        const name = member.port === null ? member.host : `${member.port}@${member.host}`;
        if (member.addresses.length === 0)
          report.problem(
            `${id}: host`,
            `${name} does not resolve (${member.error ?? "no address"})`,
            "correct the address, or the name service",
          );
        else if (member.reachable === false)
          report.warning(
            `${id}: host`,
            `${name} resolves, and nobody answers there (${member.error ?? "no answer"})`,
          );
        else report.fine(`${id}: host`, `${name} is ${member.addresses.join(", ")}`);
      }
    }),
  );
}

function checkLicenseFile(id: string, file: string, report: Report): void {
  if (whyUnreadable(file) === null) report.fine(`${id}: address`, `${file} can be read`);
  else
    report.problem(
      `${id}: address`,
      `the license file ${file} cannot be read by this user`,
      "correct the address, or its permissions",
    );
}
