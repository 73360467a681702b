import { lchownSync, lstatSync, statSync } from "node:fs";
import { serviceAccount } from "./accounts.ts";
import { type Host, kindOf, obstacle } from "./host.ts";
import { LAYOUT, SERVICE_NAME } from "./layout.ts";
import { type OwnerName, ownerNow, ownerOf } from "./ownership.ts";
import type { Plan, Step } from "./step.ts";
import { notAFile } from "./text-step.ts";
import { setMode, writeWhole } from "./write.ts";

export interface ConfigWanted {
  readonly text: string;
  readonly mode: number;
  readonly owner: OwnerName;
}

const STAYS: Plan = { kind: "nothing", why: "is there and stays as it is" };

/** Writes a config where there is none. The content of one that is there is never touched. */
export function configStep(host: Host, { text, mode, owner }: ConfigWanted): Step {
  const file = host.at(LAYOUT.config);

  async function overExisting(): Promise<Plan> {
    const { uid, gid, mode: has } = lstatSync(file);
    const isRootsAlone = uid === 0 && gid === 0 && (has & 0o004) === 0;
    if (host.root !== null || owner === "root:root" || !isRootsAlone) return STAYS;
    const wanted = await ownerOf(host, owner);
    if (wanted === null || (wanted !== "unknown" && wanted.gid === gid && (has & 0o040) !== 0)) return STAYS;
    return {
      kind: "do",
      what: `let the group ${SERVICE_NAME} read it; its content stays as it is`,
      async apply() {
        const now = await ownerNow(host, owner);
        if (now === null) return;
        lchownSync(file, now.uid, now.gid);
        setMode(file, (has & 0o777) | 0o040);
      },
    };
  }

  /** Below a root that does not know the group yet, everybody may read it whom its closed directory lets in. */
  async function asWritten(): Promise<ConfigWanted> {
    const isGroupUnknown = host.root !== null && owner !== "root:root" && !(await canGive(host));
    return isGroupUnknown ? { text, mode: 0o644, owner: "root:root" } : { text, mode, owner };
  }

  return {
    subject: LAYOUT.config,
    async plan() {
      const hindered = obstacle(host, LAYOUT.config);
      if (hindered !== null) return { kind: "refuse", ...hindered };
      const kind = kindOf(file);
      if (kind === "file") return overExisting();
      // Configs that are kept elsewhere, e.g. under version control, are linked.
      if (kind === "symlink" && leadsToFile(file)) return STAYS;
      if (kind !== "missing") return notAFile(file, kind);
      const fresh = await asWritten();
      return {
        kind: "do",
        what: `write a commented config, for ${fresh.owner}, mode 0${fresh.mode.toString(8)}`,
        apply: async () =>
          writeWhole(file, text, { mode: fresh.mode, owner: await ownerNow(host, fresh.owner) }),
      };
    },
  };
}

/** Whether files can be given to the daemon's group: the system knows it, and who installs may. */
async function canGive(host: Host): Promise<boolean> {
  return host.uid === 0 && (await serviceAccount(host)) !== null;
}

function leadsToFile(link: string): boolean {
  try {
    return statSync(link).isFile();
  } catch {
    return false;
  }
}
