import { existsSync, readFileSync } from "node:fs";
import type { Config } from "../config/config.ts";
import type { Environment } from "../config/environment.ts";
import { DEFAULT_CONFIG_FILE } from "../config/find.ts";
import type { Run } from "../install/host.ts";
import { systemRun } from "../install/service.ts";
import { type Confinement, confinementOf } from "../system/unit/confinement.ts";
import { mannersOf } from "../system/unit/manners.ts";
import { type Need, obstaclesOf } from "../system/unit/obstacles.ts";
import type { CommandIo } from "./io.ts";
import type { Report } from "./report.ts";
import { type Denied, deniedTo, unitAccount } from "./unit-access.ts";
import { type UnitNeeds, unitNeeds } from "./unit-needs.ts";
import { effectiveUnit, type UnitText } from "./unit-text.ts";

export interface CheckedUnit {
  readonly config: Config;
  /** The config file; null = the defaults. */
  readonly file: string | null;
  /** A unit file to judge by instead of the one installed; undefined = none was named. */
  readonly unitFile: string | undefined;
}

/**
 * What of the unit stands between the service and the files that the config names. Only for the config that the service
 * reads: somebody's own is run by hand, and nothing confines it then.
 */
export async function checkUnit(
  { config, file, unitFile }: CheckedUnit,
  io: Pick<CommandIo, "env" | "out">,
  report: Report,
  run: Run = systemRun(),
): Promise<void> {
  const unit = unitFile === undefined ? await effectiveUnit(run) : namedUnit(unitFile, report);
  if (unit === null) {
    for (const { what, name } of unitNeeds(config, file, io.env, "").credentials)
      report.problem(
        what,
        `names the credential ${name}, and this host has no unit that hands it over`,
        "name a path",
      );
    return;
  }
  const confinement = confinementOf(unit.text);
  const reads = confinement.configFile ?? DEFAULT_CONFIG_FILE;
  if (unitFile === undefined && file !== null && file !== reads) {
    // Who names a file of their own knows that it is; the usual one was taken for the service's.
    if (file === DEFAULT_CONFIG_FILE)
      report.warning(
        "unit",
        `the service reads ${reads} and not ${file} (fix: \`licmond check --config ${reads}\` checks that)`,
      );
    return;
  }
  const tell = createTeller(unit, report);
  const needs = unitNeeds(config, file, io.env, confinement.path);
  for (const { what, message, dropIn, isBearable } of mannersOf(confinement, config.http.port))
    tell(what, message, dropIn, isBearable);
  for (const { need, message, dropIn, isBearable, fix } of obstaclesOf(confinement, needs.files))
    if (!tellCredential(need, message, tell)) tell(need.what, message, dropIn, isBearable, fix);
  tellPath(needs, confinement, tell);
  tellVariables(confinement, io.env, tell);
  tellCredentials(needs, confinement, tell);
  await tellAccess(needs, confinement, run, tell);
  const lines = tell.dropIn();
  if (lines.length > 0) io.out(dropInText(lines));
  else if (tell.count() === 0) report.fine("unit", `${unit.source} lets the service reach what it needs`);
}

type Tell = (
  what: string,
  message: string,
  dropIn: readonly string[],
  isBearable?: boolean,
  fix?: string | undefined,
) => void;

/** Reports each finding, and gathers what they ask of the drop-in. */
function createTeller(unit: UnitText, report: Report): Tell & { dropIn(): string[]; count(): number } {
  const lines = new Set<string>();
  let count = 0;
  const tell: Tell = (what, message, dropIn, isBearable = false, fix) => {
    count += 1;
    for (const line of dropIn) lines.add(line);
    const how =
      fix ?? (dropIn.length === 0 ? null : `${dropIn.join(" and ")} in a drop-in of the unit, see below`);
    if (unit.isInstalled && !isBearable) report.problem(what, message, how);
    else report.warning(what, how === null ? message : `${message} (fix: ${how})`);
  };
  return Object.assign(tell, { dropIn: () => [...lines], count: () => count });
}

function namedUnit(file: string, report: Report): UnitText | null {
  try {
    return { text: readFileSync(file, "utf8"), source: file, isInstalled: true };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    report.problem("unit", `${file} cannot be read: ${why}`, "name a unit file that can");
    return null;
  }
}

function tellPath({ notInPath }: UnitNeeds, { path }: Confinement, tell: Tell): void {
  for (const { what, name, found } of notInPath)
    tell(
      what,
      `${name} is ${found} for you, and not in the $PATH of the service (${path})`,
      [],
      false,
      `tool = "${found}" in the config`,
    );
}

/** What the service is told by its environment, a command beside it does not know. */
function tellVariables({ variables }: Confinement, environment: Environment, tell: Tell): void {
  for (const { name, value } of variables)
    if (environment[name] !== value)
      tell(
        "unit",
        `Environment= gives the service a ${name} that this command does not have: it may speak of another setting`,
        [],
        true,
        "set it in the config instead, which all read",
      );
}

function tellCredentials({ credentials }: UnitNeeds, unit: Confinement, tell: Tell): void {
  for (const { what, name } of credentials) {
    const handed = unit.credentials.find((each) => each.name === name);
    if (handed === undefined && unit.importedCredentials.some((pattern) => new Bun.Glob(pattern).match(name)))
      continue;
    if (handed === undefined)
      tell(what, `the unit hands over no credential named ${name}`, [
        `LoadCredential=${name}:/etc/licmond/secrets/${name}`,
      ]);
  }
  // One that is missing keeps the service from starting, whether the config names it or not.
  for (const { name, source } of unit.credentials)
    if (source !== null && isMissing(source))
      tell(
        "unit",
        `LoadCredential=${name}:${source} names a file that does not exist: the service cannot start`,
        [],
        false,
        `write the secret into ${source}, or take that line out`,
      );
}

async function tellAccess(needs: UnitNeeds, unit: Confinement, run: Run, tell: Tell): Promise<void> {
  // Made when the service starts: nothing can be asked about it before.
  if (unit.dynamicUser) return;
  const account = await unitAccount(unit, run);
  if (account === null)
    return tell(
      "unit",
      `there is no user ${unit.user} on this host`,
      [],
      false,
      "`licmond install` makes it, and so does systemd-sysusers",
    );
  // Who asks as that user is told by the files themselves, as far as it has the same groups.
  if (account.uid === process.getuid?.()) {
    const own = [process.getgid?.(), ...(process.getgroups?.() ?? [])];
    if (account.groups.every((gid) => own.includes(gid))) return;
    const groups = unit.supplementaryGroups.join(", ");
    const message = `the service has the groups ${groups} besides (SupplementaryGroups=): what cannot be read here, it may read`;
    return tell("unit", message, [], true, "`sudo licmond check` knows");
  }
  // The state directory is made, and given to the user, when the service starts.
  const files = needs.files.filter(({ access, path }) => access !== "write" || !unit.writable.includes(path));
  for (const denied of await deniedTo(account, files, run)) tellDenied(denied, unit.user, tell);
}

const LACKING = { search: "entered", read: "read", run: "run", write: "written" } as const;
const RIGHTS = { search: "x", read: "r", run: "rx", write: "rwx" } as const;

function tellDenied({ need, refusal, group, isCertain }: Denied, user: string, tell: Tell): void {
  const { place, lacking } = refusal;
  const owner = `mode ${(place.mode & 0o777).toString(8).padStart(4, "0")}`;
  const where = need.mayShow
    ? place.path
    : place.path === need.realPath
      ? "the file"
      : "a directory above the file";
  const perhaps = isCertain ? "" : ", unless an access control list says otherwise";
  const message = `${where} cannot be ${LACKING[lacking]} by the user ${user} (${owner})${perhaps}`;
  if (tellCredential(need, message, tell, !isCertain)) return;
  if (group !== null) tell(need.what, message, [`SupplementaryGroups=${group}`], !isCertain);
  else tell(need.what, message, [], !isCertain, `setfacl -m u:${user}:${RIGHTS[lacking]} ${place.path}`);
}

/** A file that the unit can hand over needs nobody's permission. False when this is none. */
function tellCredential(
  { what, path, mayShow, credential }: Need,
  message: string,
  tell: Tell,
  isBearable = false,
): boolean {
  if (credential === undefined) return false;
  const setting = what.slice(what.lastIndexOf(".") + 1);
  const line = `LoadCredential=${credential}:${mayShow ? path : "/its/path"}`;
  const fix = `${line} in a drop-in of the unit, and ${setting} = "credential:${credential}" in the config`;
  tell(what, message, mayShow ? [line] : [], isBearable, fix);
  return true;
}

function dropInText(lines: readonly string[]): string {
  return `\nThe drop-in: sudo systemctl edit licmond\n\n  [Service]\n${lines.map((line) => `  ${line}\n`).join("")}\nthen: sudo systemctl restart licmond\n\n`;
}

/** True only when it is known: who may not look cannot tell. */
function isMissing(path: string): boolean {
  return process.getuid?.() === 0 && !existsSync(path);
}
