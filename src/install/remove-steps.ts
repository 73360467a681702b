import { readdirSync, readFileSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { codeOf } from "../domain/error-code.ts";
import { isLicmondBinary } from "./binary-file.ts";
import { type Host, kindOf, obstacle } from "./host.ts";
import { originOf } from "./mark.ts";
import type { Plan, Step } from "./step.ts";
import type { InstalledText } from "./texts.ts";

const GONE: Plan = { kind: "nothing", why: "is not there" };

/** A plan for what lies at a path, unless nothing does or it cannot be removed. */
function removal(host: Host, path: string, planFor: (file: string) => Plan): Step {
  return {
    subject: path,
    plan() {
      const file = host.at(path);
      if (kindOf(file) === "missing") return GONE;
      const hindered = obstacle(host, path);
      return hindered === null ? planFor(file) : { kind: "refuse", ...hindered };
    },
  };
}

/** Removes a text of ours; one that was changed by hand only by force, one that is not ours never. */
export function removeText(host: Host, { path, text }: InstalledText, force: boolean): Step {
  return removal(host, path, (file) => {
    const origin = kindOf(file) === "file" ? originOf(readFileSync(file, "utf8"), text).kind : "foreign";
    const apply = () => rmSync(file);
    if (origin === "foreign")
      return { kind: "keep", why: "is not from licmond and stays", advice: `look what it is for: ${file}` };
    if (origin === "changed" && !force)
      return {
        kind: "keep",
        why: "was changed by hand and stays",
        advice: `--force removes it, or: rm ${file}`,
      };
    return {
      kind: "do",
      what: origin === "changed" ? "remove it, with your changes" : "remove it",
      apply,
    };
  });
}

/** Removes what a newer version laid beside a changed text. */
export function removeBeside(host: Host, path: string): Step {
  return removal(host, `${path}.new`, (file) => ({
    kind: "do",
    what: "remove it",
    apply: () => rmSync(file),
  }));
}

/** Removes a binary, when it is a licmond. */
export function removeBinary(host: Host, path: string): Step {
  return removal(host, path, (file) =>
    kindOf(file) === "file" && isLicmondBinary(file)
      ? { kind: "do", what: "remove it", apply: () => rmSync(file) }
      : { kind: "keep", why: "is not a licmond and stays", advice: `look what it is for: ${file}` },
  );
}

/** Removes a link, e.g. the one by which a unit is enabled. */
export function removeLink(host: Host, path: string): Step {
  return removal(host, path, (file) =>
    kindOf(file) === "symlink"
      ? { kind: "do", what: "remove the link", apply: () => rmSync(file) }
      : { kind: "keep", why: "is not a link and stays", advice: `look what it is for: ${file}` },
  );
}

/** Deletes a directory with everything in it. A link is not followed; a mount point stays, empty. */
export function deleteTree(host: Host, path: string, what: string): Step {
  return removal(host, path, (directory) => {
    if (kindOf(directory) !== "directory")
      return {
        kind: "keep",
        why: "is not a directory of its own and stays",
        advice: `look where it leads: ${directory}`,
      };
    return {
      kind: "do",
      what,
      apply() {
        for (const name of readdirSync(directory))
          rmSync(join(directory, name), { recursive: true, force: true });
        try {
          rmdirSync(directory);
        } catch (error) {
          if (codeOf(error) !== "EBUSY") throw error;
        }
      },
    };
  });
}

/** Says that something stays; null when there is nothing. */
export function staying(host: Host, path: string, what: string, how: string): Step {
  return {
    subject: path,
    plan: () =>
      kindOf(host.at(path)) === "missing" ? GONE : { kind: "keep", why: `${what}: stays`, advice: how },
  };
}
