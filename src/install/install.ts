import { type Host, kindOf } from "./host.ts";
import { layBinary, layConfig, layDirectory, layText } from "./lay.ts";
import { LAYOUT, SERVICE_NAME, SYSUSERS, TMPFILES, UNIT, UNIT_NAME } from "./layout.ts";
import { serviceAccount } from "./ownership.ts";
import type { Pass } from "./pass.ts";
import { must, restartService, serviceState } from "./service.ts";

export interface InstallWanted {
  /** The new binary. */
  readonly binary: string;
  readonly version: string;
  /** The config to write where there is none. */
  readonly configText: string;
  /** Binary and config alone. */
  readonly withoutSystemd: boolean;
  /** Start the service, now and at every boot. */
  readonly start: boolean;
  /** Whether the host has a program. */
  readonly has: (program: string) => boolean;
}

/** Everything that `licmond install` does, in order. */
export async function install(pass: Pass, host: Host, wanted: InstallWanted): Promise<void> {
  const { binary, version, configText, has } = wanted;
  // Directories of the system that are missing are open to all.
  process.umask(0o022);
  await layBinary(pass, host, binary, version);
  if (wanted.withoutSystemd) return layConfig(pass, host, configText, 0o644, "root:root");
  for (const text of [SYSUSERS, TMPFILES, UNIT]) await layText(pass, host, text, version);
  if (host.root === null) await makeUser(pass, host, has("systemd-sysusers"));
  await layDirectory(pass, host, LAYOUT.configDirectory, 0o750, "root:licmond", false);
  await layConfig(pass, host, configText, 0o640, "root:licmond");
  await layDirectory(pass, host, LAYOUT.data, 0o700, "licmond:licmond", true);
  if (host.root !== null) return;
  if (has("systemd-tmpfiles")) await applyTmpfiles(pass, host);
  await reloadManager(pass, host);
  if (wanted.start) await startService(pass, host);
}

const SYSUSERS_ARGV = ["systemd-sysusers", LAYOUT.sysusers];
const TMPFILES_ARGV = ["systemd-tmpfiles", "--create", LAYOUT.tmpfiles];
/** For systems without systemd-sysusers: useradd(8), the same user. */
const USERADD_ARGV = [
  ...["useradd", "--system", "--user-group", "--no-create-home", "--home-dir", LAYOUT.data],
  ...["--shell", "/usr/sbin/nologin", "--comment", "License monitoring daemon", SERVICE_NAME],
];

async function makeUser(pass: Pass, host: Host, hasSysusers: boolean): Promise<void> {
  const argv = hasSysusers ? SYSUSERS_ARGV : USERADD_ARGV;
  const subject = argv.map((word) => (word.includes(" ") ? `'${word}'` : word)).join(" ");
  if ((await serviceAccount(host)) !== null) return pass.fine(subject, `the user ${SERVICE_NAME} is there`);
  await pass.change(subject, `make the user ${SERVICE_NAME}`, () => must(host.run, argv));
}

/** As every boot will; also those that an installation that broke off has laid down. */
async function applyTmpfiles(pass: Pass, host: Host): Promise<void> {
  const subject = TMPFILES_ARGV.join(" ");
  if (!pass.changed(LAYOUT.tmpfiles) && kindOf(host.at(LAYOUT.secrets)) !== "missing")
    return pass.fine(subject, "nothing new to apply");
  await pass.change(subject, "apply it, as every boot will", () => must(host.run, TMPFILES_ARGV));
}

async function reloadManager(pass: Pass, host: Host): Promise<void> {
  const argv = ["systemctl", "daemon-reload"];
  if (!pass.changed(LAYOUT.unit) && !(await serviceState(host.run)).needsReload)
    return pass.fine(argv.join(" "), "systemd knows the unit");
  await pass.change(argv.join(" "), "let systemd read the unit", () => must(host.run, argv));
}

/** Now and at every boot. A service that runs with something older is restarted. */
async function startService(pass: Pass, host: Host): Promise<void> {
  const { isActive, isEnabled } = await serviceState(host.run);
  const enable = ["systemctl", "enable", UNIT_NAME];
  if (isEnabled) pass.fine(enable.join(" "), "it is enabled");
  else await pass.change(enable.join(" "), "start it at every boot", () => must(host.run, enable));

  const subject = `systemctl restart ${UNIT_NAME}`;
  const isCurrent = !pass.changed(LAYOUT.binary) && !pass.changed(LAYOUT.unit);
  if (isActive && isCurrent) return pass.fine(subject, "it runs with what is installed");
  const what = isActive ? "restart it with what is installed now" : "start it";
  await pass.change(subject, what, () => restartService(host.run));
}
