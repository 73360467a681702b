import { isPort } from "../addresses.ts";
import { type AddressProblem, type Manager, type ParsedAddress, utilityOf } from "../manager.ts";
import { debugLog } from "./debug-log.ts";
import { createRlmParser } from "./parser.ts";
import { renderRlm } from "./render.ts";
import { simulatedRlmstat } from "./simulated-tool.ts";

/** Default port of rlm (RLM License Administration, "The RLM server"). */
const DEFAULT_PORT = 5053;

const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])$/;
/** Matches `:` and `;`, but not the colons inside `[::1]`. */
const SEPARATOR = /[:;](?![^[]*\])/;
const EXAMPLE = "5053@lic1, 5053@lic1:5053@lic2 (failover servers) or the path of a license file";

/**
 * Takes the forms of `rlmutil -c`: `[port]@host` or `host`, several of them for failover servers, or the path
 * of a license file or folder.
 */
function parseAddress(address: string): ParsedAddress | AddressProblem {
  if (address.trim() === "") return { problem: `the address is empty; expected ${EXAMPLE}` };
  if (address !== address.trim()) return { problem: "the address starts or ends with a blank" };
  if (/[\0-\x1f\x7f]/.test(address)) return { problem: "the address contains a control character" };
  if (address.startsWith("-")) return { problem: `the address looks like an option; expected ${EXAMPLE}` };
  const isPath = /[\\/]/.test(address) || (!address.includes("@") && /\.(?:lic|dat)$/i.test(address));
  if (isPath) return { members: [] };

  const members = new Map<string, { host: string; port: number }>();
  for (const spec of address.split(SEPARATOR)) {
    const member = parseSpec(spec);
    if ("problem" in member) return member;
    const key = `${member.port}@${member.host.toLowerCase()}`;
    if (members.has(key)) return { problem: `duplicate server "${spec}"` };
    members.set(key, member);
  }
  return { members: [...members.values()] };
}

function parseSpec(spec: string): { host: string; port: number } | AddressProblem {
  if (spec === "") return { problem: `empty server name; expected ${EXAMPLE}` };
  if (spec.includes(","))
    return { problem: `"${spec}" contains a comma; separate failover servers with ":" (RLM has no triads)` };
  if (/^\d+$/.test(spec)) return { problem: `"${spec}" is a port without a host; expected ${EXAMPLE}` };
  const at = spec.lastIndexOf("@");
  const host = spec.slice(at + 1);
  const port = spec.slice(0, Math.max(0, at));
  if (!HOST.test(host)) return { problem: `invalid host name "${host}" in "${spec}"; expected ${EXAMPLE}` };
  if (port === "") return { host, port: DEFAULT_PORT };
  return isPort(port)
    ? { host, port: Number(port) }
    : { problem: `invalid port "${port}" in "${spec}"; expected 1 to 65535` };
}

/** rlmutil takes the name of a utility as its first argument, except for rlmremove. */
function utility(tool: readonly string[], name: string): readonly string[] {
  return utilityOf(tool, name, name === "rlmremove" ? ["rlmstat", "rlmutil"] : ["rlmstat"]);
}

export const rlm: Manager = {
  name: "rlm",
  title: "RLM",
  tools: ["rlmutil", "rlmstat"],
  parseAddress,
  steps: (tool, address) => [
    { name: "rlmstat", argv: [...utility(tool, "rlmstat"), "-a", "-c", address], env: {} },
  ],
  /**
   * rlmremove takes the host and port of the ISV server, which rlmstat prints in the heading of its usage
   * section.
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
  /** One member is enough, because failover servers replace the main server one by one. */
  quorum: () => 1,
  debugLog,
  render: renderRlm,
  simulatedTool: simulatedRlmstat(parseAddress),
};
