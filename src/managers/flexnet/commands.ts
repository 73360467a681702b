import type { ManagerCommands } from "../manager.ts";

/**
 * FlexNet Publisher License Administration Guide: lmstat, lmdiag (`-n`: asks nothing), lmreread, lmremove.
 * lmremove by names takes every seat of the user on that host and display from the feature, by handle just one; the
 * host and port are those that lmstat prints.
 */
export const commands: ManagerCommands = {
  status: { utility: "lmstat", forms: [{ argv: ["-a", "-c", "{address}"] }] },
  diagnose: { utility: "lmdiag", forms: [{ argv: ["-n", "-c", "{address}"] }] },
  reread: { utility: "lmreread", forms: [{ argv: ["-c", "{address}"] }] },
  remove: {
    utility: "lmremove",
    forms: [
      {
        by: "handle",
        argv: ["-c", "{address}", "-h", "{feature}", "{server_host}", "{server_port}", "{handle}"],
      },
      { by: "names", argv: ["-c", "{address}", "{feature}", "{user}", "{host}", "{display}"] },
    ],
  },
};

/** lmutil takes the utility's name as its first word; each utility is also a program of its own beside it. */
export function utility(tool: readonly string[], name: string): readonly string[] {
  const path = tool.at(-1) ?? "";
  const [, folder = "", program = "", extension = ""] = /^(.*[/\\])?([^/\\]*?)(\.exe)?$/i.exec(path) ?? [];
  if (program.toLowerCase() === name) return tool;
  if (program.toLowerCase() === "lmstat") return [...tool.slice(0, -1), `${folder}${name}${extension}`];
  return [...tool, name];
}
