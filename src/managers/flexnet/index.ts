import { GROUP_SIZE, isPort, majorityOfThree, shortened, withoutBrackets } from "../addresses.ts";
import { type AddressProblem, type Manager, type ParsedAddress, utilityOf } from "../manager.ts";
import { debugLog } from "./debug-log/reader.ts";
import { createFlexnetParser } from "./parser.ts";
import { render } from "./render.ts";
import { simulatedLmstat } from "./simulated-tool.ts";
import { explain } from "./status-lines.ts";

const EXAMPLES = "27000@lic1, @lic1, 27000@lic1,27000@lic2,27000@lic3 or the absolute path of a license file";
const MEMBER = /^(\d{0,5})@(\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9_][A-Za-z0-9._-]*)$/;

/**
 * Rejects lists of servers and options, which lmutil accepts, because a slow server must not delay another
 * server, and errors must belong to one server.
 */
function parseAddress(address: string): ParsedAddress | AddressProblem {
  if (address === "") return problem("empty");
  if (/[\u0000-\u001f\u007f]/.test(address)) return problem("it contains control characters");
  if (address.startsWith("-")) return problem("it starts with -, like an option");
  if (/^(?:\/|[A-Za-z]:[\\/]|\\\\)/.test(address)) {
    const separator = address.startsWith("/") ? ":" : ";";
    return address.includes(separator)
      ? problem("it is a list of files; add one `[[servers]]` entry per server")
      : { members: [] };
  }
  const members: { host: string; port: number | null }[] = [];
  for (const part of address.split(",")) {
    const [, port = "", host = ""] = MEMBER.exec(part) ?? [];
    if (host === "") return problem(reasonFor(part));
    if (port !== "" && !isPort(port)) return problem(`the port ${port} is not between 1 and 65535`);
    members.push({ host: withoutBrackets(host), port: port === "" ? null : Number(port) });
  }
  return members.length === 1 || members.length === GROUP_SIZE
    ? { members }
    : problem(`expected one server or three (a triad), got ${members.length}`);
}

function reasonFor(part: string): string {
  const shown = shortened(part);
  if (/[;:].*@/.test(part)) return "it is a list of servers; add one `[[servers]]` entry per server";
  if (part === "") return "empty member";
  if (/[/\\]/.test(part)) return "a license file needs its absolute path";
  if (!part.includes("@")) return `\`${shown}\` has no @`;
  if (/\s/.test(part)) return "it contains blanks";
  if (/^[^@]*@[^@]*:/.test(part)) return "write an IPv6 address in brackets: 27000@[2001:db8::1]";
  return `\`${shown}\` is not port@host`;
}

function problem(reason: string): AddressProblem {
  return { problem: `not a FlexNet address: ${reason}. Expected ${EXAMPLES}` };
}

export const flexnet: Manager = {
  name: "flexnet",
  title: "FlexNet",
  tools: ["lmutil", "lmstat"],
  parseAddress,
  /**
   * `-a` queries the server, `-i` adds the license file's table, because old tools print no expiry in `-a`.
   */
  steps: (tool, address) => [
    { name: "lmstat", argv: [...utilityOf(tool, "lmstat", ["lmstat"]), "-a", "-i", "-c", address], env: {} },
  ],
  /** With names, lmremove takes every seat of the user on that host and display; with a handle, it takes one seat. */
  commands: {
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
  },
  utility: (tool, name) => utilityOf(tool, name, ["lmstat"]),
  createParser: createFlexnetParser,
  explain,
  quorum: majorityOfThree,
  debugLog,
  render,
  simulatedTool: simulatedLmstat(parseAddress),
};
