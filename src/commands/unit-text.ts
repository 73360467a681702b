import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Run } from "../install/host.ts";
import { UNIT, UNIT_NAME } from "../install/layout.ts";
import { isSystemdHost } from "../install/service.ts";

/** The unit with its drop-ins, as one text. */
export interface UnitText {
  readonly text: string;
  /** For reports: what it is. */
  readonly source: string;
  /** It is what the service runs under; false = what it would run under once it is installed. */
  readonly isInstalled: boolean;
}

/** Where units and their drop-ins lie, the strongest first (systemd.unit(5)). */
const UNIT_FOLDERS = [
  "/etc/systemd/system",
  "/run/systemd/system",
  "/usr/local/lib/systemd/system",
  "/usr/lib/systemd/system",
  "/lib/systemd/system",
];

/** The unit that counts on this host: systemd's own answer, else the files, else (where systemd runs) the one inside. */
export async function effectiveUnit(run: Run): Promise<UnitText | null> {
  const isBooted = await isSystemdHost(run);
  if (isBooted) {
    const { ok, stdout } = await run(["systemctl", "cat", "--no-pager", UNIT_NAME]);
    if (ok) return { text: stdout, source: `${UNIT_NAME} as systemd has it`, isInstalled: true };
  }
  const fromFiles = unitOfFolders(UNIT_FOLDERS);
  if (fromFiles !== null) return { ...fromFiles, isInstalled: true };
  return isBooted
    ? { text: UNIT.text, source: "the unit that `licmond install` brings", isInstalled: false }
    : null;
}

/** The strongest unit file, and after it every drop-in in the order of their names; null when there is no unit. */
export function unitOfFolders(folders: readonly string[]): { text: string; source: string } | null {
  const unit = folders.map((folder) => join(folder, UNIT_NAME)).find((path) => readText(path) !== null);
  if (unit === undefined) return null;
  const dropIns = new Map<string, string>();
  for (const folder of [...folders].reverse()) {
    const here = join(folder, `${UNIT_NAME}.d`);
    for (const name of namesIn(here)) if (name.endsWith(".conf")) dropIns.set(name, join(here, name));
  }
  const paths = [...dropIns].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, path]) => path);
  const texts = [unit, ...paths].map((path) => readText(path) ?? "");
  return { text: texts.join("\n"), source: [unit, ...paths].join(", ") };
}

/** What a file says; null when there is none, or it cannot be read. */
function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
