import type { ManagerCommands } from "../manager.ts";

/**
 * RLM License Administration, "License Administration Tools": rlmstat, rlmdebug (what the products and servers of the
 * address look like), rlmreread, rlmremove (`-q`: asks nothing). rlmremove wants the host and port of the ISV server,
 * which rlmstat prints in the heading of its usage, and knows a seat by its handle alone.
 */
export const commands: ManagerCommands = {
  status: { utility: "rlmstat", forms: [{ argv: ["-a", "-c", "{address}"] }] },
  diagnose: { utility: "rlmdebug", forms: [{ argv: ["-c", "{address}"] }] },
  reread: { utility: "rlmreread", forms: [{ argv: ["-c", "{address}"] }] },
  remove: {
    utility: "rlmremove",
    forms: [{ by: "handle", argv: ["-q", "{server_host}", "{daemon_port}", "{daemon}", "{handle}"] }],
  },
};

/** All utilities but one can be run through rlmutil. */
const NOT_IN_RLMUTIL = "rlmremove";

/** rlmutil takes the utility's name as its first word; each utility is also a program of its own beside it. */
export function utility(tool: readonly string[], name: string): readonly string[] {
  const path = tool.at(-1) ?? "";
  const [, folder = "", program = "", extension = ""] = /^(.*[/\\])?([^/\\]*?)(\.exe)?$/i.exec(path) ?? [];
  const is = program.toLowerCase();
  if (is === name) return tool;
  const isOwnProgram = is === "rlmstat" || (is === "rlmutil" && name === NOT_IN_RLMUTIL);
  return isOwnProgram ? [...tool.slice(0, -1), `${folder}${name}${extension}`] : [...tool, name];
}
