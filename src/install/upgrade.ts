import { renameSync } from "node:fs";
import { restoreCopy, type WayBack, wayBack } from "../store/backup/restore.ts";
import { isLicmondBinary, replaceBinary, sameBytes, versionOf } from "./files.ts";
import { type Host, must, restartService, rootsOwn, SERVICE_TIMEOUT_MS, serviceState } from "./host.ts";
import { HUB_UNIT_NAME, LAYOUT, UNIT_NAME } from "./layout.ts";
import { fileAt, type Pass, runStep } from "./pass.ts";

/** State of the service. `none` means that our unit or systemd is missing. */
export type ServiceNow = "runs" | "stopped" | "none";

export interface UpgradeWanted {
  readonly file: string;
  readonly allowDowngrade: boolean;
  /** Directory of the database to restore together with the binary; null = keep the database. */
  readonly rollBackIn: string | null;
  readonly service: ServiceNow;
}

/** Exit code of versions that do not know `check --config-only`. */
const EXIT_USAGE = 2;
export const STOP = `systemctl stop ${UNIT_NAME}`;

/** Runs all steps of `licmond upgrade`. If a step after the first fails, {@link goBack} undoes it. */
export async function upgrade(pass: Pass, wanted: UpgradeWanted): Promise<void> {
  const { file, service, rollBackIn } = wanted;
  const fresh = await assess(pass, file, wanted.allowDowngrade);
  if (fresh !== null) {
    if (rollBackIn !== null) await putDatabaseBack(pass, file, rollBackIn, service);
    const what = `replace ${fresh.was} by ${fresh.line}; keep the old one as ${LAYOUT.previousBinary}`;
    await pass.change(LAYOUT.binary, what, () =>
      replaceBinary(file, pass.at(LAYOUT.binary), pass.at(LAYOUT.previousBinary), rootsOwn(pass, 0o755)),
    );
  }
  if (service === "none") return;
  const layDownLine = `${LAYOUT.binary} install`;
  const restartLine = `systemctl restart ${UNIT_NAME}`;
  if (!pass.changed(LAYOUT.binary)) {
    pass.fine(layDownLine, "nothing was replaced");
    return pass.fine(restartLine, "nothing was replaced");
  }
  const brings = "install the files of its version: unit, user, directories";
  await pass.change(layDownLine, brings, () => layDown(pass));
  if (service === "stopped") pass.fine(restartLine, `not running; start it: systemctl start ${UNIT_NAME}`);
  else {
    const waits = "restart it and wait until it answers; an older database is backed up and migrated first";
    await pass.change(restartLine, waits, () => restartService(pass.run));
  }
  if (!(await hubRuns(pass))) return;
  const hub = "restart the hub and wait until it answers";
  await pass.change(`systemctl restart ${HUB_UNIT_NAME}`, hub, () => restartService(pass.run, HUB_UNIT_NAME));
}

/**
 * Describes the new binary and the binary that it replaces. Returns null if there is nothing to replace, or
 * after a refusal.
 */
async function assess(pass: Pass, file: string, allowDowngrade: boolean) {
  const path = LAYOUT.binary;
  const installedFile = pass.at(path);
  const refuse = (why: string, fix: string): null => {
    pass.refuse(path, why, fix);
    return null;
  };
  const kind = fileAt(pass, path);
  if (kind === null) return null;
  if (kind === "missing" || !isLicmondBinary(installedFile))
    return refuse(`${installedFile} is not a licmond binary`, "install it with `licmond install`");
  const whole =
    "pass the downloaded licmond binary, unpacked; check the download with `sha256sum -c SHA256SUMS`";
  if (!isLicmondBinary(file)) return refuse(`${file} is not a complete licmond binary`, whole);
  if (sameBytes(file, installedFile)) {
    pass.fine(path, `already is ${file}`);
    return null;
  }
  const fresh = await versionOf(pass.run, file);
  const other = "use the build for this system (chmod +x)";
  if (!fresh.ok) return refuse(`${file} does not run on this host: ${fresh.why}`, other);
  // If the installed binary does not run, replace it without comparing versions.
  const installed = await versionOf(pass.run, installedFile);
  if (installed.ok && Bun.semver.order(fresh.version, installed.version) < 0 && !allowDowngrade)
    return refuse(
      `${file} is licmond ${fresh.version}, older than the installed ${installed.version}`,
      "downgrade with --allow-downgrade; the older version may reject the database",
    );
  // Check that the new version accepts the config before the old one is stopped.
  const { ok, exitCode, stdout, words } = await pass.run([file, "check", "--config-only"]);
  const why = `the new version rejects the config:\n${stdout.trim() || words}`;
  if (!ok && exitCode !== EXIT_USAGE) return refuse(why, `correct ${LAYOUT.config}`);
  return { line: fresh.line, was: installed.ok ? installed.line : "the installed licmond" };
}

/**
 * Restores the copy of the database that was made before the migration, because the older version rejects
 * the migrated database.
 */
async function putDatabaseBack(pass: Pass, binary: string, directory: string, service: ServiceNow) {
  const way = await databaseFor(pass, binary, directory);
  if (way.kind === "none") return;
  if (way.kind === "lost")
    return pass.refuse(
      way.database,
      `${way.database} was migrated since, and no earlier copy exists`,
      "restore a backup from before the upgrade (`licmond restore`), or keep this version",
    );
  if (service === "runs") await runStep(pass, STOP, "stop it to replace its database", SERVICE_TIMEOUT_MS);
  const what = `restore ${way.copy} from before the upgrade; later data is kept in licmond.db.replaced-*`;
  await pass.change(way.database, what, () => restoreCopy(way));
}

/** Finds the database for a binary, by asking the binary whether it accepts an empty database of the same schema. */
function databaseFor(host: Host, binary: string, directory: string): Promise<WayBack> {
  return wayBack(host.at(directory), async (file) => {
    const { exitCode } = await host.run([binary, "restore", "--verify", file]);
    return exitCode !== 1;
  });
}

/** Installs the unit, sysusers and tmpfiles of the new binary. */
const layDown = (host: Host) => must(host.run, `${host.at(LAYOUT.binary)} install`);

/** Restores the previous binary with its unit and a database that it accepts, and starts the service if it was running. Throws with the output of a failed step. */
export async function goBack(host: Host, service: ServiceNow, directory: string | null): Promise<void> {
  const previous = host.at(LAYOUT.previousBinary);
  if (service === "runs" && directory !== null) {
    const way = await databaseFor(host, previous, directory);
    if (way.kind === "copy") {
      await must(host.run, STOP, SERVICE_TIMEOUT_MS);
      await restoreCopy(way);
    }
  }
  renameSync(previous, host.at(LAYOUT.binary));
  if (service !== "none") await layDown(host);
  if (service === "runs") await restartService(host.run);
  if (service !== "none" && (await hubRuns(host))) await restartService(host.run, HUB_UNIT_NAME);
}

const hubRuns = async ({ run }: Pick<Host, "run">) => (await serviceState(run, HUB_UNIT_NAME)).isActive;
