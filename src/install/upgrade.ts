import { renameSync } from "node:fs";
import { restoreCopy, type WayBack, wayBack } from "../store/backup/restore.ts";
import { isLicmondBinary, replaceBinary, sameBytes, versionOf } from "./files.ts";
import { type Host, must, restartService, rootsOwn, SERVICE_TIMEOUT_MS, serviceState } from "./host.ts";
import { HUB_UNIT_NAME, LAYOUT, UNIT_NAME } from "./layout.ts";
import { fileAt, type Pass, runStep } from "./pass.ts";

/** `none`: no unit of ours, or no systemd to ask. */
export type ServiceNow = "runs" | "stopped" | "none";

export interface UpgradeWanted {
  /** The new binary. */
  readonly file: string;
  readonly allowDowngrade: boolean;
  /** Where the database lies that must go back with the binary; null = it stays as it is. */
  readonly rollBackIn: string | null;
  readonly service: ServiceNow;
}

/** `check --config-only` of a version that does not know the option. */
const EXIT_USAGE = 2;
/** A database is exchanged while no daemon works on it. */
export const STOP = `systemctl stop ${UNIT_NAME}`;

/** Everything that `licmond upgrade` does, in order. When a step after the first fails, {@link goBack} undoes it. */
export async function upgrade(pass: Pass, wanted: UpgradeWanted): Promise<void> {
  const { file, service, rollBackIn } = wanted;
  const fresh = await assess(pass, file, wanted.allowDowngrade);
  if (fresh !== null) {
    if (rollBackIn !== null) await putDatabaseBack(pass, file, rollBackIn, service);
    const what = `replace ${fresh.was} by ${fresh.line}; the old one is kept as ${LAYOUT.previousBinary}`;
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
  const brings = "lay down what its version brings: unit, user, directories";
  await pass.change(layDownLine, brings, () => layDown(pass));
  if (service === "stopped")
    pass.fine(restartLine, `it does not run; start it: systemctl start ${UNIT_NAME}`);
  else {
    const waits =
      "restart it and wait until it answers; a database of an older schema is backed up and migrated first";
    await pass.change(restartLine, waits, () => restartService(pass.run));
  }
  if (!(await hubRuns(pass))) return;
  const hub = "restart the hub and wait until it answers";
  await pass.change(`systemctl restart ${HUB_UNIT_NAME}`, hub, () => restartService(pass.run, HUB_UNIT_NAME));
}

/** What the new binary is and what it replaces; null when there is nothing to replace, or it is refused. */
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
    return refuse(`${installedFile} is not a licmond`, "`licmond install` installs one");
  const whole =
    "name the licmond binary that you downloaded, unpacked; `sha256sum -c SHA256SUMS` shows whether the download is complete";
  if (!isLicmondBinary(file)) return refuse(`${file} is not a licmond, or not the whole of one`, whole);
  if (sameBytes(file, installedFile)) {
    pass.fine(path, `is ${file} already`);
    return null;
  }
  const fresh = await versionOf(pass.run, file);
  const other = "take the build for this system (chmod +x)";
  if (!fresh.ok) return refuse(`${file} does not run on this host: ${fresh.why}`, other);
  // An installed one that does not run is a reason to replace it.
  const installed = await versionOf(pass.run, installedFile);
  if (installed.ok && Bun.semver.order(fresh.version, installed.version) < 0 && !allowDowngrade)
    return refuse(
      `${file} is licmond ${fresh.version}, older than the installed ${installed.version}`,
      "--allow-downgrade installs it all the same; it refuses a database that a newer one has changed",
    );
  // The new version must take the config, before the old one is stopped.
  const { ok, exitCode, stdout, words } = await pass.run([file, "check", "--config-only"]);
  const why = `the new version does not take the config:\n${stdout.trim() || words}`;
  if (!ok && exitCode !== EXIT_USAGE) return refuse(why, `correct ${LAYOUT.config}`);
  return { line: fresh.line, was: installed.ok ? installed.line : "the licmond that is there" };
}

/** The older binary refuses a database that the newer one has migrated: the copy from before takes its place. */
async function putDatabaseBack(
  pass: Pass,
  binary: string,
  directory: string,
  service: ServiceNow,
): Promise<void> {
  const way = await databaseFor(pass, binary, directory);
  if (way.kind === "none") return;
  if (way.kind === "lost")
    return pass.refuse(
      way.database,
      `${way.database} was migrated since, and there is no copy from before`,
      "put a backup from before the upgrade in its place (`licmond restore`), or stay with this version",
    );
  if (service === "runs") await runStep(pass, STOP, "stop it: its database is exchanged", SERVICE_TIMEOUT_MS);
  const what = `put ${way.copy}, from before the upgrade, in its place; what was collected since stays in licmond.db.replaced-* beside it`;
  await pass.change(way.database, what, () => restoreCopy(way));
}

/** Asks a binary whether it would take up the database, by an empty one of the same schema. */
function databaseFor(host: Host, binary: string, directory: string): Promise<WayBack> {
  return wayBack(host.at(directory), async (file) => {
    const { exitCode } = await host.run([binary, "restore", "--verify", file]);
    return exitCode !== 1;
  });
}

/** The new binary brings its own unit, sysusers and tmpfiles. */
const layDown = (host: Host) => must(host.run, `${host.at(LAYOUT.binary)} install`);

/**
 * Puts the previous binary back, with the unit that it brings and the database that it understands, and starts what
 * ran. Throws with the words of what failed.
 */
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
