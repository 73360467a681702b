import { accessSync, constants } from "node:fs";
import { createReachability, type MemberAddress } from "../collector/reachability.ts";
import { inspectTool } from "../collector/tool.ts";
import type { Config } from "../config/config.ts";
import { credentialOfPath } from "../config/credentials.ts";
import type { Environment } from "../config/environment.ts";
import { guardedFiles, secretFiles } from "../config/guarded-files.ts";
import { codeOf } from "../domain/error-code.ts";
import type { MonitoredServer } from "../domain/server.ts";
import { certificateWarning, readTls } from "../http/tls.ts";
import { managerOf } from "../managers/registry.ts";
import { daemonGroups, exposureOf, exposureWords } from "../system/exposed-file.ts";
import { checkPort } from "./check-port.ts";
import { checkStorage } from "./check-storage.ts";
import type { Report } from "./report.ts";

/** What the config asks of this host. Changes nothing on it. */
export async function checkHost(config: Config, environment: Environment, report: Report): Promise<void> {
  checkStorage(config.storage.directory, report);
  await checkPort(config.http, report);
  checkCertificate(config.http, environment, report);
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

/** That the certificate and its key are what they should be, and good for some time. */
function checkCertificate({ tls }: Config["http"], environment: Environment, report: Report): void {
  // What the unit hands over is the service's alone: `checkUnit` looks after it.
  if (tls === null || [tls.cert, tls.key].some((path) => credentialOfPath(path, environment) !== null))
    return;
  try {
    const warning = certificateWarning(readTls(tls), Date.now());
    if (warning === null) report.fine("http", "the TLS certificate and its key are good");
    else report.warning("http", warning);
  } catch (error) {
    report.problem(
      "http",
      error instanceof Error ? error.message : String(error),
      "correct http.tls_cert and http.tls_key, or leave both out and put a TLS proxy in front",
    );
  }
}

/** Files that the config names and the daemon will read. */
function checkFiles(config: Config, environment: Environment, report: Report): void {
  const logs = config.servers.flatMap(({ id, logFile }) =>
    logFile === null ? [] : [[`${id}: log_file`, logFile] as const],
  );
  for (const [what, file] of [...logs, ...secretFiles(config)]) {
    if (credentialOfPath(file, environment) !== null) continue;
    try {
      accessSync(file, constants.R_OK);
      report.fine(what, "can be read");
    } catch (error) {
      const isMissing = codeOf(error) === "ENOENT";
      const why = isMissing ? "does not exist" : "cannot be read by this user";
      const isLog = what.endsWith("log_file");
      const setting = what.slice(what.search(/\w+$/));
      const fix = isLog
        ? `correct ${setting}, or have the vendor daemon write its debug log there (DEBUGLOG in its options file)`
        : `correct ${setting}, or write the secret there, on one line`;
      // Where a secret lies may tell something; that it is the wrong file, too.
      const message = isLog ? `${file} ${why}` : `the file ${why}`;
      report.problem(what, message, isMissing ? fix : `let this user read it, or run \`sudo licmond check\``);
    }
  }
}

function checkTool({ id, manager, tool, enabled }: MonitoredServer, path: string, report: Report): void {
  const finding = inspectTool(tool === null ? { names: managerOf(manager).tools } : { argv: tool }, path);
  const what = `${id}: tool`;
  if (finding.ok) {
    report.fine(what, finding.path);
    return;
  }
  const { message, fix } = finding.failure;
  if (enabled) report.problem(what, message, fix);
  else report.warning(what, `${message} (the server is disabled)`);
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
        const name = nameOf(member);
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
  try {
    accessSync(file, constants.R_OK);
    report.fine(`${id}: address`, `${file} can be read`);
  } catch {
    report.problem(
      `${id}: address`,
      `the license file ${file} cannot be read by this user`,
      "correct the address, or its permissions",
    );
  }
}

function nameOf({ host, port }: MemberAddress): string {
  return port === null ? host : `${port}@${host}`;
}
