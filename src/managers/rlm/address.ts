import type { ParsedAddress, ToolCommand } from "../manager.ts";

/** Where rlm listens when the address names no port (RLM License Administration, "The RLM server"). */
export const DEFAULT_PORT = 5053;

const HOST = /^[A-Za-z0-9._-]+$/;
const IPV6 = /^\[[0-9A-Fa-f:.]+\]$/;
const EXAMPLE = "5053@lic1, 5053@lic1:5053@lic2 (failover servers) or the path of a license file";

/**
 * An address as `rlmutil … -c` takes it: `port@host`, `@host` (port 5053), `host` (port 5053), several of them
 * separated by `:` or `;` for failover servers, or the path of a license file or of a folder of them.
 */
export function parseAddress(address: string): ParsedAddress | { readonly problem: string } {
  if (address.trim() === "") return { problem: `the address is empty; expected ${EXAMPLE}` };
  if (address !== address.trim()) return { problem: "the address begins or ends with a blank" };
  if (/[\0-\x1f\x7f]/.test(address)) return { problem: "the address holds a control character" };
  if (address.startsWith("-")) return { problem: `the address looks like an option; expected ${EXAMPLE}` };
  if (isPath(address)) return { members: [] };

  const members: { host: string; port: number | null }[] = [];
  for (const spec of splitSpecs(address)) {
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

/** `rlmutil rlmstat -a -c <address>`; a tool that is rlmstat itself needs no subcommand. */
export function command(tool: readonly string[], address: string): ToolCommand {
  const base = (tool[tool.length - 1] ?? "").split(/[\\/]/).pop() ?? "";
  const subcommand = /^rlmstat(?:\.exe)?$/i.test(base) ? [] : ["rlmstat"];
  return { argv: [...tool, ...subcommand, "-a", "-c", address], env: {} };
}

function isPath(address: string): boolean {
  return /[\\/]/.test(address) || (!address.includes("@") && /\.(?:lic|dat)$/i.test(address));
}

/** Split on `:` and `;`, but not on the colons inside `[::1]`. */
function splitSpecs(address: string): string[] {
  const specs: string[] = [];
  let begin = 0;
  let depth = 0;
  for (let index = 0; index < address.length; index++) {
    const char = address[index];
    if (char === "[") depth++;
    else if (char === "]") depth--;
    else if ((char === ":" || char === ";") && depth <= 0) {
      specs.push(address.slice(begin, index));
      begin = index + 1;
    }
  }
  specs.push(address.slice(begin));
  return specs;
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
