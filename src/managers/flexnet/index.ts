import { type AddressProblem, type Manager, type ParsedAddress, utilityOf } from "../manager.ts";
import { debugLog } from "./debug-log/reader.ts";
import { fakeLmstat } from "./fake.ts";
import { createFlexnetParser } from "./parser.ts";
import { render } from "./render.ts";
import { explain } from "./status-lines.ts";

const EXAMPLES = "27000@lic1, @lic1, 27000@lic1,27000@lic2,27000@lic3 or the absolute path of a license file";
const MEMBER = /^(\d{0,5})@(\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9_][A-Za-z0-9._-]*)$/;

/**
 * `port@host`, `@host`, three of them with commas between (a triad), or the absolute path of a license file.
 * The tool would take more (lists of servers, options), but one server is one process: a slow one must not delay
 * another, and errors would lack their owner.
 */
function parseAddress(address: string): ParsedAddress | AddressProblem {
  if (address === "") return problem("it is empty");
  if (/[\u0000-\u001f\u007f]/.test(address)) return problem("it has control characters");
  if (address.startsWith("-")) return problem("the tool would read it as an option");
  if (/^(?:\/|[A-Za-z]:[\\/]|\\\\)/.test(address)) {
    const separator = address.startsWith("/") ? ":" : ";";
    return address.includes(separator)
      ? problem("it is a list of files: give each server an entry of its own")
      : { members: [] };
  }
  const members: { host: string; port: number | null }[] = [];
  for (const part of address.split(",")) {
    const [, port = "", host = ""] = MEMBER.exec(part) ?? [];
    if (host === "") return problem(reasonFor(part));
    if (port !== "" && (Number(port) < 1 || Number(port) > 65_535))
      return problem(`the port ${port} is not between 1 and 65535`);
    // Without the brackets of an IPv6 address.
    members.push({ host: host.replace(/^\[|\]$/g, ""), port: port === "" ? null : Number(port) });
  }
  return members.length === 1 || members.length === 3
    ? { members }
    : problem(`it names ${members.length} members, and a server has one, or three (a triad)`);
}

function reasonFor(part: string): string {
  const shown = part.length > 60 ? `${part.slice(0, 60)}…` : part;
  if (/[;:].*@/.test(part)) return "it is a list of servers: give each server an entry of its own";
  if (part === "") return "a member between two commas is empty";
  if (/[/\\]/.test(part)) return "a license file needs its absolute path";
  if (!part.includes("@")) return `\`${shown}\` has no @, and the tool would take it for a file`;
  if (/\s/.test(part)) return "it has blanks";
  if (/^[^@]*@[^@]*:/.test(part)) return "an IPv6 address stands in brackets: 27000@[2001:db8::1]";
  return `\`${shown}\` is not port@host`;
}

function problem(reason: string): AddressProblem {
  return { problem: `not a FlexNet address: ${reason}. Expected ${EXAMPLES}` };
}

/** FlexNet Publisher (FlexLM), asked through its own lmstat. */
export const flexnet: Manager = {
  name: "flexnet",
  title: "FlexNet",
  tools: ["lmutil", "lmstat"],
  parseAddress,
  /** `-a` asks the server, `-i` adds the license file's table: old tools print no expiry in `-a`. */
  steps: (tool, address) => [
    { name: "lmstat", argv: [...utilityOf(tool, "lmstat", ["lmstat"]), "-a", "-i", "-c", address], env: {} },
  ],
  /**
   * FlexNet Publisher License Administration Guide: lmstat, lmdiag (`-n`: asks nothing), lmreread, lmremove.
   * lmremove by names takes every seat of the user on that host and display from the feature, by handle just one; the
   * host and port are those that lmstat prints.
   */
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
  /** lmutil takes the utility's name as its first word. */
  utility: (tool, name) => utilityOf(tool, name, ["lmstat"]),
  createParser: createFlexnetParser,
  explain,
  /** Three servers are a triad, which works while two of them are up. */
  quorum: (members) => (members === 3 ? 2 : 1),
  debugLog,
  render,
  fake: fakeLmstat(parseAddress),
};
