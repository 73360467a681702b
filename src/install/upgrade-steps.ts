import { renameSync } from "node:fs";
import { isLicmondBinary, sameBytes } from "./binary-file.ts";
import { replaceBinary } from "./binary-step.ts";
import { type Host, kindOf, obstacle } from "./host.ts";
import { LAYOUT, UNIT_NAME } from "./layout.ts";
import { lastWords, must, SERVICE_TIMEOUT_MS } from "./service.ts";
import type { Plan, Step } from "./step.ts";
import { compareVersions, type VersionAnswer, versionOf } from "./version-of.ts";
import type { FileRights } from "./write.ts";

export interface UpgradeWanted {
  /** The new binary. */
  readonly file: string;
  readonly allowDowngrade: boolean;
  /** `none`: no unit of ours, or no systemd to ask. */
  readonly service: "runs" | "stopped" | "none";
}

function rightsOn(host: Host): FileRights {
  return { mode: 0o755, owner: host.uid === 0 ? { uid: 0, gid: 0 } : null };
}

const RESTART = `systemctl restart ${UNIT_NAME}`;
/** `check --config-only` of a version that does not know the option. */
const EXIT_USAGE = 2;

/** Everything that `licmond upgrade` does, in order. When a step behind the first fails, {@link goBack} undoes it. */
export function upgradeSteps(host: Host, wanted: UpgradeWanted): Step[] {
  const { service } = wanted;
  const others = service === "none" ? [] : [layDownStep(host), restartStep(host, service === "runs")];
  return [swapStep(host, wanted), ...others];
}

function swapStep(host: Host, { file, allowDowngrade }: UpgradeWanted): Step {
  const installedFile = host.at(LAYOUT.binary);
  const refuse = (why: string, fix: string): Plan => ({ kind: "refuse", why, fix });

  async function plan(): Promise<Plan> {
    const hindered = obstacle(host, LAYOUT.binary);
    if (hindered !== null) return { kind: "refuse", ...hindered };
    if (kindOf(installedFile) !== "file" || !isLicmondBinary(installedFile))
      return refuse(`${installedFile} is not a licmond`, "`licmond install` installs one");
    if (!isLicmondBinary(file))
      return refuse(
        `${file} is not a licmond, or not the whole of one`,
        "name the licmond binary that you downloaded, unpacked; `sha256sum -c SHA256SUMS` tells whether all of it came",
      );
    if (sameBytes(file, installedFile)) return { kind: "nothing", why: `is ${file} already` };
    const fresh = await versionOf(host.run, file);
    if (!fresh.ok)
      return refuse(
        `${file} does not run on this host: ${fresh.why}`,
        "take the build for this system (chmod +x)",
      );
    // An installed one that does not run is a reason to replace it.
    const installed = await versionOf(host.run, installedFile);
    const isOlder = installed.ok && compareVersions(fresh.version, installed.version) < 0;
    if (isOlder && !allowDowngrade)
      return refuse(
        `${file} is licmond ${fresh.version}, older than the installed ${installed.version}`,
        "--allow-downgrade installs it all the same; it refuses a database that a newer one has changed",
      );
    return (await refusedConfig(host, file)) ?? swap(host, file, fresh.line, installed);
  }

  return { subject: LAYOUT.binary, plan };
}

/** The new version must take the config, before the old one is stopped. */
async function refusedConfig(host: Host, file: string): Promise<Plan | null> {
  const { ok, exitCode, stdout, words } = await host.run([file, "check", "--config-only"]);
  if (ok || exitCode === EXIT_USAGE) return null;
  return {
    kind: "refuse",
    why: `the new version does not take the config:\n${stdout.trim() || words}`,
    fix: `correct ${LAYOUT.config}`,
  };
}

function swap(host: Host, file: string, line: string, installed: VersionAnswer): Plan {
  const was = installed.ok ? installed.line : "the licmond that is there";
  return {
    kind: "do",
    what: `replace ${was} by ${line}; the old one is kept as ${LAYOUT.previousBinary}`,
    apply: () => replaceBinary(host, file, rightsOn(host)),
  };
}

/** The new binary brings its own unit, sysusers and tmpfiles. */
function layDownStep(host: Host): Step {
  return {
    subject: `${LAYOUT.binary} install`,
    plan: (before) =>
      before.has(LAYOUT.binary)
        ? {
            kind: "do",
            what: "lay down what its version brings: unit, user, directories",
            apply: layDown(host),
          }
        : { kind: "nothing", why: "nothing was replaced" },
  };
}

function restartStep(host: Host, isActive: boolean): Step {
  return {
    subject: RESTART,
    plan(before) {
      if (!before.has(LAYOUT.binary)) return { kind: "nothing", why: "nothing was replaced" };
      if (!isActive)
        return { kind: "nothing", why: `it does not run; start it: systemctl start ${UNIT_NAME}` };
      const what =
        "restart it and wait until it answers; a database of an older schema is backed up and migrated first";
      return { kind: "do", what, apply: restart(host) };
    },
  };
}

const layDown = (host: Host) => () => must(host.run, [host.at(LAYOUT.binary), "install"]);

const restart = (host: Host) => async () => {
  // Attempts from before must not count against this one; it fails when there is nothing to reset.
  await host.run(["systemctl", "reset-failed", UNIT_NAME]);
  const { ok, words } = await host.run(["systemctl", "restart", UNIT_NAME], SERVICE_TIMEOUT_MS);
  if (!ok) throw new Error(`${words}\nits last words:\n${await lastWords(host.run)}`);
};

/** Puts the previous binary back, with the unit that it brings, and starts what ran. Throws with the words of what failed. */
export async function goBack(host: Host, service: UpgradeWanted["service"]): Promise<void> {
  renameSync(host.at(LAYOUT.previousBinary), host.at(LAYOUT.binary));
  if (service !== "none") await layDown(host)();
  if (service === "runs") await restart(host)();
}
