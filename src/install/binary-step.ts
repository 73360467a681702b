import { lstatSync, renameSync, rmSync } from "node:fs";
import { isLicmondBinary, sameBytes } from "./binary-file.ts";
import { type Host, kindOf, obstacle } from "./host.ts";
import { LAYOUT } from "./layout.ts";
import type { Plan, Step } from "./step.ts";
import { notAFile } from "./text-step.ts";
import { compareVersions, versionOf } from "./version-of.ts";
import { copyWhole, type FileRights, setMode } from "./write.ts";

export interface NewBinary {
  readonly path: string;
  readonly version: string;
}

/** Copies the binary to its place. The one that it replaces is kept beside it. */
export function binaryStep(host: Host, fresh: NewBinary, rights: FileRights): Step {
  const file = host.at(LAYOUT.binary);

  /** What is known of the installed one; below a root it is not asked. */
  async function overExisting(): Promise<Plan> {
    if (sameBytes(fresh.path, file)) {
      if ((lstatSync(file).mode & 0o7777) === rights.mode) return { kind: "nothing", why: "is this licmond" };
      return { kind: "do", what: "make it executable for all", apply: () => setMode(file, rights.mode) };
    }
    if (!isLicmondBinary(file))
      return { kind: "refuse", why: `${file} is not a licmond`, fix: `move it away: mv ${file} ${file}.bak` };
    const installed = host.root === null ? await versionOf(host.run, file) : null;
    if (installed?.ok && compareVersions(fresh.version, installed.version) < 0)
      return {
        kind: "refuse",
        why: `${file} is licmond ${installed.version}, and this one is older (${fresh.version})`,
        fix: "`licmond upgrade --allow-downgrade` goes back; a database that the newer one has changed stays with it",
      };
    const was = installed?.ok ? `licmond ${installed.version}` : "the licmond that is there";
    return {
      kind: "do",
      what: `replace ${was} by ${fresh.version} from ${fresh.path}; the old one is kept as ${LAYOUT.previousBinary}`,
      apply: () => replaceBinary(host, fresh.path, rights),
    };
  }

  return {
    subject: LAYOUT.binary,
    plan() {
      const hindered = obstacle(host, LAYOUT.binary);
      if (hindered !== null) return { kind: "refuse", ...hindered };
      const kind = kindOf(file);
      if (kind === "file") return overExisting();
      if (kind !== "missing") return notAFile(file, kind);
      const what = `copy licmond ${fresh.version} from ${fresh.path}`;
      return { kind: "do", what, apply: () => copyWhole(fresh.path, file, rights) };
    },
  };
}

/**
 * Keeps the installed binary as the previous one and puts another in its place, which may be the previous one itself.
 * One of the two is in place at any moment.
 */
export function replaceBinary(host: Host, source: string, rights: FileRights): void {
  const [file, previous] = [host.at(LAYOUT.binary), host.at(LAYOUT.previousBinary)];
  const kind = kindOf(previous);
  if (kind !== "missing" && kind !== "file")
    throw new Error(`${previous} is not a regular file: move it away`);
  const staged = `${file}.staged`;
  try {
    copyWhole(source, staged, rights);
    copyWhole(file, previous, rights);
    renameSync(staged, file);
  } finally {
    rmSync(staged, { force: true });
  }
}
