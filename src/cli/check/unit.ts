import { existsSync, readFileSync } from "node:fs";
import { DEFAULT_CONFIG_FILE } from "../../config/load.ts";
import { messageOf } from "../../domain/error-code.ts";
import { isSystemdHost, systemRun } from "../../install/host.ts";
import { UNIT_NAME } from "../../install/layout.ts";
import { exposureOf, exposureWords } from "../../system/secret-file.ts";
import type { Report } from "../terminal.ts";
import type { Look } from "./files.ts";
import { type Finding, findingsOf } from "./unit-findings.ts";
import { unitNeeds } from "./unit-needs.ts";
import { type Question, type Trial, tryUnit } from "./unit-trial.ts";

/** Host access of the check; tests replace it. */
export type UnitHost = ReturnType<typeof thisHost>;

function thisHost() {
  const run = systemRun();
  return {
    // systemd can start only the binary.
    isRoot: process.getuid?.() === 0 && Bun.isStandaloneExecutable,
    hasSystemd: () => isSystemdHost(run),
    unit: async () => {
      const { ok, stdout } = await run(["systemctl", "cat", "--no-pager", UNIT_NAME]);
      return ok && stdout.includes("[Service]") ? stdout : null;
    },
    attempt: (unit: string, lines: readonly string[], question: Question) =>
      tryUnit(unit, lines, question, run),
  };
}

/**
 * Checks in a copy of the unit whether the service can use the files in the config. Applies only to the config that the
 * service reads; other configs are run by hand, without a sandbox. `unitFile`: a unit to test instead.
 */
export async function checkUnit(
  { config, file, env, report }: Look,
  unitFile: string | undefined,
  out: (text: string) => void,
  host: UnitHost = thisHost(),
): Promise<void> {
  const isUsual = file === null || file === DEFAULT_CONFIG_FILE;
  const hasSystemd = await host.hasSystemd();
  const unit = unitFile !== undefined ? readUnit(unitFile, report) : hasSystemd ? await host.unit() : null;
  if (unit === undefined) return;
  const needs = unitNeeds(config, file, env);
  for (const { what, name } of unit === null ? needs.credentials : []) {
    const unhanded = `names the credential ${name}, but this host has no unit that provides it`;
    report.problem(what, unhanded, "use a path");
  }
  if (!hasSystemd && (unit !== null || isUsual))
    return report.fine("unit", "not checked: this host does not run systemd");
  if (unit === null || (unitFile === undefined && !isUsual && !unit.includes(file))) return;
  if (!host.isRoot) return report.warning("unit", ONLY_ROOT);
  if (!checkSources(unit, report)) return;

  const question = { ...needs, port: config.http.port };
  const findings = new Map<string, Finding>();
  const lines = new Set<string>();
  // A line may close what another line opens, and a useless line shows only in the next round.
  for (let round = 0, before = -1; round < ROUNDS && lines.size > before; round++) {
    before = lines.size;
    let trial: Trial;
    try {
      trial = await host.attempt(unit, [...lines].filter(isTriable), question);
    } catch (error) {
      // Keep earlier findings: only the drop-in could not be tested.
      if (round > 0) break;
      const words = messageOf(error);
      const user = "create the user in User=; `licmond install` creates licmond";
      const fix = words.includes("USER") ? user : null;
      return report.problem("unit", `the service cannot start: ${words}`, fix);
    }
    const reads = configArgument(unit) ?? (trial.environment.LICMOND_CONFIG || DEFAULT_CONFIG_FILE);
    const fix = `fix: check that file with \`licmond check --config ${reads}\``;
    if (unitFile === undefined && file !== null && file !== reads)
      return report.warning("unit", `the service reads ${reads}, not ${file} (${fix})`);
    for (const found of findingsOf(question, trial, env)) {
      const key = `${found.what}: ${found.message}`;
      const isStronger = findings.has(key) && found.lines.some(isTriable);
      findings.set(key, isStronger ? { ...found, fix: STRONGER } : (findings.get(key) ?? found));
      for (const line of found.lines) lines.add(line);
    }
  }
  for (const { what, message, lines: own, fix, isWarning } of findings.values()) {
    const how = fix ?? (own.length > 0 ? `${own.join(" and ")} in a drop-in of the unit, see below` : null);
    if (isWarning !== true) report.problem(what, message, how);
    else report.warning(what, how === null ? message : `${message} (fix: ${how})`);
  }
  if (lines.size > 0) out(dropInText([...lines]));
  const source = unitFile ?? `${UNIT_NAME}`;
  if (findings.size === 0) report.fine("unit", `${source} gives the service access to all files it needs`);
}

const ONLY_ROOT = "not checked: testing the service's sandbox needs root (fix: `sudo licmond check`)";
const ROUNDS = 4;
const STRONGER = "the line in the drop-in below is not enough: remove the conflicting line from the unit";

/** Reports whether a drop-in line can be tested: a credential's source may not exist yet. */
function isTriable(line: string): boolean {
  return !line.startsWith("LoadCredential=");
}

function configArgument(unit: string): string | undefined {
  return /^ExecStart=.*--config[= ](\S+)/m.exec(unit)?.[1];
}

/** Checks the source files of LoadCredential=, which only root reads. Returns false if a required one is missing. */
function checkSources(unit: string, report: Report): boolean {
  let areThere = true;
  for (const [, name, source = ""] of unit.matchAll(/^LoadCredential(?:Encrypted)?=([^:\s]+):(\/\S+)/gm)) {
    const exposure = exposureOf(source, "secret", []);
    if (exposure !== null) report.warning(`LoadCredential=${name}`, exposureWords(exposure));
    if (existsSync(source)) continue;
    areThere = false;
    const missing = `LoadCredential=${name}:${source} names a file that does not exist: the service cannot start`;
    report.problem("unit", missing, `write the secret to ${source}, or remove that line`);
  }
  return areThere;
}

function readUnit(file: string, report: Report): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    report.problem("unit", `cannot read ${file}: ${messageOf(error)}`, "use a readable unit file");
    return undefined;
  }
}

function dropInText(lines: readonly string[]): string {
  return `\nAdd this drop-in: sudo systemctl edit licmond\n\n  [Service]\n${lines.map((line) => `  ${line}\n`).join("")}\nthen: sudo systemctl restart licmond\n\n`;
}
