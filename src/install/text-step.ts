import { readFileSync } from "node:fs";
import { type Host, kindOf, obstacle } from "./host.ts";
import { originOf, withMark } from "./mark.ts";
import type { Plan, Step } from "./step.ts";
import type { InstalledText } from "./texts.ts";
import { type FileRights, writeWhole } from "./write.ts";

/** Lays a text of ours down; one that somebody has changed since stays, and a newer one is laid beside it. */
export function textStep(host: Host, installed: InstalledText, version: string, rights: FileRights): Step {
  const { path, text, changeBy } = installed;
  const file = host.at(path);
  const write = (to: string) => () => writeWhole(to, withMark(text, version), rights);

  function overExisting(): Plan {
    const origin = originOf(readFileSync(file, "utf8"), text);
    switch (origin.kind) {
      case "same":
        return { kind: "nothing", why: "is as it should be" };
      case "ours":
        return { kind: "do", what: `replace the one of licmond ${origin.version}`, apply: write(file) };
      case "changed":
        return changed(origin.outdated);
      case "foreign":
        return {
          kind: "refuse",
          why: `${file} is not from licmond`,
          fix: `look what it is for, and move it away: mv ${file} ${file}.bak`,
        };
    }
  }

  function changed(outdated: boolean): Plan {
    if (!outdated) return { kind: "keep", why: "was changed by hand and stays", advice: changeBy };
    const beside = `${path}.new`;
    const advice = `compare it with ${host.at(beside)}; ${changeBy}`;
    const keep = { kind: "keep", why: "was changed by hand and stays", advice } as const;
    const target = host.at(beside);
    switch (kindOf(target)) {
      case "missing":
        return { ...keep, apply: write(target) };
      case "file":
        return originOf(readFileSync(target, "utf8"), text).kind === "same"
          ? keep
          : { ...keep, apply: write(target) };
      default:
        return { kind: "refuse", why: `${target} is in the way`, fix: "move it away" };
    }
  }

  return {
    subject: path,
    plan() {
      const hindered = obstacle(host, path);
      if (hindered !== null) return { kind: "refuse", ...hindered };
      const kind = kindOf(file);
      if (kind === "missing") return { kind: "do", what: "write it", apply: write(file) };
      if (kind === "file") return overExisting();
      return notAFile(file, kind);
    },
  };
}

/** The refusal for what lies where a file belongs. */
export function notAFile(file: string, kind: "directory" | "symlink" | "other"): Plan {
  if (kind === "symlink")
    return {
      kind: "refuse",
      why: `${file} is a symbolic link`,
      fix: file.endsWith(".service")
        ? "look where it leads (readlink); a masked unit is let go by `systemctl unmask licmond`"
        : "look where it leads (readlink), and remove the link",
    };
  const what = kind === "directory" ? "a directory" : "not a regular file";
  return { kind: "refuse", why: `${file} is ${what}`, fix: "move it away" };
}
