import { type AddressProblem, type Manager, type ParsedAddress, utilityOf } from "../manager.ts";
import { debugLog } from "./debug-log.ts";
import { fakeRlmstat } from "./fake.ts";
import { createRlmParser } from "./parser.ts";
import { renderRlm } from "./render.ts";

/** Where rlm listens when the address names no port (RLM License Administration, "The RLM server"). */
const DEFAULT_PORT = 5053;

const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])$/;
/** `:` and `;`, but not the colons inside `[::1]`. */
const SEPARATOR = /[:;](?![^[]*\])/;
const EXAMPLE = "5053@lic1, 5053@lic1:5053@lic2 (failover servers) or the path of a license file";

/**
 * An address as `rlmutil … -c` takes it: `port@host`, `@host` (port 5053), `host` (port 5053), several of them
 * separated by `:` or `;` for failover servers, or the path of a license file or of a folder of them.
 */
function parseAddress(address: string): ParsedAddress | AddressProblem {
  if (address.trim() === "") return { problem: `the address is empty; expected ${EXAMPLE}` };
  if (address !== address.trim()) return { problem: "the address begins or ends with a blank" };
  if (/[\0-\x1f\x7f]/.test(address)) return { problem: "the address holds a control character" };
  if (address.startsWith("-")) return { problem: `the address looks like an option; expected ${EXAMPLE}` };
  const isPath = /[\\/]/.test(address) || (!address.includes("@") && /\.(?:lic|dat)$/i.test(address));
  if (isPath) return { members: [] };

  const members = new Map<string, { host: string; port: number }>();
  for (const spec of address.split(SEPARATOR)) {
    const member = parseSpec(spec);
    if ("problem" in member) return member;
    const key = `${member.port}@${member.host.toLowerCase()}`;
    if (members.has(key)) return { problem: `"${spec}" stands twice in the address` };
    members.set(key, member);
  }
  return { members: [...members.values()] };
}

function parseSpec(spec: string): { host: string; port: number } | AddressProblem {
  if (spec === "") return { problem: `a server is missing beside a ":"; expected ${EXAMPLE}` };
  if (spec.includes(","))
    return { problem: `"${spec}" holds a comma; RLM separates failover servers by ":" and knows no triads` };
  if (/^\d+$/.test(spec)) return { problem: `"${spec}" is a port without a host; expected ${EXAMPLE}` };
  const at = spec.lastIndexOf("@");
  const host = spec.slice(at + 1);
  const port = spec.slice(0, Math.max(0, at));
  if (!HOST.test(host)) return { problem: `"${host}" in "${spec}" is not a host name; expected ${EXAMPLE}` };
  if (port === "") return { host, port: DEFAULT_PORT };
  return /^\d{1,5}$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535
    ? { host, port: Number(port) }
    : { problem: `"${port}" in "${spec}" is not a port; expected 1 to 65535` };
}

/** rlmutil takes the name of each utility but rlmremove as its first word. */
function utility(tool: readonly string[], name: string): readonly string[] {
  return utilityOf(tool, name, name === "rlmremove" ? ["rlmstat", "rlmutil"] : ["rlmstat"]);
}

/** Reprise License Manager, through its own `rlmutil rlmstat -a`. */
export const rlm: Manager = {
  name: "rlm",
  title: "RLM",
  tools: ["rlmutil", "rlmstat"],
  parseAddress,
  steps: (tool, address) => [
    { name: "rlmstat", argv: [...utility(tool, "rlmstat"), "-a", "-c", address], env: {} },
  ],
  /**
   * RLM License Administration, "License Administration Tools": rlmstat, rlmdebug (what the products and servers of
   * the address look like), rlmreread, rlmremove (`-q`: asks nothing). rlmremove wants the host and port of the ISV
   * server, which rlmstat prints in the heading of its usage, and knows a seat by its handle alone.
   */
  commands: {
    status: { utility: "rlmstat", forms: [{ argv: ["-a", "-c", "{address}"] }] },
    diagnose: { utility: "rlmdebug", forms: [{ argv: ["-c", "{address}"] }] },
    reread: { utility: "rlmreread", forms: [{ argv: ["-c", "{address}"] }] },
    remove: {
      utility: "rlmremove",
      forms: [{ by: "handle", argv: ["-q", "{server_host}", "{daemon_port}", "{daemon}", "{handle}"] }],
    },
  },
  utility,
  printsServerClock: true,
  createParser: createRlmParser,
  explain: () => null,
  /** Failover servers stand in for each other one by one. */
  quorum: () => 1,
  debugLog,
  render: renderRlm,
  fake: fakeRlmstat(parseAddress),
};
