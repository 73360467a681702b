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
export function checkFiles(config: Config, environment: Environment, report: Report): void {
  const check = (what: string, file: string, shown: string, fix: string) => {
    const why = whyUnreadable(file);
    const allow = "let this user read it, or run `sudo licmond check`";
    if (why === null) report.fine(what, "can be read");
    else report.problem(what, `${shown} ${why}`, why === MISSING ? fix : allow);
  };
  for (const { id, logFile } of config.servers) {
    const fix =
      "correct log_file, or have the vendor daemon write its debug log there (DEBUGLOG in its options file)";
    if (logFile !== null) check(`${id}: log_file`, logFile, logFile, fix);
  }
  for (const [what, file] of secretFiles(config)) {
    const fix = `correct ${what.slice(what.search(/\w+$/))}, or write the secret there, on one line`;
    // Where a secret lies may tell something; that it is the wrong file, too.
    if (credentialOfPath(file, environment) === null) check(what, file, "the file", fix);
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

export function checkTools(
  servers: readonly MonitoredServer[],
  environment: Environment,
  report: Report,
): void {
  for (const { id, manager, tool, enabled } of servers) {
    const wanted = tool === null ? { names: managerOf(manager).tools } : { argv: tool };
    const finding = inspectTool(wanted, environment.PATH ?? "");
    const what = `${id}: tool`;
    if (finding.ok) report.fine(what, finding.path);
    else if (enabled) report.problem(what, finding.failure.message, finding.failure.fix);
    else report.warning(what, `${finding.failure.message} (the server is disabled)`);
  }
}

/** Names must resolve; whether a server answers there is the servers' affair, and said as a warning. */
export async function checkHosts(servers: readonly MonitoredServer[], report: Report): Promise<void> {
  const measure = createReachability();
  await Promise.all(
    servers.map(async ({ id, manager, address, enabled }) => {
      const parsed = managerOf(manager).parseAddress(address);
      if ("problem" in parsed) return;
      if (parsed.members.length === 0) return checkLicenseFile(id, address, report);
      const what = `${id}: host`;
      for (const { host, port, addresses, error, reachable } of enabled
        ? await measure(parsed.members)
        : []) {
        const name = port === null ? host : `${port}@${host}`;
        const unresolved = `${name} does not resolve (${error ?? "no address"})`;
        if (addresses.length === 0)
          report.problem(what, unresolved, "correct the address, or the name service");
        else if (reachable === false)
          report.warning(what, `${name} resolves, and nobody answers there (${error ?? "no answer"})`);
        else report.fine(what, `${name} is ${addresses.join(", ")}`);
      }
    }),
  );
}

function checkLicenseFile(id: string, file: string, report: Report): void {
  const cannot = `the license file ${file} cannot be read by this user`;
  if (whyUnreadable(file) === null) report.fine(`${id}: address`, `${file} can be read`);
  else report.problem(`${id}: address`, cannot, "correct the address, or its permissions");
}
