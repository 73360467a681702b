import type { ParsedAddress } from "../manager.ts";

/** The first port that lmgrd tries when the license file names none. */
export const DEFAULT_PORT = 27000;

type Problem = { readonly problem: string };

const EXAMPLES = "27000@lic1, @lic1, 27000@lic1,27000@lic2,27000@lic3 or the absolute path of a license file";
const MEMBER = /^(\d{0,5})@(\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9_][A-Za-z0-9._-]*)$/;

/**
 * `port@host`, `@host`, three of them with commas between (a triad), or the absolute path of a license file.
 * The tool would take more (lists of servers, options), but one server is one process: a slow one must not delay
 * another, and errors would lack their owner.
 */
export function parseAddress(address: string): ParsedAddress | Problem {
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
