import type { Manager, ManagerCommands, ParsedAddress, ToolCommand } from "../manager.ts";
import { debugLog } from "./debug-log/reader.ts";
import { createFlexnetParser } from "./parser.ts";
import { render } from "./render.ts";
import { explain } from "./status-lines.ts";

type Problem = { readonly problem: string };

const EXAMPLES = "27000@lic1, @lic1, 27000@lic1,27000@lic2,27000@lic3 or the absolute path of a license file";
const MEMBER = /^(\d{0,5})@(\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9_][A-Za-z0-9._-]*)$/;

/**
 * `port@host`, `@host`, three of them with commas between (a triad), or the absolute path of a license file.
 * The tool would take more (lists of servers, options), but one server is one process: a slow one must not delay
 * another, and errors would lack their owner.
 */
function parseAddress(address: string): ParsedAddress | Problem {
  if (address === "") return problem(`it is empty`);
  if (/[\u0000-\u001f\u007f]/.test(address)) return problem("it has control characters");
  if (address.startsWith("-")) return problem("the tool would read it as an option");
  if (isAbsolutePath(address)) return parsePath(address);

  const parts = address.split(",");
  const members: { host: string; port: number | null }[] = [];
  for (const part of parts) {
    const member = parseMember(part);
    if ("problem" in member) return member;
    members.push(member);
  }
  if (members.length !== 1 && members.length !== 3) {
    return problem(`it names ${members.length} members, and a server has one, or three (a triad)`);
  }
  return { members };
}

function parseMember(part: string): { host: string; port: number | null } | Problem {
  const found = MEMBER.exec(part);
  if (found === null) return problem(reasonFor(part));
  const [, portText = "", host = ""] = found;
  if (portText === "") return { host: bare(host), port: null };
  const port = Number(portText);
  if (port < 1 || port > 65_535) return problem(`the port ${portText} is not between 1 and 65535`);
  return { host: bare(host), port };
}

function reasonFor(part: string): string {
  if (/[;:].*@/.test(part)) return "it is a list of servers: give each server an entry of its own";
  if (part === "") return "a member between two commas is empty";
  if (/[/\\]/.test(part)) return "a license file needs its absolute path";
  if (!part.includes("@")) return `\`${shown(part)}\` has no @, and the tool would take it for a file`;
  if (/[\s]/.test(part)) return "it has blanks";
  if (part.split("@")[1]?.includes(":") === true)
    return "an IPv6 address stands in brackets: 27000@[2001:db8::1]";
  return `\`${shown(part)}\` is not port@host`;
}

function isAbsolutePath(text: string): boolean {
  return text.startsWith("/") || /^[A-Za-z]:[\\/]/.test(text) || text.startsWith("\\\\");
}

function parsePath(path: string): ParsedAddress | Problem {
  const separator = path.startsWith("/") ? ":" : ";";
  if (path.includes(separator)) return problem("it is a list of files: give each server an entry of its own");
  return { members: [] };
}

/** Without the brackets of an IPv6 address. */
function bare(host: string): string {
  return host.startsWith("[") ? host.slice(1, -1) : host;
}

function shown(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

function problem(reason: string): Problem {
  return { problem: `not a FlexNet address: ${reason}. Expected ${EXAMPLES}` };
}

/**
 * FlexNet Publisher License Administration Guide: lmstat, lmdiag (`-n`: asks nothing), lmreread, lmremove.
 * lmremove by names takes every seat of the user on that host and display from the feature, by handle just one; the
 * host and port are those that lmstat prints.
 */
const commands: ManagerCommands = {
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
function utility(tool: readonly string[], name: string): readonly string[] {
  const path = tool.at(-1) ?? "";
  const [, folder = "", program = "", extension = ""] = /^(.*[/\\])?([^/\\]*?)(\.exe)?$/i.exec(path) ?? [];
  if (program.toLowerCase() === name) return tool;
  if (program.toLowerCase() === "lmstat") return [...tool.slice(0, -1), `${folder}${name}${extension}`];
  return [...tool, name];
}

/**
 * `lmutil lmstat -a -i -c <address>`: `-a` asks the server, `-i` adds the license file's table, because old tools
 * print no expiry in `-a` and some daemons have an empty table.
 */
function command(tool: readonly string[], address: string): ToolCommand {
  return { argv: [...utility(tool, "lmstat"), "-a", "-i", "-c", address], env: {} };
}

/** FlexNet Publisher (FlexLM), asked through its own lmstat. */
export const flexnet: Manager = {
  name: "flexnet",
  title: "FlexNet",
  tools: ["lmutil", "lmstat"],
  parseAddress,
  command,
  commands,
  utility,
  createParser: createFlexnetParser,
  explain,
  debugLog,
  render,
};
