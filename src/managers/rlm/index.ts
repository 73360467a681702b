import type { Manager, ManagerCommands, ParsedAddress, ToolCommand } from "../manager.ts";
import { createRlmParser } from "./parser.ts";
import { renderRlm } from "./render.ts";

/** Where rlm listens when the address names no port (RLM License Administration, "The RLM server"). */
const DEFAULT_PORT = 5053;

const HOST = /^[A-Za-z0-9._-]+$/;
const IPV6 = /^\[[0-9A-Fa-f:.]+\]$/;
/** `:` and `;`, but not the colons inside `[::1]`. */
const SEPARATOR = /[:;](?![^[]*\])/;
const EXAMPLE = "5053@lic1, 5053@lic1:5053@lic2 (failover servers) or the path of a license file";

/**
 * An address as `rlmutil … -c` takes it: `port@host`, `@host` (port 5053), `host` (port 5053), several of them
 * separated by `:` or `;` for failover servers, or the path of a license file or of a folder of them.
 */
function parseAddress(address: string): ParsedAddress | { readonly problem: string } {
  if (address.trim() === "") return { problem: `the address is empty; expected ${EXAMPLE}` };
  if (address !== address.trim()) return { problem: "the address begins or ends with a blank" };
  if (/[\0-\x1f\x7f]/.test(address)) return { problem: "the address holds a control character" };
  if (address.startsWith("-")) return { problem: `the address looks like an option; expected ${EXAMPLE}` };
  if (isPath(address)) return { members: [] };

  const members: { host: string; port: number | null }[] = [];
  for (const spec of address.split(SEPARATOR)) {
    const member = parseSpec(spec);
    if ("problem" in member) return member;
    const twin = members.some(
      ({ host, port }) => host.toLowerCase() === member.host.toLowerCase() && port === member.port,
    );
    if (twin) return { problem: `"${spec}" stands twice in the address` };
    members.push(member);
  }
  return { members };
}

function isPath(address: string): boolean {
  return /[\\/]/.test(address) || (!address.includes("@") && /\.(?:lic|dat)$/i.test(address));
}

function parseSpec(spec: string): { host: string; port: number } | { readonly problem: string } {
  if (spec === "") return { problem: `a server is missing beside a ":"; expected ${EXAMPLE}` };
  if (spec.includes(",")) {
    return { problem: `"${spec}" holds a comma; RLM separates failover servers by ":" and knows no triads` };
  }
  const at = spec.lastIndexOf("@");
  const host = spec.slice(at + 1);
  const portText = at === -1 ? "" : spec.slice(0, at);
  if (at === -1 && /^\d+$/.test(spec)) {
    return { problem: `"${spec}" is a port without a host; expected ${EXAMPLE}` };
  }
  if (!HOST.test(host) && !IPV6.test(host)) {
    return { problem: `"${host}" in "${spec}" is not a host name; expected ${EXAMPLE}` };
  }
  if (portText === "") return { host, port: DEFAULT_PORT };
  const port = Number(portText);
  if (!/^\d{1,5}$/.test(portText) || port < 1 || port > 65_535) {
    return { problem: `"${portText}" in "${spec}" is not a port; expected 1 to 65535` };
  }
  return { host, port };
}

/**
 * RLM License Administration, "License Administration Tools": rlmstat, rlmdebug (what the products and servers of the
 * address look like), rlmreread, rlmremove (`-q`: asks nothing). rlmremove wants the host and port of the ISV server,
 * which rlmstat prints in the heading of its usage, and knows a seat by its handle alone.
 */
const commands: ManagerCommands = {
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
function utility(tool: readonly string[], name: string): readonly string[] {
  const path = tool.at(-1) ?? "";
  const [, folder = "", program = "", extension = ""] = /^(.*[/\\])?([^/\\]*?)(\.exe)?$/i.exec(path) ?? [];
  const is = program.toLowerCase();
  if (is === name) return tool;
  const isOwnProgram = is === "rlmstat" || (is === "rlmutil" && name === NOT_IN_RLMUTIL);
  return isOwnProgram ? [...tool.slice(0, -1), `${folder}${name}${extension}`] : [...tool, name];
}

function command(tool: readonly string[], address: string): ToolCommand {
  return { argv: [...utility(tool, "rlmstat"), "-a", "-c", address], env: {} };
}

/** Reprise License Manager, through its own `rlmutil rlmstat -a`. */
export const rlm: Manager = {
  name: "rlm",
  title: "RLM",
  tools: ["rlmutil", "rlmstat"],
  parseAddress,
  command,
  commands,
  utility,
  createParser: createRlmParser,
  explain: () => null,
  debugLog: null,
  render: renderRlm,
};
